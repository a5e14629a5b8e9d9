package draft

import (
	"cmp"
	"errors"
	"slices"

	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type histogramPlan struct {
	parties
	Title     string   `help:"What the respondents are asked; without it how many hold each value, or with --rounds how often it happens." placeholder:"TEXT"`
	Attribute []string `help:"Name of what is asked; several are several questions, and a grid takes the names of its two sides." required:"" sep:"none" placeholder:"NAME"`
	Size      int      `help:"Without --domain: how many values there are, which go by their numbers." placeholder:"N"`
	Crowds    []string `help:"Names of the crowds that respondents are in, which are public; each has its own release." placeholder:"A"`
	Spread    bool     `help:"Send an equal number of report fragments through every instance, rather than all through one."`
	Rounds    int      `help:"Of a sum: ask the same people in so many rounds what happened since the last one, at one charge for all; confetti study sign makes the study of it. Without --domain or --size a round asks whether what --attribute names happened." placeholder:"N"`
	Windows   bool     `help:"With --rounds: ask for the different people of any rounds that follow each other, and after how many rounds they come back. A person counts for --events of the rounds in which it happened."`
	Turns     bool     `help:"With --rounds: what --attribute names begins and ends, as being subscribed: count of whom it has begun and not ended. A person counts for --events beginnings and ends together."`
	Events    int      `help:"With --rounds: how often a person counts at most, in all of them." default:"1" placeholder:"N"`
	flags.Histogram
	flags.Budget
}

func (histogramPlan) Help() string {
	return "Without --encoding it is what errs least at the plan's epsilon; several attributes are sampled or split, whichever errs less, unless a flag says so.\n\nExample:\n  confetti plan new histogram plan.toml --attribute age --kind buckets --buckets 0,100,20 --epsilon 1 --minimum 3000 --keys keys\n  confetti plan new histogram year.toml --attribute signed_up --rounds 365 --events 1 --route sum --epsilon 1 --delta 1e-6 --minimum 1000 --keys keys"
}

func (c histogramPlan) Run(std terminal.Streams) error {
	if c.Rounds != 0 {
		return c.runRounds(std)
	}
	if c.Events != 1 || c.Windows || c.Turns {
		return terminal.Usagef("--events, --windows and --turns are of rounds: say with --rounds how many there are, or leave them out")
	}
	c.Title = cmp.Or(c.Title, "How many hold each value")
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "encoding", "fragments", "hashes", "width", "functions", "adjacency", "spread")
}

// checkSum is of flags that say nothing of a sum.
func (c histogramPlan) checkSum() (errs terminal.Faults) {
	errs = c.Histogram.CheckNoised(c.Route, c.LocalEpsilon)
	if c.Route.Route != plan.RouteSum {
		return errs
	}
	errs.Require(!c.Spread && c.Fragments <= 1, "--spread and --fragments are of messages that are mixed: leave them out of a sum")
	errs.Require(c.CrowdEpsilon == 0, "--crowd-epsilon is of shufflers, which delete contributions: leave it out of a sum")
	return errs
}

// draft returns the plan as asked for, without keys and noise.
func (c histogramPlan) draft() (plan.Plan, error) {
	errs := terminal.Faults{c.Budget.Check(), c.Histogram.Check(), c.CheckAccounting(c.Accounting), c.parties.check()}
	errs.Require(c.Size >= 0 && c.Size <= plan.MaxCells, "--size is %d: give 1 to %d", c.Size, plan.MaxCells)
	errs.Require(c.Size == 0 || len(c.Domain) == 0, "--size and --domain: values go by their numbers or by their names")
	errs.Require(len(c.Crowds) > 0 || c.CrowdEpsilon == 0, "--crowd-epsilon is of the sizes of crowds: name them with --crowds")
	errs = append(errs, c.checkSum()...)
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	attributes, err := c.Attributes(c.Attribute)
	if err != nil {
		return plan.Plan{}, err
	}
	for i := range attributes {
		a := &attributes[i]
		if !slices.Contains([]string{"categories", "set"}, a.Kind) {
			continue
		}
		if c.Rounds != 0 && len(a.Values) == 0 && c.Size == 0 {
			a.Values = []string{a.Name}
			if c.Turns {
				a.Values = append(a.Values, "no longer "+a.Name)
			}
		}
		if len(a.Values) == 0 {
			if a.Size = c.Size; a.Size == 0 {
				return plan.Plan{}, terminal.Usagef("what may be answered to %q has to be declared: name a file of values with --domain, or their number with --size; strings that nobody listed are asked by confetti plan new strings", a.Name)
			}
		}
		if a.Kind == "set" && a.Most == 0 {
			return plan.Plan{}, terminal.Usagef("--kind set needs --most: how many items a device may report is its privacy")
		}
	}
	h := c.Question(attributes, c.Accounting)
	neighbours := c.Neighbours(h)
	if c.Histogram.Noised(c.Route) {
		h.Randomizer, neighbours = plan.Randomizer{Name: plan.RandomizerNone}, "replacement"
	}
	if h.Randomizer.Seeded() {
		h.Randomizer.Seed = freshSeed()
	}
	if h.Sketch != nil {
		h.Sketch.Seed = freshSeed()
	}
	p, err := c.plan(c.Title, plan.Question{Kind: "histogram", Histogram: &h}, c.Crowds, plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: neighbours})
	if err != nil {
		return p, err
	}
	if c.CrowdEpsilon > 0 {
		d, err := additive.NewCrowd(c.CrowdEpsilon, c.Delta)
		if err != nil {
			return p, flags.Refused(err, "crowd-epsilon", "delta")
		}
		p.Crowd.Deletion = &plan.Deletion{Epsilon: c.CrowdEpsilon, Delta: c.Delta, Noise: d.Noise, Threshold: d.Threshold}
	}
	if c.Spread {
		p.Route.Mix.Spread = plan.SpreadAll
	}
	return p, nil
}
