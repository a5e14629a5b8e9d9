package collect

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// kindStrings names the kind that finds strings of a column without a list.
const kindStrings = "strings"

// finds reports whether the strings of a column are found without a list: so they are where their length is bounded and
// nothing else is said of them.
func (c collectSimulate) finds(given *kong.Context) bool {
	said := slices.ContainsFunc(given.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == "kind" })
	return slices.Contains(c.Kind, kindStrings) || !said && c.Strings.Longest > 0
}

// checkStrings refuses flags that are wrong by themselves, before anything is read.
func (c collectSimulate) checkStrings(given *kong.Context) error {
	errs := terminal.Faults{c.Budget.Check(), c.Strings.Check(c.Route)}
	errs.Require(len(c.Kind) == 1 && len(c.Column) == 1, "--kind %s is of one column: name it with --column, and ask for others by themselves", kindStrings)
	return c.checkOnce(given, errs, "--kind "+kindStrings, "csv", "column", "kind", "alphabet", "longest")
}

// runStrings finds the frequent strings of a column.
func (c collectSimulate) runStrings(std terminal.Streams, given *kong.Context) error {
	if err := c.checkStrings(given); err != nil {
		return err
	}
	missing, err := c.missing()
	if err != nil {
		return err
	}
	t, err := table.ReadColumns(c.CSV, missing, table.Column{Name: c.Column[0]})
	if err != nil {
		return err
	}
	for _, note := range t.Notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	asked, err := c.Strings.Question(c.Alphabet)
	if err != nil {
		return err
	}
	s := collection.Strings{
		Title: fmt.Sprintf("%s of the respondents in %s", c.Column[0], filepath.Base(c.CSV)), Asked: asked,
		Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"}, Minimum: c.Minimum, Noise: c.Route.Adds(kindStrings), Full: c.full(), Seed: c.Seed,
	}
	report, finish := terminal.Progress(std.Err)
	out, err := s.Run(filepath.Base(c.CSV), t.Values[0], report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	r := out.Result
	return c.tell(std, given, out, t.Notes, []string{
		fmt.Sprintf("devices              %d", r.Respondents),
		fmt.Sprintf("strings found        %d, of which nobody holds %d", r.Found, *r.FalseFound),
		fmt.Sprintf("error of a count     %.4g respondents (root mean square over those found; largest %.4g)", r.Unbiased, r.LinfUnbiased),
	}, "The most frequent of the strings found, with 95 % intervals of all at once")
}
