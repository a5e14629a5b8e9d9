package draft

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type latentPlan struct {
	parties
	Title        string   `help:"What the respondents are asked." default:"What do records look like, and which class goes with what?"`
	Classes      []string `help:"Names of the classes, of which each record has one, as private as the record; without, records alone are asked for." placeholder:"A"`
	Crowds       []string `help:"Without --classes: names of groups that respondents are in, which are public." placeholder:"A"`
	Clusters     string   `help:"Public clusters of records (confetti-lab clusters fit), which devices fetch: they say one symbol of cluster and class." type:"path" placeholder:"FILE"`
	Encoder      string   `help:"A public encoder (confetti-lab encoder), which devices fetch, in the place of clusters: they say its vector and the class with noise." type:"path" placeholder:"FILE"`
	Model        string   `help:"A published model of the classes (confetti-lab clusters learn --state), in the place of clusters: devices say whether it is right about their record, and nothing else." type:"path" placeholder:"FILE"`
	Settings     int      `help:"With --model: how many models are judged, each by a plan and a group of its own." default:"1"`
	Deviation    float64  `help:"With --model: of the accuracy that each group gives, at most; where --minimum respondents give more, the plan is refused." default:"0.05"`
	Records      int      `help:"How many public records there are: each device says beside its report which of them it is of (column record), so that others can join their columns of the same records to it, or read what a model gives each." placeholder:"N"`
	Mechanism    string   `help:"Of vectors: laplace or gaussian, noise on a grid (docs/noisy-records-how.md says which has less), or cap, a direction. What is promised of gaussian has --delta even where everyone colludes." enum:"laplace,gaussian,cap" default:"laplace"`
	Split        float64  `help:"Of vectors: their part of the local epsilon, where the class has the rest." default:"0.7"`
	LocalEpsilon float64  `help:"Privacy of the whole record though everyone colludes: all that a device says keeps it." required:"" placeholder:"E"`
	Delta        float64  `help:"Probability that the promise may fail by where a shuffler is honest; though everyone colludes it is 0, but with --mechanism gaussian." default:"1e-6"`
}

func (latentPlan) Help() string {
	return `Nobody is trusted: a device says one symbol, of its public cluster and its class jointly, at
the whole --local-epsilon; or with --encoder a noisy vector and beside it the class (LTN). What the same reports tell behind an honest hop is stated beside it.

With --clusters a model's state and no --classes, devices say which class it gives them: private inference. With --model they say whether that is right: private validation, in disjoint groups of one plan each.
With --records each report stands beside the number of its public record: other parties join their columns to it (confetti release join).

Examples:
  confetti plan new latent plan.toml --classes tea,coffee --clusters clusters.json --local-epsilon 2 --minimum 2000 --keys keys
  confetti plan new latent judged.toml --classes tea,coffee --model model.json --settings 4 --deviation 0.04 --local-epsilon 2 --minimum 375 --keys keys`
}

func (c latentPlan) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "classes", "crowds", "clusters", "encoder", "model", "settings", "deviation", "records", "mechanism", "split", "local-epsilon")
}

// draft returns the plan as asked for, without keys and noise.
func (c latentPlan) draft() (plan.Plan, error) {
	errs := terminal.Faults{c.parties.check(), flags.Budget{Epsilon: 1, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta}.Check()}
	errs.Require(c.LocalEpsilon != 0, "--local-epsilon is 0: give a number above 0")
	errs.Require(len(c.Classes) == 0 || len(c.Crowds) == 0, "--crowds beside --classes: whoever has a class says it with the record: leave out the one or the other")
	given := 0
	for _, file := range []string{c.Clusters, c.Encoder, c.Model} {
		if file != "" {
			given++
		}
	}
	errs.Require(given == 1, "--clusters, --encoder and --model: give one of them")
	errs.Require(c.Records >= 0 && c.Records <= plan.MaxRecords, "--records is %d: give 1 to %d", c.Records, plan.MaxRecords)
	errs.Require(c.Records == 0 || len(c.Crowds) == 0 && c.Model == "", "--records: of --clusters or --encoder, without --crowds")
	errs.Require(c.Model == "" || len(c.Classes) > 0, "--model without --classes: name the classes that it tells")
	errs.Require(c.Settings >= 1 && c.Settings <= 10_000 && c.Deviation > 0 && c.Deviation < 1, "--settings is %d, --deviation %v: give 1 to 10000, and a number between 0 and 1", c.Settings, c.Deviation)
	if c.Model != "" && c.LocalEpsilon > 0 && c.Minimum > 0 && c.Settings >= 1 && c.Deviation > 0 {
		err := latent.Judging{Respondents: c.Settings * c.Minimum, Epsilon: c.LocalEpsilon}.Check(c.Settings, c.Deviation)
		errs.Require(err == nil, "--settings %d, each of a group of --minimum %d: %v", c.Settings, c.Minimum, err)
	}
	errs.Require(c.Split > 0 && c.Split < 1, "--split is %v: give a number between 0 and 1", c.Split)
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	ask, text, err := c.asked()
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := c.plan(c.Title, plan.Question{Kind: "latent", Latent: &ask}, c.Crowds, plan.Budget{LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement"})
	p.State = plan.StateName(text)
	return p, err
}

// asked returns the section of the state that is there, and the state.
func (c latentPlan) asked() (ask plan.Latent, text []byte, err error) {
	ask.Classes, ask.Records = c.Classes, c.Records
	if file := cmp.Or(c.Clusters, c.Model); file != "" {
		if text, err = atomicfile.Read(file); err != nil {
			return ask, nil, err
		}
		f, err := cluster.ParseFinder(text)
		if err != nil {
			return ask, nil, fmt.Errorf("%s: %w", file, err)
		}
		ask.Report, ask.Features, ask.Clusters = plan.LatentSymbols, f.Inputs, len(f.Sizes)
		if c.Model == "" {
			return ask, text, nil
		}
		if ask.Report = plan.LatentRight; ask.Clusters != len(c.Classes) {
			return ask, nil, fmt.Errorf("%s: a model of %d classes, and --classes has %d", file, ask.Clusters, len(c.Classes))
		}
		return ask, text, nil
	}
	if text, err = atomicfile.Read(c.Encoder); err != nil {
		return ask, nil, err
	}
	e, err := latent.ParseEncoder(text)
	if err != nil {
		return ask, nil, fmt.Errorf("%s: %w", c.Encoder, err)
	}
	z := plan.Latents{Mechanism: c.Mechanism, Dim: e.Dim(), Length: e.Ball(c.Mechanism)}
	if len(c.Classes) > 0 {
		z.Epsilon = c.Split * c.LocalEpsilon
	}
	ask.Report, ask.Features, ask.Vector = plan.LatentVector, e.Inputs(), &z
	return ask, text, nil
}
