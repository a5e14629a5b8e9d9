// Package account is confetti account: what mechanisms give, and what they need.
package account

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
)

type Command struct {
	Epsilon   accountEpsilon   `cmd:"" help:"The epsilon of a mechanism at a delta."`
	Delta     accountDelta     `cmd:"" help:"The delta of a mechanism at an epsilon."`
	Calibrate accountCalibrate `cmd:"" help:"The least noise for an epsilon and a delta."`
	Advise    accountAdvise    `cmd:"" help:"Compare protocols for a collection: error, cost, privacy; and say which to take."`
	Explain   accountExplain   `cmd:"" help:"Say in plain words who can learn what from a mechanism."`
}

// mechanismParameters are the numbers of any mechanism; each mechanism takes
// some of them. A pointer tells a flag that was left out.
type mechanismParameters struct {
	Mechanism string `help:"rr, one-hot, vector, krr, subset, local-hashing, hadamard, any, 3nb, poisson, fragments (shuffled); gaussian, discrete-gaussian, laplace, discrete-laplace, dpsgd (central)." enum:"rr,one-hot,vector,krr,subset,local-hashing,hadamard,any,3nb,poisson,fragments,gaussian,discrete-gaussian,laplace,discrete-laplace,dpsgd" required:"" placeholder:"NAME"`

	Users            *int     `help:"Respondents whose noise is relied upon (all shuffled mechanisms; 3nb: only to count messages)." placeholder:"N" group:"Parameters of the mechanism"`
	Rounds           *int     `help:"How often it is used on the same respondents, each time with fresh randomness (1)." placeholder:"K" group:"Parameters of the mechanism"`
	FlipProbability  *float64 `help:"rr, one-hot, vector: probability that a bit is flipped." placeholder:"P" group:"Parameters of the mechanism"`
	KeepProbability  *float64 `help:"one-hot: probability that a set bit is sent, where that is not one less the other (asymmetric: 0.5 errs least)." placeholder:"P" group:"Parameters of the mechanism"`
	Adjacency        string   `help:"one-hot, fragments: which data sets are neighbours." enum:"replacement,removal," default:"" placeholder:"replacement|removal" group:"Parameters of the mechanism"`
	Coordinates      *int     `help:"vector: bits of a respondent." placeholder:"D" group:"Parameters of the mechanism"`
	SquaredGap       *float64 `help:"vector: how far one record moves the probabilities of its bits before the flips, sum of squares (D/R^2 for unit vectors clipped at R deviations)." placeholder:"G" group:"Parameters of the mechanism"`
	Symbols          *int     `help:"krr, subset, hadamard: number of symbols; local-hashing: of those hashed to." placeholder:"K" group:"Parameters of the mechanism"`
	SubsetSize       *int     `help:"subset: symbols in a report (those that err least)." placeholder:"W" group:"Parameters of the mechanism"`
	LocalEpsilon     *float64 `help:"krr, subset, local-hashing, hadamard, any: epsilon of one report by itself." placeholder:"E" group:"Parameters of the mechanism"`
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

// mechanism is what the command line knows of one: the flags it needs, those
// it may have, and its event.
type mechanism struct {
	needs, takes []string
	event        func(p mechanismParameters) account.Event // nil: fragments, which are no event
}

var mechanisms = map[string]mechanism{
	"rr": {[]string{"users", "flip-probability"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.RandomizedResponse{Users: *p.Users, Flip: *p.FlipProbability}
	}},
	"one-hot": {[]string{"users", "flip-probability", "adjacency"}, []string{"rounds", "keep-probability"}, func(p mechanismParameters) account.Event {
		e := account.OneHot{Users: *p.Users, Flip: *p.FlipProbability, Adjacency: account.Adjacency(p.Adjacency)}
		if p.KeepProbability != nil {
			e.Keep = *p.KeepProbability
		}
		return e
	}},
	"vector": {[]string{"users", "coordinates", "flip-probability", "squared-gap"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.VectorResponse{Users: *p.Users, Coordinates: *p.Coordinates, Flip: *p.FlipProbability, SquaredGap: *p.SquaredGap}
	}},
	"krr":           {[]string{"users", "symbols", "local-epsilon"}, []string{"rounds"}, wholeReport},
	"subset":        {[]string{"users", "symbols", "local-epsilon"}, []string{"rounds", "subset-size"}, wholeReport},
	"local-hashing": {[]string{"users", "symbols", "local-epsilon"}, []string{"rounds"}, wholeReport},
	"hadamard":      {[]string{"users", "symbols", "local-epsilon"}, []string{"rounds"}, wholeReport},
	"any":           {[]string{"users", "local-epsilon"}, []string{"rounds"}, wholeReport},
	"3nb": {[]string{"noise", "flood-shape", "flood-probability"}, []string{"users", "rounds"}, func(p mechanismParameters) account.Event {
		e := account.ThreeNB{Noise: *p.Noise, FloodShape: *p.FloodShape, FloodProb: *p.FloodProbability}
		if p.Users != nil {
			e.Users = *p.Users
		}
		return e
	}},
	"fragments": {[]string{"users", "backstop", "fragment", "tau", "adjacency"}, nil, nil},
	"gaussian": {[]string{"sigma", "sensitivity"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.Gaussian{Sigma: *p.Sigma, Sensitivity: *p.Sensitivity}
	}},
	"discrete-gaussian": {[]string{"sigma", "sensitivity"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.DiscreteGaussian{Sigma: *p.Sigma, Sensitivity: int(*p.Sensitivity)}
	}},
	"laplace": {[]string{"scale", "sensitivity"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.Laplace{Scale: *p.Scale, Sensitivity: *p.Sensitivity}
	}},
	"discrete-laplace": {[]string{"noise", "sensitivity"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.DiscreteLaplace{Noise: *p.Noise, Sensitivity: int(*p.Sensitivity)}
	}},
	"poisson": {[]string{"users", "mean"}, []string{"rounds"}, func(p mechanismParameters) account.Event {
		return account.PoissonSum{Users: *p.Users, Mean: *p.Mean}
	}},
	"dpsgd": {[]string{"sampling", "noise-multiplier", "steps"}, nil, func(p mechanismParameters) account.Event {
		return account.SubsampledGaussian{Sampling: *p.Sampling, NoiseMultiplier: *p.NoiseMultiplier}
	}},
}

// flags are those that were given, by name.
func (p mechanismParameters) flags() map[string]float64 {
	given := map[string]float64{}
	for name, n := range map[string]*int{"users": p.Users, "rounds": p.Rounds, "symbols": p.Symbols, "subset-size": p.SubsetSize, "coordinates": p.Coordinates, "tau": p.Tau, "steps": p.Steps} {
		if n != nil {
			given[name] = float64(*n)
		}
	}
	for name, x := range map[string]*float64{
		"flip-probability": p.FlipProbability, "keep-probability": p.KeepProbability, "squared-gap": p.SquaredGap, "local-epsilon": p.LocalEpsilon,
		"noise": p.Noise, "flood-shape": p.FloodShape, "flood-probability": p.FloodProbability,
		"backstop": p.Backstop, "fragment": p.Fragment, "sigma": p.Sigma, "sensitivity": p.Sensitivity, "scale": p.Scale, "mean": p.Mean,
		"sampling": p.Sampling, "noise-multiplier": p.NoiseMultiplier,
	} {
		if x != nil {
			given[name] = *x
		}
	}
	if p.Adjacency != "" {
		given["adjacency"] = 1
	}
	return given
}

// check refuses flags that are missing, out of place, or no positive number.
// What is in range beyond that, the accountant knows.
func (p mechanismParameters) check() error {
	m := mechanisms[p.Mechanism]
	given := p.flags()
	for _, name := range m.needs {
		if _, ok := given[name]; !ok {
			return terminal.Usagef("--%s is missing: --mechanism %s needs %s", name, p.Mechanism, flags.Dashed(m.needs))
		}
	}
	for name, x := range given {
		if !slices.Contains(m.needs, name) && !slices.Contains(m.takes, name) {
			return terminal.Usagef("--%s does not belong to --mechanism %s: leave it out (it takes %s)", name, p.Mechanism, flags.Dashed(append(slices.Clone(m.needs), m.takes...)))
		}
		if err := positive(name, x); err != nil {
			return err
		}
	}
	if p.Symbols != nil {
		r := oneMessage{mechanism: p.Mechanism, symbols: *p.Symbols}
		if p.SubsetSize != nil {
			r.size = *p.SubsetSize
		}
		if err := r.check(); err != nil {
			return err
		}
		if err := r.validate(*p.LocalEpsilon); err != nil {
			return err
		}
	}
	if s := p.Sensitivity; strings.HasPrefix(p.Mechanism, "discrete-") && (*s != math.Trunc(*s) || *s > math.MaxInt32) {
		return terminal.Usagef("--sensitivity is %v: --mechanism %s adds integers, so give a whole number up to %d", *s, p.Mechanism, math.MaxInt32)
	}
	return nil
}

// positive is for flags of quantities of which there is some, but not without end.
func positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return terminal.Usagef("--%s is %v: give a number above 0", name, x)
	}
	return nil
}

// probability is for flags that must be strictly between 0 and 1.
func probability(name string, x float64) error {
	if !(x > 0 && x < 1) {
		return terminal.Usagef("--%s is %v: give a number between 0 and 1", name, x)
	}
	return nil
}

// rounds is how often the mechanism is used.
func (p mechanismParameters) rounds() int {
	switch {
	case p.Steps != nil:
		return *p.Steps
	case p.Rounds != nil:
		return *p.Rounds
	}
	return 1
}

// event is the checked mechanism with its rounds; not for fragments.
func (p mechanismParameters) event() account.Event {
	return account.Repeat{Event: mechanisms[p.Mechanism].event(p), Rounds: p.rounds()}
}

func (p mechanismParameters) fragments() account.Fragments {
	return account.Fragments{Users: *p.Users, Backstop: *p.Backstop, Fragment: *p.Fragment, Tau: *p.Tau, Adjacency: account.Adjacency(p.Adjacency)}
}

func (p mechanismParameters) refused(err error, more ...string) error {
	m := mechanisms[p.Mechanism]
	return flags.Refused(err, slices.Concat(m.needs, m.takes, more)...)
}

// wide prints a number for people: at most four digits that matter.
func wide(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "none"
	case x >= 1000 && x < 1e7:
		return thousands(int(math.Round(x)))
	}
	return fmt.Sprintf("%.4g", x)
}

// thousands groups the digits of a whole number.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
