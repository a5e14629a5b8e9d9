package draft

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type experimentPlan struct {
	parties
	Title string `help:"What the respondents are asked; without it what the new one changes, or what the look before asked." placeholder:"TEXT"`
	flags.Experiment
	Bits    int     `help:"Of answers that are mixed: bits that a device sends." default:"1024" placeholder:"B"`
	Epsilon float64 `help:"Privacy of arm and metrics together, with one honest aggregator or shuffler." default:"1" placeholder:"E"`
	Delta   float64 `help:"Probability that the promise may fail by." default:"1e-6"`
}

func (experimentPlan) Help() string {
	return `Says how many people it takes to see --lift with --power, and what is cut off, before anybody answers. What is known beforehand
comes from a public table of other people (--like), or from an earlier release of tables (--earlier). The next look of an experiment is
asked after the release of the one before (--after).

Examples:
  confetti plan new experiment plan.toml --arms control,new --metric minutes --before minutes_before --like others.csv --lift 2% --power .8 --route sum --keys keys
  confetti plan new experiment plan.toml --arms control,new --metric minutes --before minutes_before --earlier tables --lift 2% --keys keys
  confetti plan new experiment plan.toml --arms control,new --metric paid --range 0,1 --minimum 40000 --looks 3 --keys keys
  confetti plan new experiment look2.toml --after release1 --keys keys2`
}

func (c experimentPlan) Run(std terminal.Streams, given *kong.Context) error {
	errs := terminal.Faults{c.Experiment.Check(), flags.CheckBudget(c.Epsilon, c.Delta)}
	errs.Require(c.Bits >= 1, "--bits is %d: give a number of bits", c.Bits)
	errs.Require(c.Minimum > 0 || c.Lift != "" || c.After != "", "missing flags: --minimum=N, or --lift and --power, from which it follows")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	asked, budget, err := c.ask(given)
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
	p, err := c.plan(cmp.Or(c.Title, "What does the new one change?"), plan.Question{Kind: "experiment", Experiment: &asked.Plan}, nil, budget)
	if err != nil {
		return err
	}
	for _, line := range asked.Says {
		fmt.Fprintln(std.Err, line)
	}
	return c.write(std, p, "arms", "shares", "metric", "before", "per", "range", "like", "looks", "bits", "lift", "power")
}

// ask returns what is asked, with its budget. A next look has all from the plan of the look before.
func (c *experimentPlan) ask(given *kong.Context) (flags.Asked, plan.Budget, error) {
	budget := plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement", DishonestShare: c.DishonestShare}
	if c.After == "" {
		asked, err := releases.Asks(c.Experiment, c.Route, budget, c.Bits, c.Minimum)
		return asked, budget, err
	}
	var errs terminal.Faults
	for _, p := range given.Path {
		if p.Flag != nil {
			errs.Require(!slices.Contains([]string{"epsilon", "delta", "bits", "route", "noise", "dishonest-share", "unfit", "power"}, p.Flag.Name), "--%s beside --after: a look is asked as the one before was: leave it out", p.Flag.Name)
		}
	}
	asked, before, err := releases.Next(c.After, false)
	if err := errors.Join(append(errs, err)...); err != nil {
		return asked, budget, err
	}
	c.Title, c.Maximum = cmp.Or(c.Title, before.Title), cmp.Or(c.Maximum, before.Crowd.Maximum)
	c.DishonestShare, c.Unfit = before.Budget.DishonestShare, before.Question.Unfit
	c.Route.Route, c.Route.Noise = before.Route.Kind, ""
	if before.Route.Sum != nil {
		c.Route.Noise = before.Route.Sum.Noise
	}
	return asked, before.Budget, nil
}
