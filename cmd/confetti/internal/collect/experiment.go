package collect

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// kindExperiment names the kind that compares arms.
const kindExperiment = "experiment"

// compares reports whether arms of people are compared.
func (c collectSimulate) compares() bool { return slices.Contains(c.Kind, kindExperiment) }

// checkExperiment refuses flags that are wrong by themselves, before anything is read.
func (c collectSimulate) checkExperiment(given *kong.Context) error {
	errs := terminal.Faults{c.Budget.Check(), c.Experiment.Check()}
	errs.Require(len(c.Kind) == 1 && len(c.Column) == 1, "--kind %s needs the column that names each person's arm: one --column", kindExperiment)
	errs.Require(c.Looks <= 1, "--looks: a simulation is of the first look: leave it out")
	return c.checkOnce(given, errs, "--kind "+kindExperiment, "csv", "column", "kind", "arms", "shares", "metric", "before", "per", "range", "like", "power")
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
	records, t, err := c.people(missing)
	if err != nil {
		return err
	}
	for _, note := range t.Notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	asked, err := c.Experiment.Ask(c.Route, budget, lift.UsualBits, len(records))
	if err != nil {
		return err
	}
	e := collection.Experiment{
		Title: fmt.Sprintf("%s in the arms of %s", c.Metric[0], filepath.Base(c.CSV)), Asked: asked.Plan, Budget: budget, Minimum: c.Minimum, Full: c.full(), Seed: c.Seed,
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
		rows = append(rows, fmt.Sprintf("%-20s %.2f %% (%.2f to %.2f %%; truth %.2f %%)", l.Arm+", "+l.Metric, 100**l.Lift, 100**l.Low, 100**l.High, 100*l.Truth))
	}
	for _, m := range out.Plan.Question.Experiment.Metrics {
		rows = append(rows, "cut                  "+lift.SayCut(m))
	}
	return c.tell(std, given, out, t.Notes, rows, "")
}

// people reads the records of a table.
func (c collectSimulate) people(missing table.Missing) ([]lift.Person, *table.Columns, error) {
	var metrics []plan.Measure
	for i, name := range c.Metric {
		metrics = append(metrics, c.Experiment.Measure(i, name))
	}
	columns := []table.Column{{Name: c.Column[0]}}
	for _, name := range flags.Held(plan.Experiment{Metrics: metrics}) {
		columns = append(columns, table.Column{Name: name})
	}
	t, err := table.ReadColumns(c.CSV, missing, columns...)
	if err != nil {
		return nil, nil, err
	}
	records, errs := make([]lift.Person, len(t.Lines)), make([]error, len(columns))
	var faults table.Faults
	for i := range records {
		if records[i].Arm = slices.Index(c.Arms, t.Values[0][i]); records[i].Arm < 0 {
			faults.Add(t.Lines[i], c.Column[0], "is none of --arms")
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
