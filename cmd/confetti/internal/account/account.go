// Package account implements confetti account: what mechanisms give, and what they need. Used by cmd/confetti, for
// reviewers and authors of plans.
package account

import (
	"cmp"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type Command struct {
	Epsilon   accountEpsilon   `cmd:"" help:"The epsilon of a mechanism at a delta."`
	Delta     accountDelta     `cmd:"" help:"The delta of a mechanism at an epsilon."`
	Calibrate accountCalibrate `cmd:"" help:"The least noise for an epsilon and a delta."`
	Explain   accountExplain   `cmd:"" help:"Say in plain words who can learn what from a mechanism."`
}

// parameters are the numbers of any mechanism; each mechanism takes
// some of them. A pointer tells a flag that was left out.
type parameters struct {
	Mechanism string `help:"${mechanisms}." required:"" placeholder:"NAME"`
	numbers
}

type numbers struct {
	Users            *int     `help:"Respondents whose noise is relied upon (all shuffled mechanisms; 3nb: only to count messages)." placeholder:"N" group:"Parameters of the mechanism"`
	Rounds           *int     `help:"How often it is used on the same respondents, each time with fresh randomness (1)." placeholder:"K" group:"Parameters of the mechanism"`
	FlipProbability  *float64 `help:"rr, one-hot, vector: probability that a bit is flipped." placeholder:"P" group:"Parameters of the mechanism"`
	KeepProbability  *float64 `help:"one-hot: probability that a set bit is sent, where that is not one less the other (asymmetric: 0.5 errs least)." placeholder:"P" group:"Parameters of the mechanism"`
	Adjacency        string   `help:"one-hot, fragments: which data sets are neighbours." enum:"replacement,removal," default:"" placeholder:"replacement|removal" group:"Parameters of the mechanism"`
	Coordinates      *int     `help:"vector: bits of a respondent; direction, cap: numbers of a vector." placeholder:"D" group:"Parameters of the mechanism"`
	SquaredGap       *float64 `help:"vector: how far one record moves the probabilities of its bits before the flips, sum of squares (D/R^2 for unit vectors clipped at R deviations)." placeholder:"G" group:"Parameters of the mechanism"`
	Symbols          *int     `help:"krr, subset, hadamard: number of symbols; local-hash: of those hashed to." placeholder:"K" group:"Parameters of the mechanism"`
	SubsetSize       *int     `help:"subset: symbols in a report (those that err least)." placeholder:"W" group:"Parameters of the mechanism"`
	LocalEpsilon     *float64 `help:"krr, subset, local-hash, hadamard, direction, cap, any: epsilon of one report by itself." placeholder:"E" group:"Parameters of the mechanism"`
	Noise            *float64 `help:"3nb: parameter e1 of the net noise; discrete-laplace: P(z) ~ e^(-E1 |z|)." placeholder:"E1" group:"Parameters of the mechanism"`
	FloodShape       *float64 `help:"3nb: r of the flood." placeholder:"R" group:"Parameters of the mechanism"`
	FloodProbability *float64 `help:"3nb: p of the flood." placeholder:"P" group:"Parameters of the mechanism"`
	Backstop         *float64 `help:"fragments: epsilon of the backstop." placeholder:"E" group:"Parameters of the mechanism"`
	Fragment         *float64 `help:"fragments: epsilon of one fragment." placeholder:"E" group:"Parameters of the mechanism"`
	Tau              *int     `help:"fragments: number of fragments of a report." placeholder:"T" group:"Parameters of the mechanism"`
	Sigma            *float64 `help:"gaussian, discrete-gaussian: standard deviation." placeholder:"S" group:"Parameters of the mechanism"`
	Sensitivity      *float64 `help:"Central sums: how far one record moves the sum, in the two-norm (laplace: one-norm)." placeholder:"L2" group:"Parameters of the mechanism"`
	Scale            *float64 `help:"laplace: scale of the noise." placeholder:"B" group:"Parameters of the mechanism"`
	Mean             *float64 `help:"poisson: mean of the noise of all users together." placeholder:"M" group:"Parameters of the mechanism"`
	Sampling         *float64 `help:"dpsgd: probability that a record takes part in a step." placeholder:"Q" group:"Parameters of the mechanism"`
	NoiseMultiplier  *float64 `help:"dpsgd: standard deviation over the clipping norm." placeholder:"S" group:"Parameters of the mechanism"`
	Steps            *int     `help:"dpsgd: number of steps." placeholder:"T" group:"Parameters of the mechanism"`
}

// given returns the flags of a command that were given, by name, with their numbers: its
// fields that are pointers.
func given(command any) map[string]float64 { return givenOf(reflect.ValueOf(command)) }

func givenOf(command reflect.Value) map[string]float64 {
	all := map[string]float64{}
	for field, v := range command.Fields() {
		if field.Anonymous {
			maps.Copy(all, givenOf(v))
		}
		if field.Type.Kind() != reflect.Pointer || v.IsNil() {
			continue
		}
		name := cmp.Or(field.Tag.Get("name"), strings.ToLower(strings.Join(capitalized.FindAllString(field.Name, -1), "-")))
		all[name] = v.Elem().Convert(reflect.TypeFor[float64]()).Float()
	}
	return all
}

var capitalized = regexp.MustCompile("[A-Z][a-z]*")

// check finds the mechanism, and refuses flags that are missing, out of place, or no
// positive number. What is in range beyond that, the accountant knows.
func (p parameters) check() (mechanism, error) {
	m, err := choose(p.Mechanism, knows)
	if err != nil {
		return m, err
	}
	given := given(p)
	if p.Adjacency != "" {
		given["adjacency"] = 1
	}
	if err := m.belong(given, m.needs, m.takes); err != nil {
		return m, err
	}
	if err := checkSymbols(m, p.Symbols, p.SubsetSize); err != nil {
		return m, err
	}
	if m.of != nil {
		if err := m.of(p).validate(*p.LocalEpsilon); err != nil {
			return m, err
		}
	}
	if s := p.Sensitivity; strings.HasPrefix(m.name, "discrete-") && (*s != math.Trunc(*s) || *s > math.MaxInt32) {
		return m, terminal.Usagef("--sensitivity is %v: --mechanism %s adds integers, so give a whole number up to %d", *s, m.name, math.MaxInt32)
	}
	return m, nil
}

// rounds returns how often the mechanism is used.
func (p parameters) rounds() int {
	switch {
	case p.Steps != nil:
		return *p.Steps
	case p.Rounds != nil:
		return *p.Rounds
	}
	return 1
}

// repeated returns the checked mechanism with its rounds; not for fragments.
func (m mechanism) repeated(p parameters) account.Event {
	return account.Repeat{Event: m.event(p), Rounds: p.rounds()}
}

func (p parameters) randomizedResponse() shuffle.RandomizedResponse {
	return shuffle.RandomizedResponse{Users: *p.Users, Flip: *p.FlipProbability}
}

func (p parameters) threeNB() bitnoise.ThreeNB {
	return bitnoise.ThreeNB{Users: value(p.Users), Noise: *p.Noise, FloodShape: *p.FloodShape, FloodProb: *p.FloodProbability}
}

func (p parameters) fragments() shuffle.Fragments {
	return shuffle.Fragments{Users: *p.Users, Backstop: *p.Backstop, Fragment: *p.Fragment, Tau: *p.Tau, Adjacency: account.Adjacency(p.Adjacency)}
}

// refused returns the accountant's answer in terms of the flags that set the parameters.
func (m mechanism) refused(err error, more ...string) error {
	return flags.Refused(err, slices.Concat(m.needs, m.takes, more)...)
}
