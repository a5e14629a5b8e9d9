package plan

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/protocol"
)

type planNew struct {
	Density   planNewDensity   `cmd:"" default:"withargs" help:"Ask for a density of vectors in each class (the kind of plan without a name)."`
	Histogram planNewHistogram `cmd:"" help:"Ask how many hold each value."`
	Label     planNewLabel     `cmd:"" help:"Ask for the label that goes with public features, and protect nothing else."`
	Latent    planNewLatent    `cmd:"" help:"Ask for records and their classes, both private though everyone colludes."`
	Gradient  planNewGradient  `cmd:"" help:"Ask how each example would change a model, which learns in rounds."`
	Vector    planNewVector    `cmd:"" help:"Ask which features go with which class, both in one guarantee; it teaches a classifier."`
}

// planParties are the flags of every new plan.
type planParties struct {
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
func (c planParties) check() error {
	var errs []error
	require := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, terminal.Usagef(format, a...))
		}
	}
	require(c.DishonestShare >= 0 && c.DishonestShare < 1, "--dishonest-share is %v: give a number from 0 to below 1", c.DishonestShare)
	require(c.Minimum >= 1 && c.Minimum <= plan.MaxCrowd, "--minimum is %d: give 1 to %d respondents", c.Minimum, plan.MaxCrowd)
	require(c.Maximum == 0 || c.Maximum >= c.Minimum && c.Maximum <= plan.MaxCrowd, "--maximum is %d: give --minimum to %d respondents", c.Maximum, plan.MaxCrowd)
	require(c.Instances >= 1 && c.Instances <= plan.MaxInstances, "--instances is %d: give 1 to %d", c.Instances, plan.MaxInstances)
	require(c.Hops >= 1 && c.Hops <= plan.MaxHops, "--hops is %d: give 1 to %d", c.Hops, plan.MaxHops)
	summed := c.Route.Route == plan.RouteSum
	require(!summed || c.Maximum == 0, "--maximum is of shufflers, which leave out some of too many: leave it out of a sum")
	require(!summed || c.Instances == 1, "--instances are of shufflers: leave it out of a sum")
	errs = append(errs, c.Route.Check())
	return errors.Join(errs...)
}

// plan is one of these parties with the question, its budget and its crowds, but
// without keys and noise.
func (c planParties) plan(title string, q plan.Question, crowds []string, b plan.Budget) (plan.Plan, error) {
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
func (c planParties) write(std terminal.Streams, p plan.Plan, set ...string) error {
	return c.writeDesigned(std, p, protocol.Design, set...)
}

func (c planParties) writeDesigned(std terminal.Streams, p plan.Plan, design func(plan.Plan) (plan.Plan, error), set ...string) error {
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
	d, err := describe(p)
	if err != nil {
		return terminal.Usage(err)
	}
	if err := terminal.Uninterrupted(func() error { return c.save(p, keys) }); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "wrote %s (%s...) and the private keys of its parties in %s\n", c.File, plan.Short(p.Name()), c.Keys)
	if c.JSON {
		return d.writeJSON(std.Out)
	}
	return d.write(std.Out)
}

type planNewDensity struct {
	planParties
	Title     string   `help:"What the respondents are asked." default:"A density for each class"`
	Dimension int      `help:"Length of a respondent's vector." required:"" placeholder:"D"`
	Classes   []string `help:"Names of the classes." required:"" placeholder:"A"`
	Normalize bool     `help:"Scale vectors to unit length on the device."`
	flags.KernelChoice
	flags.Mechanism
}

func (planNewDensity) Help() string {
	return "Example:\n  confetti plan new density plan.toml --dimension 256 --classes Business,Sports --epsilon 2 --minimum 3000 --keys keys"
}

func (c planNewDensity) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "dimension", "repetitions", "bitsum")
}

// draft is the plan as asked for, without keys and noise.
func (c planNewDensity) draft() (plan.Plan, error) {
	label, labelErr := flags.ParseLabelEpsilon(c.LabelEpsilon)
	errs := []error{c.Budget.Check(), c.KernelChoice.Check(), labelErr, c.planParties.check()}
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, terminal.Usagef(format, a...))
		}
	}
	check(c.Dimension >= 1 && c.Dimension <= encode.MaxDimension, "--dimension is %d: give 1 to %d", c.Dimension, encode.MaxDimension)
	check(len(c.Classes) >= 1 && len(c.Classes) <= plan.MaxClasses, "--classes names %d: give 1 to %d", len(c.Classes), plan.MaxClasses)
	check(slices.Contains(plan.Bitsums, c.Bitsum), "--bitsum is %q: a plan's is one of %s", c.Bitsum, strings.Join(plan.Bitsums, ", "))
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	kernel, repetitions := c.Choose(c.Dimension)
	kernel.Seed = freshSeed()
	return c.plan(c.Title, plan.Question{Kind: "density", Density: &plan.Density{
		Dimension: c.Dimension, Normalize: c.Normalize,
		Kernel: kernel, Repetitions: repetitions,
		Bitsum: plan.Bitsum{Name: c.Bitsum, Accounting: c.Accounting},
	}}, c.Classes, plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement", LabelEpsilon: label})
}

// freshSeed is public: it decides nothing about privacy, but nobody should have
// chosen it.
func freshSeed() string {
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	return hex.EncodeToString(seed[:])
}

// newKeys makes a key for every party, by file name, and writes the public
// ones into the plan.
func newKeys(p *plan.Plan) (map[string]envelope.KeyFile, error) {
	keys := map[string]envelope.KeyFile{}
	one := func(party *plan.Party, file string) error {
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return err
		}
		party.Key = key.Public().String()
		keys[file] = envelope.KeyFile{Key: key, Purpose: party.Operator}
		return nil
	}
	if s := p.Route.Sum; s != nil {
		for i, party := range s.Aggregators() {
			if err := one(party, []string{"leader.key", "helper.key"}[i]); err != nil {
				return nil, err
			}
		}
	}
	for i, in := range p.Route.Instances() {
		for h := range in.Hops {
			if err := one(&in.Hops[h], fmt.Sprintf("instance-%d-hop-%d.key", i+1, h+1)); err != nil {
				return nil, err
			}
		}
	}
	return keys, one(&p.Analyzer, "analyzer.key")
}

// save writes the keys and then the plan. After an error nothing that it wrote
// remains.
func (c planParties) save(p plan.Plan, keys map[string]envelope.KeyFile) (err error) {
	var made []string
	defer func() {
		if err != nil {
			for i := len(made) - 1; i >= 0; i-- {
				err = errors.Join(err, os.Remove(made[i]))
			}
		}
	}()
	if err := os.Mkdir(c.Keys, 0o700); err == nil {
		made = append(made, c.Keys)
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--keys: %w: name a folder that is there, or can be made", err)
	}
	for name, key := range keys {
		path := filepath.Join(c.Keys, name)
		if err := envelope.CreateKeyFile(path, key); err != nil {
			return fmt.Errorf("--keys: %w: choose another folder", err)
		}
		made = append(made, path)
	}
	if err := durable.Create(c.File, author.TOML(p), 0o644); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: a plan is immutable; choose another name", c.File)
		}
		return err
	}
	return nil
}
