// Package draft is confetti plan new: a plan as it is asked for, its noise and the keys of its parties.
package draft

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan/describe"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Command is a way for each kind of question.
type Command struct {
	Density   densityPlan   `cmd:"" default:"withargs" help:"Ask for a density of vectors in each class (the kind of plan without a name)."`
	Histogram histogramPlan `cmd:"" help:"Ask how many hold each value."`
	Label     labelPlan     `cmd:"" help:"Ask for the label that goes with public features, and protect nothing else."`
	Latent    latentPlan    `cmd:"" help:"Ask for records and their classes, both private though everyone colludes."`
	Gradient  gradientPlan  `cmd:"" help:"Ask how each example would change a model, which learns in rounds."`
	Vector    vectorPlan    `cmd:"" help:"Ask which features go with which class, both in one guarantee; it teaches a classifier."`
}

// parties are the flags of every new plan.
type parties struct {
	File           string  `arg:"" help:"Where to write the plan (TOML)." type:"path"`
	Minimum        int     `help:"Smallest crowd that is released, in distinct respondents." required:"" placeholder:"N"`
	Maximum        int     `help:"Most respondents of a crowd that count, drawn at random from more. Without: no limit, but three times those whose noise is relied upon for 3nb, nb and pure, whose noise a hop could thin out among many." placeholder:"N"`
	DishonestShare float64 `help:"Share of respondents whose noise is not relied upon." default:"0.1"`
	Unfit          string  `help:"What a device sends whose value does not fit, rather than nothing: reference (the report of nothing) or clip (of the nearest value that fits: a set's first items, a vector of the nearest length; where there is none, the reference)." enum:"reference,clip" default:"reference"`
	Suite          string  `help:"x25519 or x-wing." enum:"x25519,x-wing" default:"x25519"`
	flags.Route
	Instances int    `help:"Shuffler instances in separate trust domains." default:"1"`
	Hops      int    `help:"Hops of each instance." default:"2"`
	Keys      string `help:"Folder for new private keys of all parties; in a real collection each party makes its own and sends its public key." required:"" type:"path" placeholder:"DIR"`
	JSON      bool   `help:"Print JSON."`
}

// check is of the flags by themselves. The plan's own check would find these too,
// in its own terms, but only after room has been made for the parties.
func (c parties) check() error {
	var errs terminal.Faults
	errs.Require(c.DishonestShare >= 0 && c.DishonestShare < 1, "--dishonest-share is %v: give a number from 0 to below 1", c.DishonestShare)
	errs.Require(c.Minimum >= 1 && c.Minimum <= plan.MaxCrowd, "--minimum is %d: give 1 to %d respondents", c.Minimum, plan.MaxCrowd)
	errs.Require(c.Maximum == 0 || c.Maximum >= c.Minimum && c.Maximum <= plan.MaxCrowd, "--maximum is %d: give --minimum to %d respondents", c.Maximum, plan.MaxCrowd)
	errs.Require(c.Instances >= 1 && c.Instances <= plan.MaxInstances, "--instances is %d: give 1 to %d", c.Instances, plan.MaxInstances)
	errs.Require(c.Hops >= 1 && c.Hops <= plan.MaxHops, "--hops is %d: give 1 to %d", c.Hops, plan.MaxHops)
	summed := c.Route.Route == plan.RouteSum
	errs.Require(!summed || c.Maximum == 0, "--maximum is of shufflers, which leave out some of too many: leave it out of a sum")
	errs.Require(!summed || c.Instances == 1, "--instances are of shufflers: leave it out of a sum")
	errs = append(errs, c.Route.Check())
	return errors.Join(errs...)
}

// plan is one of these parties with the question, its budget and its crowds, but
// without keys and noise.
func (c parties) plan(title string, q plan.Question, crowds []string, b plan.Budget) (plan.Plan, error) {
	if _, err := os.Stat(c.File); err == nil {
		return plan.Plan{}, fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return plan.Plan{}, err
	}
	b.DishonestShare, q.Unfit = c.DishonestShare, c.Unfit
	p := plan.Plan{
		Version: plan.Version, Title: title, Question: q, Budget: b,
		Crowd:     plan.Crowd{Names: crowds, Minimum: c.Minimum, Maximum: c.Maximum},
		Envelopes: plan.Envelopes{Suite: c.Suite},
		Route:     plans.Route(c.Instances, c.Hops),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if noise := c.Route.Adds(q.Kind); noise != "" {
		p.Route = plans.Sum(noise)
	}
	if p.HonestMinimum() < 1 {
		return p, terminal.Usagef("--minimum %d less the --dishonest-share %v leaves nobody whose noise counts: raise the one or lower the other", c.Minimum, c.DishonestShare)
	}
	return p, nil
}

// write designs the plan, gives its parties keys, and writes both; what design
// refuses is of the flags set.
func (c parties) write(std terminal.Streams, p plan.Plan, set ...string) error {
	return c.writeDesigned(std, p, design.Fill, set...)
}

func (c parties) writeDesigned(std terminal.Streams, p plan.Plan, design func(plan.Plan) (plan.Plan, error), set ...string) error {
	keys, err := newKeys(&p)
	if err != nil {
		return err
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
	fmt.Fprintf(std.Err, "wrote %s (%s...) and the private keys of its parties in %s\n", c.File, plan.Short(p.Name()), c.Keys)
	if c.JSON {
		return d.WriteJSON(std.Out)
	}
	return d.Write(std.Out)
}

// freshSeed is public: it decides nothing about privacy, but nobody should have
// chosen it.
func freshSeed() string {
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	return hex.EncodeToString(seed[:])
}
