//go:build unix

package docs_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// typedAlone are the tutorials of one reader. Two strangers type the other one (internal/tools/doctest).
var typedAlone = []string{"table.md", "app.md", "room.md", "crashes.md", "experiment.md", "crosstab.md", "labels.md", "weekly.md"}

// apart are the pages, beside tutorials, that are typed in a folder of their own, and what of them is not, and why.
var apart = map[string]map[string]string{
	"labels.md":  nil,
	"metrics.md": nil,
	"noisy-records.md": {
		"confetti plan new latent plan.toml --clusters clusters.json --records 2000 --local-epsilon 4 --minimum 2000 --keys keys": numberedAlone,
		"confetti release join trial/release ours.csv --out joined.csv":                                                           numberedAlone,
		"confetti learn latent trial/release --join ours.csv --label class":                                                       numberedAlone,
		"confetti predict learned/latent.model joined.csv":                                                                        numberedAlone,
	},
}

const numberedAlone = "it is of a second collection, which TestScripts/join of cmd/confetti makes of 60 devices by the same commands"

// ends are the sections with which a tutorial ends.
var ends = []string{"The decision", "What was promised, and to whom"}

// reading returns how long a reader of a tutorial takes who reads 200 words a minute and copies each command in ten
// seconds. What stands behind a second title is another tutorial's.
func reading(text string) time.Duration {
	if i := strings.Index(text, "\n# "); i >= 0 {
		text = text[:i]
	}
	words, commands := 0, 0
	for i, part := range strings.Split(text, "```") {
		if code, is := strings.CutPrefix(part, "sh\n"); i%2 == 1 && is {
			commands += strings.Count(code, "\n")
		} else {
			words += len(strings.Fields(part))
		}
	}
	return time.Duration(words)*time.Minute/200 + time.Duration(commands)*10*time.Second
}

// unfinished returns what a tutorial lacks to lead from a question to a decision within a quarter of an hour.
func unfinished(text string) (faults []string) {
	if took := reading(text); took > 15*time.Minute {
		faults = append(faults, fmt.Sprintf("a reader takes %v, and at most 15 minutes", took.Round(time.Second)))
	}
	for _, section := range ends {
		_, body, found := strings.Cut(text, "\n## "+section+"\n")
		body, _, _ = strings.Cut(body, "\n#")
		if !found || strings.TrimSpace(body) == "" {
			faults = append(faults, "no section says "+section)
		}
		if found && section == ends[0] && !regexp.MustCompile(`\d+ to +\d+`).MatchString(body) {
			faults = append(faults, "its decision has no interval")
		}
		if found && section == ends[1] && !strings.Contains(body, "epsilon") {
			faults = append(faults, "its promise has no epsilon")
		}
	}
	return faults
}

func TestTutorialsEndInADecision(t *testing.T) {
	pages, err := filepath.Glob("tutorials/*.md")
	if err != nil || len(pages) < len(typedAlone) {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text := read(t, page)
		for _, fault := range unfinished(text) {
			t.Errorf("%s: %s", page, fault)
		}
		t.Logf("%s: %v for a reader", page, reading(text).Round(time.Second))
		if name := filepath.Base(page); name != "two-hospitals.md" && !slices.Contains(typedAlone, name) {
			t.Errorf("nobody types %s", page)
		}
	}
	whole := "# A\n\nYes.\n\n## The decision\n\nKeep it: 3 to 5.\n\n## What was promised, and to whom\n\nepsilon 1.\n"
	for text, want := range map[string]string{
		whole: "",
		strings.Replace(whole, "Yes.", strings.Repeat("word ", 3001), 1):                "a reader takes",
		strings.Replace(whole, "Yes.", "```sh\n"+strings.Repeat("ls\n", 91)+"```\n", 1): "a reader takes",
		strings.Replace(whole, "## The decision", "## So", 1):                           "no section says The decision",
		strings.Replace(whole, "3 to 5", "4", 1):                                        "no interval",
		strings.Replace(whole, "epsilon 1.", "Much.", 1):                                "no epsilon",
		whole + "\n# Another way\n" + strings.Repeat("word ", 3001):                     "",
	} {
		if got := strings.Join(unfinished(text), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.60q: %q, want %q", text, got, want)
		}
	}
}

// Each tutorial's lines work as they stand, each in a folder of its own, and print what the tutorial shows: the same
// rows with other numbers. So do those of other pages, which show nothing.
func TestTheTutorialsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs collections")
	}
	root := cloned(t)
	if out, err := exec.Command("go", "build", "-C", root, "-trimpath", "-o", ".", "./cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range typedAlone {
		t.Run(strings.TrimSuffix(page, ".md"), func(t *testing.T) {
			file := "docs/tutorials/" + page
			began := time.Now()
			said := typedApart(t, root, file, nil)
			t.Logf("%s: %v to run, %v for a reader", file, time.Since(began).Round(time.Second), reading(read(t, "tutorials/"+page)).Round(time.Second))
			_, shown, found := strings.Cut(read(t, "tutorials/"+page), "```text\n")
			shown, _, _ = strings.Cut(shown, "```")
			number := regexp.MustCompile(`[0-9]+(?:\\?\.[0-9]+)?`)
			for line := range strings.SplitSeq(strings.TrimSpace(shown), "\n") {
				line = strings.TrimSuffix(line, " …") // what is sure by chance of other values is not shown
				row := number.ReplaceAllString(regexp.QuoteMeta(strings.TrimSpace(line)), `[-−]?[0-9.]+`)
				if row = regexp.MustCompile(` +`).ReplaceAllString(row, ` +`); !found || !regexp.MustCompile(row).MatchString(said) {
					t.Errorf("%s shows %q, and no command printed such a line", file, line)
				}
			}
			if !regexp.MustCompile(`(?m)^promise +holds`).MatchString(said) {
				t.Errorf("%s: no promise was recomputed", file)
			}
		})
	}
	for page, exempt := range apart {
		t.Run("page-"+strings.TrimSuffix(page, ".md"), func(t *testing.T) { typedApart(t, root, "docs/"+page, exempt) })
	}
}

// typedApart types the commands of a page in a folder of its own that has the lab, less those that are exempt, and
// returns what they said.
func typedApart(t *testing.T, root, file string, exempt map[string]string) (said string) {
	t.Helper()
	session := doctest.NewSession(t, root, doctest.Patience(t))
	if _, err := session.Run(`export PATH="$PWD:$PATH" REPOSITORY="$PWD" && cd "$(mktemp -d)" && ln -s "$REPOSITORY/lab" lab`); err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(exempt)
	for _, c := range doctest.CommandsIn(t, root, file) {
		if exempt[c.Text] != "" {
			delete(left, c.Text)
			continue
		}
		var out string
		var err error
		if waits := service(c.Text); waits != "" {
			err = session.Start(c.Text, waits)
		} else {
			out, err = session.Run(c.Text)
		}
		if err != nil {
			t.Fatalf("%s\n%v", c, err)
		}
		said += out
	}
	for text := range left {
		t.Errorf("%s: %q is exempt and not printed", file, text)
	}
	if err := session.End(); err != nil {
		t.Error(err)
	}
	return said
}
