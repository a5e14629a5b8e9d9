package draft

import (
	"errors"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type tablePlan struct {
	oneReport
	Title string `help:"What the respondents are asked." default:"What goes with what?"`
	flags.Columns
	Bits    int     `help:"Bits that a device sends, on average, of answers that are mixed; 0: 8,192." placeholder:"B"`
	Epsilon float64 `help:"Privacy of the whole record, with honest shufflers." required:"" placeholder:"E"`
}

func (tablePlan) Help() string {
	return `One charge covers the table of every two columns, and asking of the release is free.

Example:
  confetti plan new table plan.toml --columns columns.toml --epsilon 1 --minimum 50000 --keys keys
  confetti plan new table plan.toml --columns columns.toml --epsilon 1 --minimum 5000 --route sum --keys keys`
}

func (c tablePlan) Run(std terminal.Streams) error {
	errs := terminal.Faults{c.parties.check(), c.checkReport(max(1, c.Bits), c.Epsilon)}
	errs.Require(c.Bits >= 0, "--bits is %d: give a number of bits", c.Bits)
	errs.Require(c.Bits == 0 || c.Route.Route != plan.RouteSum, "--bits is of answers that are mixed: leave it out of --route sum")
	errs.Require(c.Columns.Columns != "", "missing flags: --columns=FILE, which has the columns")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	columns, err := plans.Columns(c.Columns.Columns)
	if err != nil {
		return err
	}
	asked := plan.Crosstab{Columns: columns, Answered: c.Bits}
	if c.Route.Route != plan.RouteSum {
		asked.Seed = freshSeed()
	}
	return c.ask(std, c.Title, plan.Question{Kind: "table", Table: &asked}, c.Epsilon, nil, "columns", "bits")
}
