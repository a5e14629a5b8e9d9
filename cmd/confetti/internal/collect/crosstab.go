package collect

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// checkCrosstab refuses flags that are wrong by themselves, before anything is read.
func (c collectSimulate) checkCrosstab(given *kong.Context) error {
	errs := terminal.Faults{c.Budget.Check(), c.Route.Check()}
	errs.Require(c.Route.Noise != plan.NoiseDevices, "--noise devices: aggregators add the noise of tables: leave it out, or name %s or %s", plan.NoiseAggregators, plan.NoiseShared)
	return c.checkOnce(given, errs, "--columns", "csv", "columns")
}

// runCrosstab tabulates every two of the columns of a file.
func (c collectSimulate) runCrosstab(std terminal.Streams, given *kong.Context) error {
	if err := c.checkCrosstab(given); err != nil {
		return err
	}
	columns, err := plans.Columns(c.Tabulated.Columns)
	if err != nil {
		return err
	}
	missing, err := c.missing()
	if err != nil {
		return err
	}
	wanted := make([]table.Column, len(columns))
	for i, column := range columns {
		wanted[i] = table.Column{Name: column.Name}
	}
	t, err := table.ReadColumns(c.CSV, missing, wanted...)
	if err != nil {
		return err
	}
	for _, note := range t.Notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	population := make([][]any, len(t.Lines))
	for row := range population {
		for i := range columns {
			population[row] = append(population[row], t.Values[i][row])
		}
	}
	s := collection.Table{
		Title: "What goes with what in " + filepath.Base(c.CSV), Asked: plan.Crosstab{Columns: columns},
		Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"}, Minimum: c.Minimum, Noise: c.Route.Adds("table"), Full: c.full(), Seed: c.Seed,
	}
	report, finish := terminal.Progress(std.Err)
	out, err := s.Run(filepath.Base(c.CSV), population, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	r := out.Result
	rows := []string{fmt.Sprintf("devices              %d", r.Respondents)}
	if x := r.Crosstabs; x != nil {
		rows = append(rows,
			fmt.Sprintf("tables               %d cells of every two of %d columns", x.Cells, len(columns)),
			fmt.Sprintf("error of a count     %.4g respondents as they are, %.4g of best guesses (root mean square)", r.Unbiased, x.RMSE),
			fmt.Sprintf("tables are off by    %.2f %% of respondents, best guesses; %.2f %% as they are, %.2f %% were columns independent, %.2f %% of a curator's histograms", 100*x.Off, 100*x.OffRaw, 100*x.OffIndependent, 100*x.OffCurator))
	}
	return c.tell(std, given, out, t.Notes, rows, "The largest counts of the two columns that tell most of each other, with 95 % intervals of all that can be asked")
}
