package draft

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type labelPlan struct {
	parties
	Title    string   `help:"What the respondents are asked." default:"Which label goes with these features?"`
	Classes  []string `help:"Names of the labels, of which each respondent has one." required:"" placeholder:"A"`
	Clusters string   `help:"Public clusters of features (confetti-lab clusters fit): labels are counted in each through the shuffler." type:"path" placeholder:"FILE"`
	Features int      `help:"Public numbers of a respondent, whose products with the label are summed." placeholder:"D"`
	Records  int      `help:"Public records, each of whose labels is told by itself: nobody is trusted." placeholder:"N"`
	Epsilon  float64  `help:"Privacy of the label; features are public." required:"" placeholder:"E"`
	Delta    float64  `help:"Probability that the promise may fail by." default:"1e-6"`
}

func (labelPlan) Help() string {
	return `Features are public, and only the label is protected. Give one of --clusters (of at
least --minimum respondents each), --features and --records.

Example:
  confetti plan new label plan.toml --classes tea,coffee --records 2000 --epsilon 2 --minimum 2000 --keys keys
  confetti plan new label plan.toml --classes tea,coffee --features 12 --epsilon 1 --minimum 2000 --keys keys`
}

func (c labelPlan) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "classes", "clusters", "features", "records")
}

// draft returns the plan as asked for, without keys and noise.
func (c labelPlan) draft() (plan.Plan, error) {
	given := 0
	for _, is := range []bool{c.Clusters != "", c.Features != 0, c.Records != 0} {
		if is {
			given++
		}
	}
	errs := terminal.Faults{c.parties.check(), flags.CheckBudget(c.Epsilon, c.Delta)}
	errs.Require(given == 1 && c.Features >= 0 && c.Records >= 0, "--clusters, --features and --records: give one of them, a file or a number above 0")
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	ask, state := plan.Label{Classes: c.Classes}, ""
	switch {
	case c.Clusters != "":
		text, err := atomicfile.Read(c.Clusters)
		if err != nil {
			return plan.Plan{}, err
		}
		s, err := cluster.Read(text)
		if err != nil {
			return plan.Plan{}, err
		}
		ask.Report, ask.Clusters, ask.Features, state = plan.LabelClusters, s.Len(), s.Features(), plan.StateName(text)
	case c.Features > 0:
		ask.Report, ask.Features, ask.Seed = plan.LabelSums, c.Features, freshSeed()
	default:
		ask.Report, ask.Records = plan.LabelEach, c.Records
	}
	p, err := c.plan(c.Title, plan.Question{Kind: "label", Label: &ask}, nil, plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: plan.AdjacencyLabel})
	p.State = state
	return p, err
}
