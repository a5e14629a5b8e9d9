package draft

import (
	"errors"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type tablePlan struct {
	parties
	Title string `help:"What the respondents are asked." default:"What goes with what?"`
	flags.Columns
	Bits    int     `help:"Bits that a device sends, on average, of answers that are mixed; 0: 8,192." placeholder:"B"`
	Epsilon float64 `help:"Privacy of the whole record, with honest shufflers." required:"" placeholder:"E"`
	Delta   float64 `help:"Probability that the promise may fail by." default:"1e-6"`
}

func (tablePlan) Help() string {
	return `One charge covers the table of every two columns, and asking of the release is free.

Example:
  confetti plan new table plan.toml --columns columns.toml --epsilon 1 --minimum 50000 --keys keys
  confetti plan new table plan.toml --columns columns.toml --epsilon 1 --minimum 5000 --route sum --keys keys`
}

func (c tablePlan) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "columns", "bits")
}

// draft returns the plan as asked for, without keys and noise.
func (c tablePlan) draft() (plan.Plan, error) {
	errs := terminal.Faults{c.parties.check(), flags.CheckBudget(c.Epsilon, c.Delta)}
	errs.Require(c.Bits >= 0, "--bits is %d: give a number of bits", c.Bits)
	errs.Require(c.Bits == 0 || c.Route.Route != plan.RouteSum, "--bits is of answers that are mixed: leave it out of --route sum")
	errs.Require(c.Columns.Columns != "", "missing flags: --columns=FILE, which has the columns")
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	columns, err := plans.Columns(c.Columns.Columns)
	if err != nil {
		return plan.Plan{}, err
	}
	asked := plan.Crosstab{Columns: columns, Answered: c.Bits}
	if c.Route.Route != plan.RouteSum {
		asked.Seed = freshSeed()
	}
	return c.plan(c.Title, plan.Question{Kind: "table", Table: &asked}, nil, plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"})
}
