package draft

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type experimentPlan struct {
	parties
	Title string `help:"What the respondents are asked." default:"What does the new one change?"`
	flags.Experiment
	Bits    int     `help:"Of answers that are mixed: bits that a device sends." default:"1024" placeholder:"B"`
	Epsilon float64 `help:"Privacy of arm and metrics together, with one honest aggregator or shuffler." default:"1" placeholder:"E"`
	Delta   float64 `help:"Probability that the promise may fail by." default:"1e-6"`
}

func (experimentPlan) Help() string {
	return `Says how many people it takes to see --lift with --power, and what is cut off, before anybody answers. What is known beforehand
comes from a public table of other people (--like).

Examples:
  confetti plan new experiment plan.toml --arms control,new --metric minutes --before minutes_before --like others.csv --lift 2% --power .8 --route sum --keys keys
  confetti plan new experiment plan.toml --arms control,new --metric paid --range 0,1 --minimum 40000 --keys keys`
}

func (c experimentPlan) Run(std terminal.Streams) error {
	errs := terminal.Faults{c.Experiment.Check(), flags.CheckBudget(c.Epsilon, c.Delta)}
	errs.Require(c.Bits >= 1, "--bits is %d: give a number of bits", c.Bits)
	errs.Require(c.Minimum > 0 || c.Lift != "", "missing flags: --minimum=N, or --lift and --power, from which it follows")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	budget := plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement", DishonestShare: c.DishonestShare}
	asked, err := c.Experiment.Ask(c.Route, budget, c.Bits, c.Minimum)
	if err != nil {
		return err
	}
	if c.Minimum == 0 {
		c.Minimum = asked.Minimum
	}
	if err := c.parties.check(); err != nil {
		return err
	}
	if c.Route.Route == plan.RouteMix {
		asked.Plan.Seed = freshSeed()
	}
	p, err := c.plan(c.Title, plan.Question{Kind: "experiment", Experiment: &asked.Plan}, nil, budget)
	if err != nil {
		return err
	}
	for _, line := range asked.Says {
		fmt.Fprintln(std.Err, line)
	}
	return c.write(std, p, "arms", "shares", "metric", "before", "per", "range", "like", "looks", "bits", "lift", "power")
}
