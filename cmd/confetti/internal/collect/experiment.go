package collect

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// kindExperiment names the kind that compares arms.
const kindExperiment = "experiment"

// ofExperiments lists flags that other questions refuse.
var ofExperiments = []string{"arms", "shares", "metric", "before", "per", "range", "like", "earlier", "after", "looks", "power"}

// compares reports whether arms of people are compared.
func (c collectSimulate) compares() bool { return slices.Contains(c.Kind, kindExperiment) }

// checkExperiment refuses flags that are wrong by themselves, before anything is read.
func (c collectSimulate) checkExperiment(given *kong.Context) error {
	errs := terminal.Faults{c.Budget.Check(), c.Experiment.Check()}
	errs.Require(len(c.Kind) == 1 && len(c.Column) == 1, "--kind %s needs the column that names each person's arm: one --column", kindExperiment)
	return c.checkOnce(given, errs, "--kind "+kindExperiment, append([]string{"csv", "column", "kind"}, ofExperiments...)...)
}

// runExperiment compares the arms of a table.
func (c collectSimulate) runExperiment(std terminal.Streams, given *kong.Context) error {
	if err := c.checkExperiment(given); err != nil {
		return err
	}
	budget := plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"}
	missing, err := c.missing()
	if err != nil {
		return err
	}
	asked, past := power.Asked{}, c.After != ""
	if past {
		if asked, err = c.nextLook(); err != nil {
			return err
		}
	} else {
		asked.Plan.Arms = c.Arms
		for i, name := range c.Metric {
			asked.Plan.Metrics = append(asked.Plan.Metrics, c.Experiment.Measure(i, name))
		}
	}
	if err != nil {
		return err
	}
	records, t, err := c.people(asked.Plan, missing)
	if err != nil {
		return err
	}
	for _, note := range t.Notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	if !past {
		if asked, err = releases.Asks(c.Experiment, c.Route, budget, lift.UsualBits, len(records)); err != nil {
			return err
		}
	}
	if c.Route.Route == plan.RouteSum {
		asked.Plan.Bits = nil
	} else if asked.Plan.Bits == nil {
		asked.Plan.Bits = &plan.BitsSent{Answered: lift.UsualBits}
	}
	e := collection.Experiment{
		Title: fmt.Sprintf("%s in the arms of %s", asked.Plan.Metrics[0].Name, filepath.Base(c.CSV)), Asked: asked.Plan, Budget: budget, Minimum: c.Minimum, Full: c.full(), Seed: c.Seed,
	}
	if noise := c.Route.Adds(kindExperiment); noise != "" {
		e.Route = plans.Sum(noise)
	}
	report, finish := terminal.Progress(std.Err)
	out, err := e.Run(filepath.Base(c.CSV), records, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	r := out.Result
	rows := []string{page.Answer(out.Release), fmt.Sprintf("devices              %d", r.Respondents)}
	for _, l := range r.Lifts {
		if l.Lift == nil {
			rows = append(rows, fmt.Sprintf("%-20s no share: what the first arm has is not clear of zero", l.Arm+", "+l.Metric))
			continue
		}
		truth := ""
		if l.Truth != nil {
			truth = fmt.Sprintf("; truth %.2f %%", 100**l.Truth)
		}
		rows = append(rows, fmt.Sprintf("%-20s %.2f %% (%.2f to %.2f %%%s)", l.Arm+", "+l.Metric, 100**l.Lift, 100**l.Low, 100**l.High, truth))
	}
	for _, m := range out.Plan.Question.Experiment.Metrics {
		rows = append(rows, "cut                  "+lift.SayCut(m))
	}
	return c.tell(std, given, out, t.Notes, rows, "")
}

// nextLook returns the look after a release, and refuses another budget or route than that of the look before.
func (c collectSimulate) nextLook() (power.Asked, error) {
	asked, before, err := releases.Next(c.After, true)
	if err != nil {
		return asked, err
	}
	var errs terminal.Faults
	errs.Require(c.Epsilon == before.Budget.Epsilon && c.Delta == before.Budget.Delta, "--epsilon %v --delta %v beside --after: a look is asked as the one before was: give %v and %v", c.Epsilon, c.Delta, before.Budget.Epsilon, before.Budget.Delta)
	errs.Require(c.Route.Route == before.Route.Kind, "--route %s beside --after: a look goes the way of the one before: give %s", c.Route.Route, before.Route.Kind)
	return asked, errors.Join(errs...)
}

// people reads the records of a table that an experiment asks.
func (c collectSimulate) people(asked plan.Experiment, missing table.Missing) ([]lift.Person, *table.Columns, error) {
	columns := []table.Column{{Name: c.Column[0]}}
	for _, name := range flags.Held(asked) {
		columns = append(columns, table.Column{Name: name})
	}
	t, err := table.ReadColumns(c.CSV, missing, columns...)
	if err != nil {
		return nil, nil, err
	}
	records, errs := make([]lift.Person, len(t.Lines)), make([]error, len(columns))
	var faults table.Faults
	for i := range records {
		if records[i].Arm = slices.Index(asked.Arms, t.Values[0][i]); records[i].Arm < 0 {
			faults.Add(t.Lines[i], c.Column[0], "is none of the arms")
		}
	}
	errs[0] = faults.Err()
	for k := 1; k < len(columns); k++ {
		var numbers []float64
		numbers, errs[k] = t.Numbers(k)
		for i, x := range numbers {
			records[i].Numbers = append(records[i].Numbers, x)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Base(c.CSV), err)
	}
	return records, t, nil
}
