// Package counts simulates studies that count events, and writes their rounds as a table. Used by
// cmd/confetti/internal/study.
package counts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/simulate/course"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

type Simulate struct {
	File     string `arg:"" help:"A plan whose rounds count what happens: confetti plan new histogram --rounds." type:"path"`
	CSV      string `name:"csv" help:"What happened: a line of column names, then one line an event." required:"" type:"path" placeholder:"FILE"`
	Person   string `help:"Column that names the person." default:"person" placeholder:"NAME"`
	Round    string `help:"Column with the number of the round, from 1." default:"round" placeholder:"NAME"`
	Event    string `help:"Column that names what happened; without it the plan's only value." placeholder:"NAME"`
	People   int    `help:"Devices, which answer every round; without it as many as there are people in the table." placeholder:"N"`
	Withheld []int  `help:"Rounds that tell nothing, such as 7,8." placeholder:"N"`
	Seed     uint64 `help:"The same seed gives the same simulation." default:"1"`
	Again    int    `name:"repetitions" help:"Draw all rounds so many times too, and say by how much totals are off." placeholder:"N"`
	Out      string `help:"Save the release of the last round here, which tells of all, and a table of the rounds." type:"path" placeholder:"DIR"`
	JSON     bool   `help:"Print one JSON object."`
}

// maxAgain bounds the repetitions of a simulation.
const maxAgain = 100_000

func (Simulate) Help() string {
	return `Runs all rounds of a study in memory, from a table of events. Aggregators' own code draws each
row; devices count their events, and say nothing beyond what a person counts for.

Example:
  confetti study simulate year.toml --csv events.csv --people 100000 --out year`
}

func (c Simulate) Run(std terminal.Streams, given *kong.Context) error {
	if c.Out != "" {
		if err := terminal.Writable(c.Out); err != nil {
			return err
		}
	}
	p, err := plans.Read(c.File)
	if err != nil {
		return err
	}
	of := p.Correlated()
	if of == nil {
		return fmt.Errorf("%s: its rounds are not correlated, so that each is asked by itself: confetti collect simulate tries one", c.File)
	}
	if c.Again < 0 || c.Again > maxAgain {
		return terminal.Usagef("--repetitions is %d: give 0 to %d", c.Again, maxAgain)
	}
	if c.Again > 0 && of.Windows {
		return terminal.Usagef("--repetitions are of running totals, and the plan asks for windows: leave them out, and give another --seed")
	}
	for _, n := range c.Withheld {
		if n < 1 || n > of.Rounds {
			return terminal.Usagef("--withheld names round %d: give 1 to %d", n, of.Rounds)
		}
	}
	all, people, notes, err := c.events(p)
	if err != nil {
		return err
	}
	if c.People == 0 {
		c.People = people
	}
	if c.People < p.Crowd.Minimum || c.People > plan.MaxCrowd {
		return terminal.Usagef("%d people answer, and a round of the plan tells something of %d to %d: give --people, or a plan of another --minimum", c.People, p.Crowd.Minimum, plan.MaxCrowd)
	}
	report, finish := terminal.Progress(std.Err)
	out, err := course.Study{Plan: p, People: c.People, Withheld: c.Withheld, Seed: c.Seed, Repetitions: c.Again}.Run(all, report)
	finish()
	if err != nil {
		return err
	}
	out.Release.Remarks = append(out.Release.Remarks, notes...)
	if c.Out != "" {
		sheet, err := releases.Sheet(out.Model, out.Public, &out.Release)
		if err != nil {
			return err
		}
		out.Release.Provenance.Software, out.Release.Provenance.Command = std.Version, terminal.Typed(given.Args)
		if err = releases.Save(std, c.Out, out.Release, out.Plan, sheet); err == nil {
			err = SaveRounds(c.Out, out.Release)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "simulation: do not publish: it knows the truth, and asked nobody\npage: %s\n", filepath.Join(c.Out, page.PageFile))
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, out)
	}
	rows := []string{
		page.Answer(out.Release),
		fmt.Sprintf("rounds               %d, of which %d told something", out.Rounds, out.Told),
		fmt.Sprintf("events               %d, of which devices did not say %d and %d were in rounds that told nothing", out.Events, out.Beyond, out.Lost),
		errs(out),
		"compared             " + out.Compared,
	}
	if d := out.Drawn; d != nil {
		rows = append(rows, fmt.Sprintf("drawn %d times       the last running total is off by %.4g (sd %.2g), all of them by %.4g; asked afresh, the last by %.4g (sd %.2g)", d.Times, d.Last, d.Sure, d.All, d.Afresh, d.Apart))
	}
	for _, s := range out.Release.Guarantees {
		rows = append(rows, fmt.Sprintf("%-20s %s", s.Observer, s.Guarantee.Verdict()))
	}
	_, err = fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}

// errs says what was stated and found.
func errs(out course.Outcome) string {
	if out.Windows > 0 {
		return fmt.Sprintf("error                %.4g at most, of any of %d windows, proved; found %.4g over all, and the largest %.4g", out.Stated, out.Windows, out.Found, out.Largest)
	}
	return fmt.Sprintf("error                %.4g, of the last running total; found %.4g over all rounds", out.Stated, out.Found)
}

// events reads the table, and how many people are in it.
func (c Simulate) events(p plan.Plan) (all []course.Happened, people int, notes []string, err error) {
	asked, rounds := course.Values(p), p.Correlated().Rounds
	columns := []table.Column{{Name: c.Person}, {Name: c.Round}}
	if c.Event != "" {
		columns = append(columns, table.Column{Name: c.Event})
	} else if len(asked) > 1 {
		return nil, 0, nil, terminal.Usagef("the plan asks about %d values: name the column that says which happened, by --event", len(asked))
	}
	t, err := table.ReadColumns(c.CSV, table.Missing{}, columns...)
	if err != nil {
		return nil, 0, nil, err
	}
	var faults table.Faults
	known := map[string]bool{}
	for i, line := range t.Lines {
		h := course.Happened{Person: t.Values[0][i]}
		if h.Round, err = strconv.Atoi(t.Values[1][i]); err != nil || h.Round < 1 || h.Round > rounds {
			faults.Add(line, c.Round, fmt.Sprintf("is no round from 1 to %d", rounds))
			continue
		}
		if c.Event != "" {
			if h.Cell = slices.Index(asked, t.Values[2][i]); h.Cell < 0 {
				faults.Add(line, c.Event, "is none of the plan's values")
			}
		}
		known[h.Person] = true
		all = append(all, h)
	}
	return all, len(known), t.Notes, faults.Err()
}
