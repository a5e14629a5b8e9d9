package plan

import (
	"errors"
	"fmt"
	"os"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/encode/cluster"
	"github.com/confetti-dp/confetti/plan"
)

type planNewLatent struct {
	planParties
	Title        string   `help:"What the respondents are asked." default:"What do records look like, and which class goes with what?"`
	Classes      []string `help:"Names of the classes, of which each record has one, as private as the record; without, records alone are asked for." placeholder:"A"`
	Crowds       []string `help:"Without --classes: names of groups that respondents are in, which are public." placeholder:"A"`
	Clusters     string   `help:"Public clusters of records (confetti clusters fit), which devices fetch." type:"path" required:"" placeholder:"FILE"`
	LocalEpsilon float64  `help:"Privacy of the whole record though everyone colludes: all that a device says keeps it." required:"" placeholder:"E"`
	Delta        float64  `help:"Probability that the promise may fail by where a shuffler is honest; though everyone colludes it is 0." default:"1e-6"`
}

func (planNewLatent) Help() string {
	return `Nobody is trusted: a device says one symbol, of its public cluster and its class jointly, at
the whole --local-epsilon. What the same reports tell behind an honest hop is stated beside it.

Example:
  confetti clusters fit --dataset synthetic --clusters 20 --out clusters.json
  confetti plan new latent plan.toml --classes tea,coffee --clusters clusters.json --local-epsilon 2 --minimum 2000 --keys keys`
}

func (c planNewLatent) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "classes", "crowds", "clusters", "local-epsilon")
}

// draft is the plan as asked for, without keys and noise.
func (c planNewLatent) draft() (plan.Plan, error) {
	errs := []error{c.planParties.check(), flags.Budget{Epsilon: 1, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta}.Check()}
	if c.LocalEpsilon == 0 {
		errs = append(errs, terminal.Usagef("--local-epsilon is 0: give a number above 0"))
	}
	if len(c.Classes) > 0 && len(c.Crowds) > 0 {
		errs = append(errs, terminal.Usagef("--crowds beside --classes: whoever has a class says it with the record: leave out the one or the other"))
	}
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	text, err := os.ReadFile(c.Clusters)
	if err != nil {
		return plan.Plan{}, err
	}
	f, err := cluster.ParseFinder(text)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("%s: %w", c.Clusters, err)
	}
	ask := plan.Latent{Features: f.Inputs, Classes: c.Classes, Report: plan.LatentSymbols, Clusters: len(f.Sizes)}
	p, err := c.plan(c.Title, plan.Question{Kind: "latent", Latent: &ask}, c.Crowds, plan.Budget{LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement"})
	p.State = plan.StateName(text)
	return p, err
}
