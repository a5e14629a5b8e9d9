package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/heavy"
)

type experimentStrings struct {
	flags.DataSets
	Of      string  `help:"What people hold: ${strings}. Words and what is made of them need the folder of data sets." default:"words" placeholder:"NAME"`
	People  int     `help:"How many." default:"50000" placeholder:"N"`
	Epsilon float64 `help:"Privacy of a whole string." default:"1"`
	Delta   float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	Liars   float64 `help:"Measure what this share of devices does to the list that lies, in the place of rivals." placeholder:"SHARE"`
	Alone   bool    `help:"Measure one route alone, without rivals."`
	Runs    int     `help:"Measure one route alone by so many seeds, from --seed on, and sum up." default:"1" placeholder:"N"`
	flags.Route
	CSV  string `name:"csv" help:"Measure nothing, and write what people hold to this file, a column string, for confetti collect simulate." type:"path" placeholder:"FILE"`
	Seed uint64 `help:"The same seed gives the same people and the same noise." default:"1"`
	JSON bool   `help:"Print one JSON array."`
}

func (experimentStrings) Help() string {
	return `Finds strings that nobody listed, by bits and by two aggregators, beside rivals; or among devices that lie.

Example:
  confetti-lab strings --of versions --people 50000 --epsilon 1 --seed 1
  confetti-lab strings --of versions --runs 3
  confetti-lab strings --of versions --liars 0.01 --route sum`
}

func (c experimentStrings) Run(std terminal.Streams) error {
	errs := terminal.Faults{flags.Word("of", c.Of, heavy.Populations()), flags.CheckBudget(c.Epsilon, c.Delta), c.Route.Check()}
	errs.Require(c.People >= 100 && c.People <= 1<<24, "--people is %d: give 100 to %d", c.People, 1<<24)
	errs.Require(c.Liars >= 0 && c.Liars < 0.5, "--liars is %v: give a share from 0 to 0.5", c.Liars)
	errs.Require(c.Runs >= 1 && c.Runs <= 1000, "--runs is %d: give 1 to 1000", c.Runs)
	errs.Require(c.Runs == 1 || c.Liars == 0 && c.CSV == "", "--runs are of one route alone: leave out --liars and --csv")
	errs.Require(c.Liars > 0 || c.Alone || c.Runs > 1 || c.Route.Adds("strings") == "", "--route sum is measured beside bits: name it with --liars, --alone or --runs")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	cell := heavy.Cell{Strings: c.Of, People: c.People, Epsilon: c.Epsilon, Delta: c.Delta, Seed: c.Seed, Noise: c.Route.Adds("strings"), Alone: c.Alone || c.Runs > 1, Liars: c.Liars}
	if c.CSV != "" {
		return c.write(cell)
	}
	var rows []heavy.Row
	for run := range c.Runs {
		cell.Seed = c.Seed + uint64(run)
		report, finish := terminal.Progress(std.Err)
		of, err := heavy.Measure(cell, c.Data, report)
		finish()
		if err != nil {
			return flags.InDomain(err)
		}
		for i := range of {
			if c.Runs > 1 {
				of[i].Way += fmt.Sprintf(", seed %d", cell.Seed)
			}
		}
		rows = append(rows, of...)
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, rows)
	}
	fmt.Fprintf(std.Out, "%-56s %6s %6s %6s %6s %7s %6s %9s\n", "", "found", "false", "within", "missed", "rmse", "from", map[bool]string{true: "lost", false: "bytes"}[c.Liars > 0])
	for _, r := range rows {
		last := fmt.Sprint(r.Bytes)
		if c.Liars > 0 {
			last = fmt.Sprint(r.Lost)
		}
		if r.Lift != 0 {
			last += fmt.Sprintf("  each counts for %.2f", r.Lift)
		}
		if _, err := fmt.Fprintf(std.Out, "%-56s %6d %6d %6d %6d %7.1f %6d %9s\n", r.Way, r.Found, r.False, r.Within, r.Missed, r.Error, r.From, last); err != nil {
			return err
		}
	}
	if c.Runs > 1 {
		fmt.Fprintln(std.Out, heavy.Summary(rows))
	}
	return nil
}

// write keeps what people hold in a file.
func (c experimentStrings) write(cell heavy.Cell) error {
	people, err := heavy.People(cell, c.Data)
	if err != nil {
		return err
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.Write([]string{"string"}) // to memory: it cannot fail
	for _, p := range people {
		w.Write([]string{p})
	}
	w.Flush()
	return atomicfile.Replace(c.CSV, []byte(text.String()), 0o666)
}
