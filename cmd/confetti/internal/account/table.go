package account

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// mechanism is what the commands know of one.
type mechanism struct {
	name    string
	curator bool // one adds the noise, and no shuffler is relied upon

	anySymbols bool // of however many symbols: nothing is done for each of them
	once       bool // calibrated for one round
	pure       bool // by the paper's accounting its delta is zero

	needs, takes []string                               // flags of epsilon, delta and explain; empty: those commands do not know it
	event        func(p parameters) account.Event       // of one round; nil: it has none by itself
	says         func(s *statement, p parameters)       // beside the guarantee; nil: nothing
	of           func(p parameters) report              // of one message; nil: it is not
	calibrate    *calibration                           // nil: account calibrate does not know it
	attack       attack                                 // nil: it does not ship, so there is nothing to attack
	noisy        func(p parameters) audit.Noisy         // of a curator's sum that ships, which is attacked likewise; nil: it is none
	sums         func(p parameters) (audit.Sums, error) // of vectors, which canaries attack in one run; nil: it is none
}

// calibration is how the noise of a mechanism is found.
type calibration struct {
	needs, takes []string // flags beside those of the target
	paper        bool     // the paper has a route of its own
	find         func(c accountCalibrate, s *statement) (account.Event, error)
}

// mechanisms is the one table of them.
var mechanisms = []mechanism{
	{
		name: "rr", needs: []string{"users", "flip-probability"}, takes: []string{"rounds"},
		event:     func(p parameters) account.Event { return p.randomizedResponse() },
		says:      func(s *statement, p parameters) { s.randomizedResponse(p.randomizedResponse(), p.rounds()) },
		calibrate: &calibration{[]string{"users"}, []string{"local-epsilon"}, true, accountCalibrate.randomizedResponse},
		attack: func(p parameters) (audit.Observed, error) {
			return audit.Bits(bitsum.RR{Flip: *p.FlipProbability}, *p.Users), nil
		},
	},
	{
		name: "one-hot", needs: []string{"users", "flip-probability", "adjacency"}, takes: []string{"rounds", "keep-probability"},
		event: func(p parameters) account.Event {
			return shuffle.OneHot{Users: *p.Users, Flip: *p.FlipProbability, Keep: value(p.KeepProbability), Adjacency: account.Adjacency(p.Adjacency)}
		},
		calibrate: &calibration{[]string{"users"}, []string{"local-epsilon", "keep-probability"}, false, accountCalibrate.oneHot},
		attack: func(p parameters) (audit.Observed, error) {
			m := randomize.OneHot{K: 2, Keep: cmp.Or(value(p.KeepProbability), 1-*p.FlipProbability), Flip: *p.FlipProbability}
			return audit.Cells(m, *p.Users, account.Adjacency(p.Adjacency)), m.Validate()
		},
	},
	{
		name: "vector", once: true, needs: []string{"users", "coordinates", "flip-probability", "squared-gap"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event {
			return vectors.VectorResponse{Users: *p.Users, Coordinates: *p.Coordinates, Flip: *p.FlipProbability, SquaredGap: *p.SquaredGap}
		},
		calibrate: &calibration{[]string{"users", "coordinates", "squared-gap"}, []string{"local-epsilon"}, false, accountCalibrate.vector},
		attack: func(p parameters) (audit.Observed, error) {
			return audit.Coordinates(bitsum.RR{Flip: *p.FlipProbability}, *p.Users, *p.Coordinates, *p.SquaredGap), nil
		},
		sums: parameters.sums,
	},
	ofAnySymbols(oneMessage("krr", []string{"symbols"}, nil, func(symbols, _ int, local float64) randomizer {
		return randomize.KRR{K: symbols, Epsilon: local}
	})),
	oneMessage("subset", []string{"symbols"}, []string{"subset-size"}, func(symbols, size int, local float64) randomizer {
		if size == 0 {
			size = randomize.SubsetSize(symbols, local)
		}
		return randomize.SubsetSelection{K: symbols, W: size, Epsilon: local}
	}),
	oneMessage("local-hash", []string{"symbols"}, nil, func(symbols, _ int, local float64) randomizer {
		return randomize.LocalHash{K: 2, G: symbols, Functions: 1, Epsilon: local}
	}),
	oneMessage("hadamard", []string{"symbols"}, nil, func(symbols, _ int, local float64) randomizer {
		return randomize.Hadamard{K: symbols, Epsilon: local}
	}),
	oneMessage("direction", []string{"coordinates"}, nil, func(coordinates, _ int, local float64) randomizer {
		return direction.Sign{Dim: coordinates, Clip: 1, Epsilon: local}
	}),
	oneMessage("cap", []string{"coordinates"}, nil, func(coordinates, _ int, local float64) randomizer {
		m := direction.Cap{Dim: coordinates, Clip: 1, Share: 0.5, Epsilon: local}
		if m.Validate() == nil { // else whoever asks is told
			m = direction.BestCap(coordinates, 1, local)
		}
		return m
	}),
	oneMessage("any", nil, nil, func(_, _ int, local float64) randomizer { return whichever(local) }),
	{
		name: "3nb", needs: []string{"noise", "flood-shape", "flood-probability"}, takes: []string{"users", "rounds"},
		event:     func(p parameters) account.Event { return p.threeNB() },
		says:      func(s *statement, p parameters) { s.threeNB(p.threeNB(), p.rounds()) },
		calibrate: &calibration{[]string{"users"}, []string{"extra-messages"}, true, accountCalibrate.threeNB},
		attack: func(p parameters) (audit.Observed, error) {
			m := bitsum.ThreeNB(p.threeNB())
			m.Users = max(1, m.Users) // who share the same noise
			if err := m.Validate(); err != nil {
				return audit.Observed{}, err
			}
			return audit.ThreeNoises(m)
		},
	},
	{name: "pure", pure: true, calibrate: &calibration{[]string{"users"}, nil, true, accountCalibrate.pure}},
	{
		name: "poisson", needs: []string{"users", "mean"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event { return bitnoise.PoissonSum{Users: *p.Users, Mean: *p.Mean} },
		says: func(s *statement, p parameters) {
			s.poisson(bitnoise.PoissonSum{Users: *p.Users, Mean: *p.Mean}, p.rounds())
		},
		calibrate: &calibration{[]string{"users"}, nil, false, accountCalibrate.poisson},
		attack: func(p parameters) (audit.Observed, error) {
			m := bitsum.PoissonSum{Users: *p.Users, Mean: *p.Mean}
			return audit.Poissons(m), m.Validate()
		},
	},
	{
		name: "fragments", needs: []string{"users", "backstop", "fragment", "tau", "adjacency"},
		calibrate: &calibration{[]string{"users", "tau"}, []string{"local-epsilon"}, false, accountCalibrate.fragments},
		attack: func(p parameters) (audit.Observed, error) {
			b, f := shuffle.FlipOf(*p.Backstop), shuffle.FlipOf(*p.Fragment)
			m := randomize.Fragmented{Backstop: randomize.OneHot{K: 1, Keep: 1 - b, Flip: b}, Fragment: randomize.OneHot{K: 1, Keep: 1 - f, Flip: f}, Tau: *p.Tau}
			return audit.Fragments(m, *p.Users), m.Validate()
		},
	},
	{
		name: "gaussian", curator: true, needs: []string{"sigma", "sensitivity"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event {
			return central.Gaussian{Sigma: *p.Sigma, Sensitivity: *p.Sensitivity}
		},
		says:      sigma,
		calibrate: &calibration{nil, []string{"users"}, false, accountCalibrate.gaussian},
		noisy:     func(p parameters) audit.Noisy { return audit.NoisyGaussian(*p.Sigma, *p.Sensitivity) },
	},
	{
		name: "discrete-gaussian", curator: true, needs: []string{"sigma", "sensitivity"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event {
			return additive.DiscreteGaussian{Sigma: *p.Sigma, Sensitivity: int(*p.Sensitivity)}
		},
		says: sigma,
		noisy: func(p parameters) audit.Noisy {
			return audit.Noisy{Noise: noise.DiscreteGaussian{Sigma: *p.Sigma}, Steps: int(*p.Sensitivity)}
		},
	},
	{
		name: "laplace", curator: true, needs: []string{"scale", "sensitivity"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event {
			return central.Laplace{Scale: *p.Scale, Sensitivity: *p.Sensitivity}
		},
		says:  func(s *statement, p parameters) { s.add("rmse", "RMSE", math.Sqrt2**p.Scale, "of one sum") },
		noisy: func(p parameters) audit.Noisy { return audit.NoisyLaplace(*p.Scale, *p.Sensitivity) },
	},
	{
		name: "discrete-laplace", curator: true, needs: []string{"noise", "sensitivity"}, takes: []string{"rounds"},
		event: func(p parameters) account.Event {
			return additive.DiscreteLaplace{Noise: *p.Noise, Sensitivity: int(*p.Sensitivity)}
		},
		says: func(s *statement, p parameters) {
			s.add("rmse", "RMSE", additive.DiscreteLaplace{Noise: *p.Noise}.RMSE(), "of one sum")
		},
		noisy: func(p parameters) audit.Noisy {
			return audit.Noisy{Noise: noise.DiscreteLaplace{Decay: *p.Noise}, Steps: int(*p.Sensitivity)}
		},
	},
	{
		name: "dpsgd", curator: true, needs: []string{"sampling", "noise-multiplier", "steps"},
		event: func(p parameters) account.Event {
			return central.SubsampledGaussian{Sampling: *p.Sampling, NoiseMultiplier: *p.NoiseMultiplier}
		},
	},
}

func sigma(s *statement, p parameters) {
	s.add("sigma", "standard deviation", *p.Sigma, "of the noise in each sum")
}

// value returns what a flag says, or zero.
func value[T any](flag *T) (v T) {
	if flag != nil {
		v = *flag
	}
	return v
}

// attack is a mechanism as its observer meets it, made of what devices run.
type attack func(p parameters) (audit.Observed, error)

// knows tells the mechanisms of epsilon, delta and explain, calibrates those of calibrate,
// and attacked those of audit.
func knows(m mechanism) bool      { return m.needs != nil }
func calibrates(m mechanism) bool { return m.calibrate != nil }
func attacked(m mechanism) bool   { return m.attack != nil || m.noisy != nil }

// named returns the names of those that pass.
func named(pass func(mechanism) bool) (names []string) {
	for _, m := range mechanisms {
		if pass(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// choose finds one of those that pass by the name that --mechanism gives.
func choose(name string, pass func(mechanism) bool) (mechanism, error) {
	if err := flags.Word("mechanism", name, named(pass)); err != nil {
		return mechanism{}, err
	}
	return mechanisms[slices.IndexFunc(mechanisms, func(m mechanism) bool { return m.name == name })], nil
}

// Mechanisms, Calibrated and Attacked are the names that --mechanism may give, for the help.
func Mechanisms() string { return names(knows) }
func Calibrated() string { return names(calibrates) }
func Attacked() string   { return names(attacked) }

func names(pass func(mechanism) bool) string {
	shuffled := named(func(m mechanism) bool { return pass(m) && !m.curator })
	central := named(func(m mechanism) bool { return pass(m) && m.curator })
	return strings.Join(shuffled, ", ") + " (shuffled); " + strings.Join(central, ", ") + " (central)"
}

// belong refuses flags that a mechanism needs and are not given, that it does not take,
// and that are no positive number.
func (m mechanism) belong(given map[string]float64, needs, takes []string) error {
	for _, name := range needs {
		if _, ok := given[name]; !ok {
			return terminal.Usagef("--%s is missing: --mechanism %s needs %s", name, m.name, flags.Dashed(needs))
		}
	}
	all := slices.Concat(needs, takes)
	for name, x := range given {
		if !slices.Contains(all, name) {
			return terminal.Usagef("--%s does not belong to --mechanism %s: leave it out (it takes %s)", name, m.name, flags.Dashed(all))
		}
		if err := flags.Positive(name, x); err != nil {
			return err
		}
	}
	return nil
}
