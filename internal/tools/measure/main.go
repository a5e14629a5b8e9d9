//go:build unix

// Command measure makes the rows of the pages of performance by the commands that the pages print, each in a process of
// its own, and prints what it found beside what they say. Used by those who change what is measured.
//
//	go run ./internal/tools/measure
//	go run ./internal/tools/measure -only shuffle
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// worse is by how much of itself a row may be worse than its page says.
const worse = 0.03

func main() {
	m := measuring{out: os.Stdout}
	only := flag.String("only", "", "run the commands alone that this pattern finds, or whose rows it finds")
	flag.StringVar(&m.file, "out", "measured.json", "file of what was measured; other commands' results stay in it")
	flag.BoolVar(&m.loud, "loud", false, "print ratios of a busy machine too, and mark them")
	flag.BoolVar(&m.resume, "resume", false, "leave out the commands that the file has of this commit, quiet")
	flag.BoolVar(&m.list, "list", false, "print the commands and their rows, and run none")
	flag.Float64Var(&m.limit, "limit", 0.2, "cores that others may take of a quiet machine")
	flag.DurationVar(&m.patience, "patience", 20*time.Second, "how long to wait for quiet before each command")
	flag.Parse()
	pages := flag.Args()
	if len(pages) == 0 {
		pages, _ = filepath.Glob("docs/performance*.md")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := m.run(ctx, *only, pages); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

type measuring struct {
	out                *os.File
	file               string
	loud, resume, list bool
	limit              float64
	patience           time.Duration
}

// result is what a command gave.
type result struct {
	Command string             `json:"command"`
	Commit  string             `json:"commit"`
	At      time.Time          `json:"at"`
	Seconds float64            `json:"seconds"`
	CPU     float64            `json:"processor_seconds"`
	Load    string             `json:"load_before"`
	Others  float64            `json:"cores_of_others"`
	Loud    bool               `json:"loud"`
	Failed  string             `json:"failed,omitempty"`
	Values  map[string]measure `json:"values,omitempty"`
	Said    string             `json:"said"`
}

// measure is the median of what one benchmark's metric was, with its range.
type measure struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Runs   int     `json:"runs"`
}

// results are what the file has.
type results struct {
	Machine  machine           `json:"machine"`
	Commands map[string]result `json:"commands"` // by their text
	Rows     []compared        `json:"rows"`
}

func (m measuring) run(ctx context.Context, only string, names []string) error {
	if len(names) == 0 {
		return errors.New("no page docs/performance*.md: start it in the root of the repository")
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var commands []command
	var rows []row
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		c, r, err := read(name, string(text))
		if err != nil {
			return err
		}
		commands, rows = append(commands, c...), append(rows, r...)
	}
	if commands = chosen(commands, rows, pattern); len(commands) == 0 {
		return fmt.Errorf("no command of %s has %q, nor a row of one", strings.Join(names, ", "), only)
	}
	if m.list {
		for _, c := range commands {
			fmt.Fprintf(m.out, "%s: %s\n", c.page, c.text)
			for _, r := range rows {
				if r.of(c) {
					fmt.Fprintf(m.out, "\t%s: %s\n", r.text, r.by)
				}
			}
		}
		return nil
	}
	all, err := m.kept()
	if err != nil {
		return err
	}
	all.Machine = thisMachine()
	fmt.Fprintln(m.out, all.Machine)
	commit := head()
	ran := map[string]bool{}
	for i, c := range commands {
		if before, ok := all.Commands[c.text]; m.resume && ok && before.Commit == commit && !before.Loud && before.Failed == "" {
			fmt.Fprintf(m.out, "%d of %d: kept, %s\n", i+1, len(commands), c.text)
		} else {
			fmt.Fprintf(m.out, "%d of %d: %s\n", i+1, len(commands), c.text)
			one, err := m.command(ctx, c)
			if err != nil {
				return err
			}
			one.Commit = commit
			all.Commands[c.text] = one
			fmt.Fprintf(m.out, "    %.0f s, %.0f of processor, load before %s, others took %.2f cores%s\n", one.Seconds, one.CPU, one.Load, one.Others, map[bool]string{true: ": LOUD"}[one.Loud])
			if one.Failed != "" {
				fmt.Fprintf(m.out, "    %s\n", one.Failed)
			}
		}
		ran[c.text] = true
		all.Rows = compare(rows, commands, all.Commands)
		if err := m.keep(all); err != nil {
			return err
		}
	}
	return m.tell(all, ran, rows)
}

// chosen returns the commands that the pattern finds, or one of whose rows.
func chosen(commands []command, rows []row, pattern *regexp.Regexp) []command {
	return slices.DeleteFunc(slices.Clone(commands), func(c command) bool {
		return !pattern.MatchString(c.text) && !slices.ContainsFunc(rows, func(r row) bool {
			return r.of(c) && (pattern.MatchString(r.text) || pattern.MatchString(r.by))
		})
	})
}

// command waits for quiet and runs one, in a group of processes that ends with us.
func (m measuring) command(ctx context.Context, c command) (result, error) {
	for begin := time.Now(); busy(time.Second) > m.limit && time.Since(begin) < m.patience && ctx.Err() == nil; {
	}
	r := result{Command: c.text, At: time.Now().UTC().Truncate(time.Second), Load: load()}
	out, err := os.MkdirTemp("", "measure")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(out)
	text := c.text
	if strings.Contains(text, "--data DIR") {
		data := os.Getenv("CONFETTI_DATA")
		if data == "" {
			r.Failed = "left out: set CONFETTI_DATA to the folder of data sets"
			return r, nil
		}
		text = strings.ReplaceAll(text, "--data DIR", "--data "+data)
	}
	text = strings.ReplaceAll(text, "--out DIR", "--out "+out)
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	taken, begin := machineTime(), time.Now()
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	r.Seconds = time.Since(begin).Seconds()
	r.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	r.Others = max(0, (machineTime()-taken).Seconds()-r.CPU) / r.Seconds
	r.Loud = r.Others > m.limit
	r.Said = string(said[max(0, len(said)-20_000):])
	r.Values = benchmarks(string(said))
	if err != nil {
		r.Failed = fmt.Sprintf("failed: %v: %s", err, lastLine(r.Said))
	} else if reason := skipped.FindString(r.Said); strings.Contains(text, "-bench ") && len(r.Values) == 0 && reason != "" {
		r.Failed = "left out: " + strings.TrimSpace(reason)
	}
	return r, nil
}

var skipped = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: .*$`)

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func (m measuring) kept() (all results, err error) {
	text, err := os.ReadFile(m.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return all, err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return all, fmt.Errorf("%s: %w: it is not of this program, name another with -out", m.file, err)
		}
	}
	if all.Commands == nil {
		all.Commands = map[string]result{}
	}
	return all, nil
}

func (m measuring) keep(all results) error {
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Replace(m.file, append(text, '\n'), 0o644)
}

// tell prints the rows of the commands that ran, and fails where one is worse, was not found or may not be told.
func (m measuring) tell(all results, ran map[string]bool, rows []row) error {
	var bad, hidden, missing int
	for _, c := range all.Rows {
		if !ran[c.Command] {
			continue
		}
		mark := ""
		switch {
		case c.Found == nil:
			missing++
			mark = "not found: " + c.Missing
		case c.Loud && c.Ratio && !m.loud:
			hidden++
			mark = "hidden: the machine was busy"
		default:
			mark = fmt.Sprintf("%.4g (%.4g to %.4g)", c.Found.Median, c.Found.Least, c.Found.Most)
			if c.Worse {
				bad++
				mark += fmt.Sprintf("  WORSE by %.0f %%", 100*c.By)
			}
			if c.Loud {
				mark += "  LOUD"
			}
		}
		fmt.Fprintf(m.out, "%-30s %-62s %12.4g  %s\n", filepath.Base(c.Page), cut(c.Row, 62), c.Says, mark)
	}
	hand := 0
	for _, r := range rows {
		if r.by == "" {
			hand++
		}
	}
	fmt.Fprintf(m.out, "%d rows worse by more than %.0f %%, %d hidden, %d not found; %d rows of these pages name no benchmark. All is in %s.\n", bad, 100*worse, hidden, missing, hand, m.file)
	if bad+hidden+missing > 0 {
		return fmt.Errorf("%d rows are worse, %d may not be told of a busy machine (-loud tells them), %d were not found", bad, hidden, missing)
	}
	return nil
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
