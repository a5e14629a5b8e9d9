package draft

import (
	"cmp"
	"errors"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type experimentPlan struct {
	oneReport
	Title string `help:"What the respondents are asked; without it what the new one changes, or what the look before asked." placeholder:"TEXT"`
	flags.Experiment
	Bits    int     `help:"Of answers that are mixed: bits that a device sends." default:"1024" placeholder:"B"`
	Epsilon float64 `help:"Privacy of arm and metrics together, with one honest aggregator or shuffler." default:"1" placeholder:"E"`
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
	errs := terminal.Faults{c.Experiment.Check(), c.checkReport(c.Bits, c.Epsilon)}
	errs.Require(c.Minimum > 0 || c.Lift != "" || c.After != "", "missing flags: --minimum=N, or --lift and --power, from which it follows")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	asked, says, err := c.know(given)
	if err != nil {
		return err
	}
	if err := c.parties.check(); err != nil {
		return err
	}
	if c.Route.Route == plan.RouteMix {
		asked.Seed = freshSeed()
	}
	q := plan.Question{Kind: "experiment", Experiment: &asked}
	return c.ask(std, cmp.Or(c.Title, "What does the new one change?"), q, c.Epsilon, says, "arms", "shares", "metric", "before", "per", "range", "like", "looks", "bits", "lift", "power")
}

// know returns what is asked and what is said of it, and fills in of how many. A next look has all from the plan of the look
// before.
func (c *experimentPlan) know(given *kong.Context) (plan.Experiment, []string, error) {
	if c.After == "" {
		asked, err := releases.Asks(c.Experiment, c.Route, plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement", DishonestShare: c.DishonestShare}, c.Bits, c.Minimum)
		c.Minimum = asked.Minimum
		return asked.Plan, asked.Says, err
	}
	var errs terminal.Faults
	for _, p := range given.Path {
		if p.Flag != nil {
			errs.Require(!slices.Contains([]string{"epsilon", "delta", "bits", "route", "noise", "dishonest-share", "unfit", "power", "minimum", "maximum"}, p.Flag.Name), "--%s beside --after: a look is asked as the one before was: leave it out", p.Flag.Name)
		}
	}
	asked, before, err := releases.Next(c.After, false)
	if err := errors.Join(append(errs, err)...); err != nil {
		return asked.Plan, nil, err
	}
	c.Title, c.Minimum, c.Maximum = cmp.Or(c.Title, before.Title), asked.Minimum, before.Crowd.Maximum
	c.Epsilon, c.Delta, c.DishonestShare, c.Unfit = before.Budget.Epsilon, before.Budget.Delta, before.Budget.DishonestShare, before.Question.Unfit
	c.Route.Route, c.Route.Noise = before.Route.Kind, ""
	if before.Route.Sum != nil {
		c.Route.Noise = before.Route.Sum.Noise
	}
	return asked.Plan, asked.Says, nil
}
