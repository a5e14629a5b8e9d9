package draft

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// runRounds drafts a plan whose rounds count what happens from one to the next: together or, where that errs less, each
// afresh.
func (c histogramPlan) runRounds(std terminal.Streams) error {
	if slices.Equal(c.Kind, []string{"categories"}) { // of which nobody says nothing
		c.Kind = []string{"set"}
	}
	c.Most = cmp.Or(c.Most, 1)
	if c.Title == "" {
		c.Title = "How often it happens"
		if c.Windows {
			c.Title = "How many different people"
		} else if c.Turns {
			c.Title = "How many are in it"
		}
	}
	errs := terminal.Faults{}
	errs.Require(c.Route.Route == plan.RouteSum, "--rounds are of sums, whose aggregators keep the days: set --route sum")
	errs.Require(c.Route.Noise != plan.NoiseDevices, "--noise devices: aggregators add the noise of correlated rounds: leave it out")
	errs.Require(c.Rounds >= 2, "--rounds is %d: give 2 or more", c.Rounds)
	errs.Require(c.Events >= 1 && c.Events <= c.Rounds, "--events is %d: give 1 to --rounds", c.Events)
	errs.Require(slices.Equal(c.Kind, []string{"set"}) && len(c.Attribute) == 1, "--rounds count what happens, of one --attribute: leave out --kind, or say set")
	errs.Require(len(c.Crowds) == 0 && c.Encoding == "", "--rounds are of one crowd, without an encoding: leave out --crowds and --encoding")
	errs.Require(!c.Windows || len(c.Domain) == 0 && c.Size == 0 && c.Most == 1, "--windows are of one thing that happens, which --attribute names: leave out --domain, --size and --most")
	errs.Require(!c.Turns || !c.Windows && len(c.Domain) == 0 && c.Size == 0 && c.Most == 1, "--turns are of one thing that begins and ends, which --attribute names: leave out --windows, --domain, --size and --most")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p, err := c.draft()
	if err != nil {
		return err
	}
	p.Route.Sum.Correlated = &plan.Correlated{Rounds: c.Rounds, Events: c.Events, Windows: c.Windows, Turns: c.Turns}
	return c.writeDesigned(std, p, func(p plan.Plan) (plan.Plan, error) {
		p, says, err := design.Choose(p)
		if err == nil && p.Correlated() == nil { // and the plan cannot say so
			fmt.Fprintf(std.Err, "note: %s\nnote: the plan is of one round, and its promise too: confetti study sign --rounds %d --takes all makes the study, and confetti collect simulate tries a round\n", says, c.Rounds)
		}
		return p, err
	}, "rounds", "events", "windows", "turns")
}
