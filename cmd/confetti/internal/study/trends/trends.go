// Package trends implements confetti study trend: how each metric of a study went, from what confetti study fetch wrote.
// Used by cmd/confetti/internal/study.
package trends

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// statesFile has what the analyzer says of each round of a study.
const statesFile = "rounds.json"

// mostCounts is how many values of a round are read.
const mostCounts = 200_000

// SaveStates writes what the analyzer says of each round beside the releases, for Command.
func SaveStates(dir string, rounds []progress.Plan) error {
	text, err := json.MarshalIndent(rounds, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o755), atomicfile.Replace(filepath.Join(dir, statesFile), append(text, '\n'), 0o644))
}

// Command reads releases of rounds and draws them.
type Command struct {
	Folder     []string `arg:"" help:"What confetti study fetch wrote: a folder below it for each round. Of several, which are seasons of the same metrics, one trend is drawn." type:"path"`
	Metric     []string `help:"Which metric; given twice, two are beside each other. All of them without it." placeholder:"NAME"`
	Note       []string `help:"What happened, with its day: a version that came out." placeholder:"DAY=TEXT" sep:"none"`
	Out        string   `help:"Where to write the page." type:"path" placeholder:"FILE"`
	CSV        string   `help:"Where to write all numbers, for a spreadsheet." type:"path" placeholder:"FILE"`
	Parquet    string   `help:"Where to write the same as Parquet." type:"path" placeholder:"FILE"`
	Prometheus string   `help:"Where to write the newest numbers, in Prometheus' text format." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (Command) Help() string {
	return `Reads releases and asks nobody: call confetti study fetch before, and confetti release
verify for each that you do not trust. A line is the share of a value. What changed has
an interval of noise and of sampling, which asks that who answers is a matter of chance.
Seasons follow each other by when they began. Where a metric has other values than it
had, its trend begins anew.

Example:
  confetti study trend fetched --metric theme --note "2026-12-07=version 5.0" --out theme.html
  confetti study trend autumn winter --out seasons.html --parquet seasons.parquet`
}

func (c Command) Run(std terminal.Streams) error {
	notes, err := c.notes()
	if err != nil {
		return err
	}
	study, rounds, err := readSeasons(c.Folder)
	if err != nil {
		return err
	}
	trends, err := c.follow(study.newest, rounds, notes)
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		c.Out:        func(w io.Writer) error { return trend.Write(w, study.newest.Title, trends) },
		c.CSV:        func(w io.Writer) error { return trend.WriteCSV(w, trends) },
		c.Parquet:    func(w io.Writer) error { return writeParquet(w, trends) },
		c.Prometheus: func(w io.Writer) error { return trend.WritePrometheus(w, study.name, trends) },
	}
	delete(files, "")
	texts := map[string][]byte{}
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		texts[name] = b.Bytes()
	}
	if err := terminal.Uninterrupted(func() error {
		for name, text := range texts {
			if err := atomicfile.Replace(name, text, 0o644); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	var says strings.Builder
	for _, t := range trends {
		fmt.Fprintf(&says, "%s\n", sanitize.Text(strings.TrimSuffix(t.Metric+", "+t.Crowd, ", ")+": "+t.Says))
	}
	return c.Print(std, map[string]any{"study": study.name, "trends": trends}, "%s", says.String())
}

// writeParquet writes what WriteCSV does as Parquet.
func writeParquet(w io.Writer, trends []trend.Trend) error {
	var text bytes.Buffer
	if err := trend.WriteCSV(&text, trends); err != nil {
		return err
	}
	file, err := beside.WriteParquet("trend.csv", text.Bytes())
	if err != nil {
		return fmt.Errorf("--parquet: %w", err)
	}
	_, err = w.Write(file)
	return err
}

// notes reads what happened when.
func (c Command) notes() (all []trend.Note, err error) {
	for _, text := range c.Note {
		n, err := trend.ParseNote(text)
		if err != nil {
			return nil, terminal.Usagef("--note: %w", err)
		}
		all = append(all, n)
	}
	return all, nil
}

// follow returns the trends that were asked for, each metric in all its crowds.
func (c Command) follow(newest plan.Plan, rounds []trend.Round, notes []trend.Note) (all []trend.Trend, err error) {
	names, crowds := trend.Metrics(rounds)
	if len(names) == 0 {
		return nil, untold(newest)
	}
	for _, name := range c.Metric {
		if !slices.Contains(names, name) {
			return nil, terminal.Usagef("--metric %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(c.Metric) > 0 {
		names = c.Metric
	}
	for _, name := range names {
		for _, crowd := range crowds[name] {
			if t, ok := trend.Follow(rounds, name, crowd, notes); ok {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// untold says why rounds have no trend.
func untold(p plan.Plan) error {
	switch {
	case p.Correlated() != nil:
		return errors.New("its rounds hang together, and the newest release tells of all of them: see it with confetti release show")
	case len(results.Offered(p.Question)) == 0:
		return fmt.Errorf("a trend is of shares of values that a plan names, and a question of kind %s has none: see each round with confetti release show, or all in the console", p.Question.Kind)
	}
	return errors.New("no round has a table of respondents: all were withheld, and there is no trend to draw")
}

// study is what rounds are of.
type study struct {
	name   string
	newest plan.Plan // of which the rounds have one
}

// readSeasons reads the rounds of all folders, and returns the newest study.
func readSeasons(folders []string) (newest study, rounds []trend.Round, err error) {
	var seasons [][]trend.Round
	from := map[string]string{}
	for _, folder := range folders {
		of, season, err := readRounds(folder)
		if err != nil {
			return newest, nil, err
		}
		if other, there := from[of.name]; there {
			return newest, nil, fmt.Errorf("%s and %s have rounds of the same study: name each season once", other, folder)
		}
		from[of.name] = folder
		if seasons = append(seasons, season); newest.name == "" || of.newest.Times.Closes.After(newest.newest.Times.Closes) {
			newest = of
		}
	}
	rounds, err = trend.Join(seasons)
	return newest, rounds, err
}

// readRounds reads what confetti study fetch wrote, in the order of rounds.
func readRounds(dir string) (of study, rounds []trend.Round, err error) {
	folders, err := filepath.Glob(filepath.Join(dir, "round-*"))
	if err != nil {
		return of, nil, err
	}
	states, err := readStates(dir)
	if err != nil {
		return of, nil, err
	}
	type read struct {
		signed plan.Signed
		round  trend.Round
		err    error
	}
	all := make([]read, len(folders))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var reading sync.WaitGroup
	for i, folder := range folders {
		places <- struct{}{}
		reading.Go(func() {
			all[i].signed, all[i].round, all[i].err = readRound(folder)
			<-places
		})
	}
	reading.Wait()
	for i, folder := range folders {
		signed, one, err := all[i].signed, all[i].round, all[i].err
		if err != nil {
			return of, nil, fmt.Errorf("%s: %w", folder, err)
		}
		if of.name == "" || of.name == signed.Plan.Round.Study && signed.Plan.Round.Number > of.newest.Round.Number {
			of = study{signed.Plan.Round.Study, signed.Plan}
		} else if of.name != signed.Plan.Round.Study {
			return of, nil, fmt.Errorf("%s is a round of another study than the others in %s", folder, dir)
		}
		if i := slices.IndexFunc(states, func(p progress.Plan) bool { return p.Plan == signed.Plan.Name() }); i >= 0 && states[i].Withdrawal != nil {
			one = withdrawn(one, states[i].Withdrawal.At, states[i].Withdrawal.Reason)
		}
		rounds = append(rounds, one)
	}
	if of.name == "" {
		return of, nil, fmt.Errorf("there is no release of a round in %s: get them with confetti study fetch", dir)
	}
	for _, p := range states {
		has := slices.ContainsFunc(rounds, func(r trend.Round) bool { return r.Number == p.Round })
		if has || p.Study != of.name || p.State == progress.Open || p.State == progress.Closed {
			continue
		}
		one := trend.Round{Number: p.Round, Times: plan.Times{Closes: p.Closes}, Missing: fmt.Sprintf("%s: %s", p.Standing(), p.Reason)}
		if p.Withdrawal != nil {
			one = withdrawn(one, p.Withdrawal.At, p.Withdrawal.Reason)
		}
		rounds = append(rounds, one)
	}
	if rounds, err = trend.Filled(rounds); err != nil {
		return of, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return of, rounds, nil
}

func withdrawn(r trend.Round, at time.Time, reason string) trend.Round {
	return trend.Round{Number: r.Number, Times: r.Times, Missing: fmt.Sprintf("withdrawn on %s: %s", at.UTC().Format("2 January 2006"), reason)}
}

// readStates reads what the analyzer said of the rounds, nothing where nobody asked it.
func readStates(dir string) (all []progress.Plan, err error) {
	text, err := atomicfile.Read(filepath.Join(dir, statesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, statesFile), err)
	}
	return all, nil
}

// readRound reads the release of a round, its plan and its counts.
func readRound(folder string) (signed plan.Signed, one trend.Round, err error) {
	if signed, err = plan.ReadSigned(filepath.Join(folder, verify.SignedFile)); err != nil {
		return signed, one, err
	}
	if signed.Plan.Round == nil {
		return signed, one, errors.New("its plan is by itself, and no round of a study")
	}
	text, err := atomicfile.Read(filepath.Join(folder, release.JSONFile))
	if err != nil {
		return signed, one, err
	}
	r, err := release.Head(text, len(signed.Plan.Crowd.Names) > 1) // of whose sections one has the crowds
	if err != nil {
		return signed, one, err
	}
	if r.Plan != signed.Plan.Name() {
		return signed, one, fmt.Errorf("%s is of another plan than %s", release.JSONFile, verify.SignedFile)
	}
	if _, err := os.Stat(filepath.Join(folder, relay.WithdrawalFile)); err == nil {
		one = trend.Round{Number: signed.Plan.Round.Number, Times: signed.Plan.Times, Missing: "withdrawn by its publisher"}
		return signed, one, nil
	}
	counts, err := os.Open(filepath.Join(folder, sheets.CountsFile))
	if errors.Is(err, fs.ErrNotExist) {
		one, err = trend.Read(signed.Plan, r, nil)
		return signed, one, err
	}
	if err != nil {
		return signed, one, err
	}
	defer counts.Close()
	all, err := sheets.ReadCounts(counts, mostCounts)
	if err == nil {
		one, err = trend.Read(signed.Plan, r, all)
	}
	return signed, one, err
}
