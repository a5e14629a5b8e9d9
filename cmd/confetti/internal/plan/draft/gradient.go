package draft

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

type gradientPlan struct {
	parties
	Title        string   `help:"What the respondents are asked." default:"Help a model to learn"`
	Dimension    int      `help:"Numbers of an example." required:"" placeholder:"D"`
	Classes      []string `help:"Names of the classes, of which each example has one." required:"" placeholder:"A"`
	Model        string   `help:"linear, or one of ESA's networks: xiii (images of 28x28), xiv (32x32 in three colours)." default:"linear"`
	Report       string   `help:"What a device says of its gradient: direction, cap or vector. Without flag, vector where it is summed, and else direction." placeholder:"NAME"`
	Bits         int      `help:"Of a vector: rows that a device answers in a round, on average; 0: one for each number that is learned."`
	Clip         float64  `help:"Length that gradients are clipped to. Where people lie, far below what a wrong example says (0.01, with a rate raised as much): a liar's is never shorter." default:"1"`
	Rate         float64  `help:"Length of a step." default:"0.5"`
	Momentum     float64  `help:"Of the steps (Nesterov)." default:"0.9"`
	Average      float64  `help:"Weight of earlier rounds' models in the answer; 0: the last one is."`
	Bound        float64  `help:"Length of all that is learned that no step may lead beyond." default:"1000"`
	Hostile      bool     `help:"People may lie: whole gradients are summed, of which each device proves the length, as by --route sum --noise aggregators, so that one who lies counts for one."`
	Rounds       int      `help:"Rounds that a respondent answers: the budget is that of all of them." default:"1"`
	Epsilon      float64  `help:"Central epsilon of all these rounds; 0: what --local-epsilon gives."`
	LocalEpsilon float64  `help:"Local epsilon of all these rounds; 0: what --epsilon allows."`
	Delta        float64  `help:"Delta of --epsilon." default:"1e-6"`
}

func (gradientPlan) Help() string {
	return `The plan is of one round. Of a study that each respondent answers one round of
(confetti up --takes one), --rounds is 1; where they answer every round, how many there are.

Example:
  confetti plan new gradient plan.toml --dimension 5 --classes tea,coffee --minimum 100 --local-epsilon 2 --keys keys
  confetti plan new gradient plan.toml --dimension 5 --classes tea,coffee --minimum 2000 --rounds 5 --epsilon 1 --hostile --keys keys`
}

func (c gradientPlan) Run(std terminal.Streams) error {
	if c.Hostile {
		c.asHostile()
	}
	if c.Report == "" {
		c.Report = "direction"
		if c.Route.Route == plan.RouteSum {
			c.Report = "vector"
		}
	}
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.writeDesigned(std, p, func(p plan.Plan) (plan.Plan, error) { return design.Rounds(p, c.Rounds) }, "dimension", "rounds", "local-epsilon", "bits")
}

// draft returns the plan as asked for, without keys and noise.
func (c gradientPlan) draft() (plan.Plan, error) {
	errs := terminal.Faults{c.parties.check(), flags.Word("model", c.Model, plan.Networks), flags.Word("report", c.Report, plan.GradientReports)}
	errs.Require(!c.Hostile || c.Report == "vector" && c.Route.Noise != plan.NoiseDevices, "--hostile: aggregators add the noise of vectors: leave out --report and --noise, or name vector, and another than devices")
	errs.Require(c.Rounds >= 1 && c.Rounds <= plan.MaxRounds, "--rounds is %d: give 1 to %d", c.Rounds, plan.MaxRounds)
	errs.Require(c.Epsilon >= 0 && c.LocalEpsilon >= 0 && c.Epsilon+c.LocalEpsilon > 0, "--epsilon and --local-epsilon are %v and %v: give one of them, or both, above 0", c.Epsilon, c.LocalEpsilon)
	errs.Require(c.Delta > 0 && c.Delta < 1, "--delta is %v: give a number between 0 and 1", c.Delta)
	errs.Require(c.Clip > 0 && c.Dimension > 0 && c.Bits >= 0, "--clip is %v, --dimension %d, --bits %d: give positive numbers", c.Clip, c.Dimension, c.Bits)
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	return c.plan(c.Title, plan.Question{Kind: "gradient", Gradient: &plan.Gradient{
		Dimension: c.Dimension, Classes: c.Classes, Model: c.Model, Seed: freshSeed(), Clip: c.Clip,
		Report: plan.GradientReport{Name: c.Report, Bits: c.Bits},
		Step:   plan.GradientStep{Rate: c.Rate, Momentum: c.Momentum, Average: c.Average, Bound: c.Bound},
	}}, nil, plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement"})
}
