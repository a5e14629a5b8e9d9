// Package draft implements confetti plan new: it makes a plan from flags, with its noise and the keys of its
// parties. Used by cmd/confetti/internal/plan.
package draft

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan/describe"
	"github.com/confetti-dp/confetti/cmd/internal/card"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Command is a way for each kind of question.
type Command struct {
	Density    densityPlan    `cmd:"" default:"withargs" help:"Ask for a density of vectors in each class (the kind of plan without a name)."`
	Histogram  histogramPlan  `cmd:"" help:"Ask how many hold each value."`
	Label      labelPlan      `cmd:"" help:"Ask for the label that goes with public features, and protect nothing else."`
	Latent     latentPlan     `cmd:"" help:"Ask for records and their classes, both private though everyone colludes."`
	Gradient   gradientPlan   `cmd:"" help:"Ask how each example would change a model, which learns in rounds."`
	Vector     vectorPlan     `cmd:"" help:"Ask which features go with which class, both in one guarantee; it teaches a classifier."`
	Strings    stringsPlan    `cmd:"" help:"Ask which strings many hold, of which nobody has a list."`
	Table      tablePlan      `cmd:"" help:"Ask what goes with what: the table of every two columns, in one report."`
	Experiment experimentPlan `cmd:"" help:"Ask by how much more one arm has of a metric than another."`
}

// parties are the flags of every new plan.
type parties struct {
	File           string  `arg:"" help:"Where to write the plan (TOML)." type:"path"`
	Minimum        int     `help:"Smallest crowd that is released, in distinct respondents; of an experiment it follows from --lift." placeholder:"N"`
	Maximum        int     `help:"Most respondents of a crowd that count, drawn at random from more. Without: no limit, but three times those whose noise is relied upon for 3nb, nb and pure, whose noise a hop could thin out among many." placeholder:"N"`
	DishonestShare float64 `help:"Share of respondents whose noise is not relied upon." default:"0.1"`
	Unfit          string  `help:"What a device sends whose value does not fit, rather than nothing: reference (the report of nothing) or clip (of the nearest value that fits: a set's first items, a vector of the nearest length; where there is none, the reference)." enum:"reference,clip" default:"reference"`
	Suite          string  `help:"x25519 or x-wing." enum:"x25519,x-wing" default:"x25519"`
	flags.Route
	Instances int      `help:"Shuffler instances in separate trust domains." default:"1"`
	Hops      int      `help:"Hops of each instance; without it 2, or as many as there are cards of shufflers." placeholder:"N"`
	Party     []string `help:"The card of a party whom the plan names (confetti party card), once for each: of every hop in its order, or of leader and helper, and of the analyzer and the issuer. Each has its own private keys." type:"path" sep:"none" xor:"parties" placeholder:"CARD"`
	Keys      string   `help:"To try things out: folder for new private keys of all parties, in the place of their cards." xor:"parties" type:"path" placeholder:"DIR"`
	JSON      bool     `help:"Print JSON."`
}

// asHostile asks for a sum, with noise of aggregators unless the flags name another.
func (c *parties) asHostile() {
	c.Route.Route = plan.RouteSum
	c.Route.Noise = cmp.Or(c.Route.Noise, plan.NoiseAggregators)
}

// check is of the flags by themselves. The plan's own check would find these too,
// in its own terms, but only after room has been made for the parties.
func (c parties) check() error {
	var errs terminal.Faults
	errs.Require(c.DishonestShare >= 0 && c.DishonestShare < 1, "--dishonest-share is %v: give a number from 0 to below 1", c.DishonestShare)
	errs.Require(c.Minimum >= 1 && c.Minimum <= plan.MaxCrowd, "--minimum is %d: give 1 to %d respondents", c.Minimum, plan.MaxCrowd)
	errs.Require(c.Maximum == 0 || c.Maximum >= c.Minimum && c.Maximum <= plan.MaxCrowd, "--maximum is %d: give --minimum to %d respondents", c.Maximum, plan.MaxCrowd)
	errs.Require(c.Instances >= 1 && c.Instances <= plan.MaxInstances, "--instances is %d: give 1 to %d", c.Instances, plan.MaxInstances)
	errs.Require(c.Hops >= 0 && c.Hops <= plan.MaxHops, "--hops is %d: give 1 to %d", c.Hops, plan.MaxHops)
	summed := c.Route.Route == plan.RouteSum
	errs.Require(!summed || c.Maximum == 0, "--maximum is of shufflers, which leave out some of too many: leave it out of a sum")
	errs.Require(!summed || c.Instances == 1, "--instances are of shufflers: leave it out of a sum")
	errs.Require(c.Keys != "" || len(c.Party) > 0, "missing flags: --party, the card of each party (confetti party card), or to try things out --keys, a folder for new keys")
	errs = append(errs, c.Route.Check())
	return errors.Join(errs...)
}

// plan returns one of these parties with the question, its budget and its crowds, but
// without keys and noise.
func (c parties) plan(title string, q plan.Question, crowds []string, b plan.Budget) (plan.Plan, error) {
	if _, err := os.Stat(c.File); err == nil {
		return plan.Plan{}, fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return plan.Plan{}, err
	}
	cards, err := c.cards()
	if err != nil {
		return plan.Plan{}, err
	}
	b.DishonestShare, q.Unfit = c.DishonestShare, c.Unfit
	p := plan.Plan{
		Version: plan.Version, Title: title, Question: q, Budget: b,
		Crowd:     plan.Crowd{Names: crowds, Minimum: c.Minimum, Maximum: c.Maximum},
		Envelopes: plan.Envelopes{Suite: c.Suite},
		Route:     plans.Route(c.Instances, c.hops(cards)),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if noise := c.Route.Adds(q.Kind); noise != "" {
		p.Route = plans.Sum(noise)
	}
	if p.MinHonest() < 1 {
		return p, terminal.Usagef("--minimum %d less the --dishonest-share %v leaves nobody whose noise counts: raise the one or lower the other", c.Minimum, c.DishonestShare)
	}
	if len(cards) == 0 {
		return p, nil
	}
	if err := card.Place(&p, cards); err != nil {
		return p, terminal.Usage(err)
	}
	return p, nil
}

// cards returns those that --party names, checked against the route.
func (c parties) cards() ([]card.Card, error) {
	if len(c.Party) == 0 {
		return nil, nil
	}
	cards, errs := make([]card.Card, len(c.Party)), make([]error, len(c.Party))
	for i, file := range c.Party {
		cards[i], errs[i] = card.Read(file)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := card.Check(c.Route.Route, cards); err != nil {
		return nil, terminal.Usage(err)
	}
	n := len(card.Of(cards, card.Shuffler))
	if c.Route.Route == plan.RouteMix && n != c.Instances*c.hops(cards) {
		return nil, terminal.Usagef("%d cards are of shufflers, and --instances %d of --hops %d need %d: name as many", n, c.Instances, c.hops(cards), c.Instances*c.hops(cards))
	}
	return cards, nil
}

// hops returns how many each instance has.
func (c parties) hops(cards []card.Card) int {
	if c.Hops == 0 && len(cards) > 0 {
		return max(1, len(card.Of(cards, card.Shuffler))/c.Instances)
	}
	return cmp.Or(c.Hops, 2)
}

// write designs the plan, gives its parties keys, and writes both; what design
// refuses is of the flags set.
func (c parties) write(std terminal.Streams, p plan.Plan, set ...string) error {
	return c.writeDesigned(std, p, design.Fill, set...)
}

func (c parties) writeDesigned(std terminal.Streams, p plan.Plan, design func(plan.Plan) (plan.Plan, error), set ...string) error {
	var keys map[string]func(path string) error
	var err error
	if len(c.Party) == 0 {
		if keys, err = plans.NewKeys(&p); err != nil {
			return err
		}
	}
	if p, err = design(p); err != nil {
		return flags.Refused(err, append(set, "epsilon", "delta", "minimum", "dishonest-share", "accounting")...)
	}
	if err := protocol.Validate(p); err != nil {
		return terminal.Usage(err)
	}
	d, err := describe.Plan(p, nil)
	if err != nil {
		return terminal.Usage(err)
	}
	if err := terminal.Uninterrupted(func() error { return c.save(p, keys) }); err != nil {
		return err
	}
	with := "the private keys of its parties in " + c.Keys
	if len(c.Party) > 0 {
		with = "no private key: each party has its own"
	}
	fmt.Fprintf(std.Err, "wrote %s (%s...) and %s\n", c.File, plan.Short(p.Name()), with)
	if c.JSON {
		return d.WriteJSON(std.Out)
	}
	return d.Write(std.Out)
}

// oneReport holds the flags of a question whose whole answer one report tells, and one promise covers.
type oneReport struct {
	parties
	Delta float64 `help:"Probability that the promise may fail by." default:"1e-6"`
}

// checkReport refuses flags that are wrong by themselves.
func (c oneReport) checkReport(bits int, epsilon float64) error {
	errs := terminal.Faults{flags.CheckBudget(epsilon, c.Delta)}
	errs.Require(bits >= 1, "--bits is %d: give a number of bits", bits)
	return errors.Join(errs...)
}

// ask writes the plan of a question, after what is said of it; set are flags that a design may refuse.
func (c oneReport) ask(std terminal.Streams, title string, q plan.Question, epsilon float64, says []string, set ...string) error {
	p, err := c.plan(title, q, nil, plan.Budget{Epsilon: epsilon, Delta: c.Delta, Adjacency: "replacement"})
	if err != nil {
		return err
	}
	for _, line := range says {
		fmt.Fprintln(std.Err, line)
	}
	return c.write(std, p, set...)
}

// freshSeed is public: it decides nothing about privacy, but nobody should have
// chosen it.
func freshSeed() string {
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	return hex.EncodeToString(seed[:])
}
