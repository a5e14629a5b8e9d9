package draft

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

type vectorPlan struct {
	parties
	Title    string    `help:"What the respondents are asked." default:"Which features go with which class?"`
	Features int       `help:"Numbers that a respondent holds; with --map, those that it gives." placeholder:"D"`
	Map      string    `help:"Features of an image, a text or a row of a table, as confetti-lab features fit writes them. The plan names them by their hash." type:"path" placeholder:"FILE"`
	State    string    `help:"With --map, where to write the public state that the plan names, for confetti plan register." type:"path" placeholder:"FILE"`
	Classes  []string  `help:"Names of the classes, which are protected with the features; none for sums of features." placeholder:"A"`
	Number   string    `help:"Name of a number that is predicted from the features, and protected with them." placeholder:"NAME"`
	Between  []float64 `help:"The ends of this number: what lies outside counts as the nearer." placeholder:"LOW,HIGH"`
	Sums     string    `help:"features: of vectors of norm at most 1; classes: of the features of each class, whose covariance is public; moments: of their products too; squares: for a number, or for the likelier of two classes." default:"moments"`
	Bits     int       `help:"Rows that a device answers in all rounds, on average; 0: one for each number that is summed." placeholder:"B"`
	Rounds   int       `help:"Rounds that every respondent answers: one of moments, which takes 30% of bits and budget (with --hostile as much of the budget as any other), then gradients. The budget is that of all of them." default:"1"`
	Hostile  bool      `help:"People may lie: whole vectors are summed, of which each device proves the length, as by --route sum --noise aggregators, so that one who lies counts for one."`
	Epsilon  float64   `help:"Privacy of the whole record, with honest shufflers, of all these rounds." required:"" placeholder:"E"`
	Delta    float64   `help:"Probability that the promise may fail by." default:"1e-6"`
}

func (vectorPlan) Help() string {
	return `Features are scaled to unit length, but for sums of features themselves and squares, of norm at most 1. Of a study that each
respondent answers one round of (confetti up --takes one), --rounds is 1.

Example:
  confetti plan new vector plan.toml --features 12 --classes tea,coffee --bits 64 --epsilon 1 --minimum 2000 --keys keys
  confetti plan new vector plan.toml --map features.json --state state.json --classes tea,coffee --bits 64 --epsilon 1 --minimum 2000 --keys keys
  confetti plan new vector plan.toml --features 12 --number spend --between 0,100 --sums squares --epsilon 1 --minimum 2000 --keys keys
  confetti plan new vector plan.toml --features 12 --classes tea,coffee --sums classes --hostile --epsilon 1 --minimum 2000 --keys keys`
}

func (c *vectorPlan) Run(std terminal.Streams) error {
	if c.Hostile {
		c.asHostile()
	}
	state, err := c.state()
	if err != nil {
		return err
	}
	p, err := c.draft()
	if err != nil {
		return err
	}
	if state != nil {
		p.State = plan.StateName(state)
	}
	err = c.writeDesigned(std, p, func(p plan.Plan) (plan.Plan, error) { return design.Rounds(p, c.Rounds) }, "features", "classes", "bits", "rounds")
	if err != nil || state == nil {
		return err
	}
	return atomicfile.Replace(c.State, state, 0o644)
}

// state returns that of --map, whose features the plan counts; nil without.
func (c *vectorPlan) state() ([]byte, error) {
	if (c.Map == "") != (c.State == "") || (c.Map == "") != (c.Features != 0) {
		return nil, terminal.Usagef("--features, --map and --state: give the number of features, or a file of them and one for the plan's state")
	}
	if c.Map == "" {
		return nil, nil
	}
	m, err := flags.Features(c.Map)
	if err != nil {
		return nil, err
	}
	c.Features = m.Len()
	return m.State(), nil
}

// firstShare of bits, and with them of the budget, goes to the moments of a study that goes on
// with gradients.
const firstShare = 0.3

// draft returns the plan as asked for, without keys and noise.
func (c vectorPlan) draft() (plan.Plan, error) {
	errs := terminal.Faults{c.parties.check(), flags.Word("sums", c.Sums, []string{plan.SumsFeatures, plan.SumsClasses, plan.SumsMoments, plan.SumsSquares})}
	errs.Require(c.Rounds >= 1 && c.Rounds <= plan.MaxRounds, "--rounds is %d: give 1 to %d", c.Rounds, plan.MaxRounds)
	proved := c.Route.Adds("vector") != "" && c.Route.Adds("vector") != plan.NoiseDevices
	errs.Require(!c.Hostile || proved, "--hostile: aggregators add the noise: leave out --noise, or name another than devices")
	errs.Require(!proved || c.Bits == 0, "--bits are of answers by bits: leave them out where the length of vectors is proved")
	errs.Require(c.Rounds == 1 || c.Sums == plan.SumsMoments && (proved || c.Bits >= 10*c.Rounds), "--rounds is %d: several rounds begin with moments, and take at least ten --bits each", c.Rounds)
	errs.Require(c.Epsilon > 0, "--epsilon is %v: give a number above 0", c.Epsilon)
	errs.Require(c.Delta > 0 && c.Delta < 1, "--delta is %v: give a number between 0 and 1", c.Delta)
	errs.Require(c.Bits >= 0, "--bits is %d: give a number of rows", c.Bits)
	errs.Require((c.Number == "") == (len(c.Between) == 0) && (c.Number == "" || len(c.Between) == 2 && c.Between[0] < c.Between[1]), "--number and --between: give a name and two ends, or neither")
	if c.Sums == plan.SumsSquares {
		errs.Require((c.Number == "") != (len(c.Classes) == 0) && (c.Number != "" || len(c.Classes) == 2), "--sums squares are of a --number or of two --classes: name one of them")
	} else {
		errs.Require((c.Sums == plan.SumsFeatures) == (len(c.Classes) == 0), "--classes belong to sums of classes and of moments: name at least two there, and none for features")
		errs.Require(c.Number == "", "--number belongs to --sums squares")
	}
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	rounds := []plan.VectorRound{{Sums: c.Sums, Answered: c.Bits}}
	if c.Rounds > 1 {
		first := int(firstShare * float64(c.Bits))
		rounds[0].Answered = first
		rounds = append(rounds, plan.VectorRound{Sums: plan.SumsGradients, Answered: (c.Bits - first) / (c.Rounds - 1)})
	}
	v := &plan.Vector{Features: c.Features, Classes: c.Classes, Seed: freshSeed(), Rounds: rounds}
	if c.Number != "" {
		v.Number = &plan.Number{Name: c.Number, Low: c.Between[0], High: c.Between[1]}
	}
	return c.plan(c.Title, plan.Question{Kind: "vector", Vector: v},
		nil, plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"})
}
