package experiment

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/lab/crosstabs"
	"github.com/confetti-dp/confetti/plan"
)

type experimentCrosstabs struct {
	CSV     string  `name:"csv" help:"File of what people hold." required:"" type:"path" placeholder:"FILE"`
	Columns string  `help:"File of its columns." required:"" type:"path" placeholder:"FILE"`
	Epsilon float64 `help:"Privacy of a whole record." default:"1"`
	Delta   float64 `help:"Probability that the promise may fail by." default:"1e-6"`
	flags.Route
	Seeds     int           `help:"Seeds, from 1." default:"3" placeholder:"N"`
	Ways      []string      `help:"Rivals to run: mst, aim; none: only what needs no Python." default:"mst,aim" placeholder:"NAME"`
	Python    string        `help:"A Python with the packages of lab/crosstabs/rivals.txt." default:"python3" placeholder:"FILE"`
	Rounds    int           `help:"Rounds that AIM plans for, for each column." default:"2" placeholder:"N"`
	Megabytes float64       `help:"Of AIM's model, at most." default:"0.5" placeholder:"MB"`
	Time      time.Duration `help:"That a rival may take for a seed." default:"15m" placeholder:"TIME"`
	JSON      bool          `help:"Print one JSON array."`
}

func (experimentCrosstabs) Help() string {
	return `Tells tables of every two columns, and what is known or made of them by others: independence, a curator's histograms, MST and AIM. A rival whose package is missing is left out, and it says why.

Example:
  confetti-lab tables --of census --csv census.csv --columns census.toml
  confetti-lab crosstabs --csv census.csv --columns census.toml --python out/rivals/bin/python`
}

// wayOf carries one way, over all seeds.
type wayOf struct {
	Way    string    `json:"way"`
	Off    []float64 `json:"off,omitempty"`
	RMSE   []float64 `json:"rmse,omitempty"`
	Rounds []int     `json:"rounds,omitempty"`
	Missed string    `json:"missed,omitempty"`
}

func (c experimentCrosstabs) Run(std terminal.Streams) error {
	errs := terminal.Faults{flags.CheckBudget(c.Epsilon, c.Delta), c.Route.Check()}
	errs.Require(c.Seeds >= 1 && c.Seeds <= 100, "--seeds is %d: give 1 to 100", c.Seeds)
	errs.Require(c.Rounds >= 1 && c.Megabytes > 0 && c.Time > 0, "--rounds is %d, --megabytes %v, --time %v: give numbers above 0", c.Rounds, c.Megabytes, c.Time)
	errs.Require(c.Route.Noise != plan.NoiseDevices, "--noise devices: aggregators add the noise of tables: leave it out")
	for _, w := range c.Ways {
		errs = append(errs, flags.Word("ways", w, append(crosstabs.Curators(), "none")))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.runs(); err != nil {
		return err
	}
	cell, err := c.cell()
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	cell.Progress = report
	all, err := c.measure(cell)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, all)
	}
	fmt.Fprintf(std.Out, "%-38s %18s %18s %s\n", fmt.Sprintf("%d people, %d seeds", len(cell.Held), c.Seeds), "off", "rmse", "tables measured")
	for _, m := range all {
		if m.Missed != "" {
			fmt.Fprintf(std.Out, "%-38s %s\n", m.Way, m.Missed)
		}
		if len(m.Off) == 0 {
			continue
		}
		off, offBy := spread(m.Off)
		line := fmt.Sprintf("%-38s %10.2f ± %.2f %%", m.Way, 100*off, 100*offBy)
		if rmse, by := spread(m.RMSE); rmse > 0 {
			line += fmt.Sprintf(" %11.1f ± %.1f", rmse, by)
		}
		if len(m.Rounds) > 0 {
			line += fmt.Sprintf(" %v", m.Rounds)
		}
		if _, err := fmt.Fprintln(std.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// runs reports that the Python that was named does not run. Where none was named, rivals without one are left out.
func (c experimentCrosstabs) runs() error {
	if c.Python == "python3" || slices.Equal(c.Ways, []string{"none"}) {
		return nil
	}
	if out, err := exec.Command(c.Python, "-c", "print(6 * 7)").Output(); err != nil || strings.TrimSpace(string(out)) != "42" {
		return fmt.Errorf("--python %s is no Python that runs: name one with the packages of lab/crosstabs/rivals.txt, or leave it out", c.Python)
	}
	return nil
}

// measure runs all ways with each seed.
func (c experimentCrosstabs) measure(cell crosstabs.Cell) (all []wayOf, err error) {
	add := func(w crosstabs.Way) {
		at := slices.IndexFunc(all, func(m wayOf) bool { return m.Way == w.Name })
		if at < 0 {
			at, all = len(all), append(all, wayOf{Way: w.Name})
		}
		if w.Missed != "" {
			all[at].Missed = w.Missed
			return
		}
		all[at].Off, all[at].RMSE = append(all[at].Off, w.Off), append(all[at].RMSE, w.RMSE)
		if w.Rounds > 0 {
			all[at].Rounds = append(all[at].Rounds, w.Rounds)
		}
	}
	for cell.Seed = 1; cell.Seed <= uint64(c.Seeds); cell.Seed++ {
		ways, asked, err := crosstabs.Ours(cell)
		if err != nil {
			return nil, err
		}
		for _, w := range ways {
			add(w)
		}
		for _, name := range c.Ways {
			if name == "none" {
				continue
			}
			w, err := crosstabs.Curated(c.Python, name, cell, asked, crosstabs.Limits{Rounds: c.Rounds, Megabytes: c.Megabytes, Time: c.Time})
			if err != nil {
				return nil, err
			}
			add(w)
		}
	}
	return all, nil
}

// cell reads the files.
func (c experimentCrosstabs) cell() (cell crosstabs.Cell, err error) {
	text, err := atomicfile.Read(c.Columns)
	if err != nil {
		return cell, err
	}
	columns, err := author.Columns(text)
	if err != nil {
		return cell, terminal.Usage(fmt.Errorf("%s: %w", c.Columns, err))
	}
	wanted := make([]table.Column, len(columns))
	for i, column := range columns {
		wanted[i] = table.Column{Name: column.Name}
	}
	t, err := table.ReadColumns(c.CSV, table.Missing{}, wanted...)
	if err != nil {
		return cell, err
	}
	held := make([][]any, len(t.Lines))
	for row := range held {
		for i := range columns {
			held[row] = append(held[row], t.Values[i][row])
		}
	}
	return crosstabs.Cell{Columns: columns, Held: held, Epsilon: c.Epsilon, Delta: c.Delta, Noise: c.Route.Adds("table")}, nil
}

// spread returns the mean and the deviation over seeds.
func spread(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / math.Max(1, float64(len(x)-1))
	}
	return mean, math.Sqrt(deviation)
}
