// Package sum holds what the parties of a sum by two aggregators agree on: from a plan's route, its vectors and each
// aggregator's noise (package vdaf has their split and proof). Used by protocol, internal/dap/task and
// question/histogram.
package sum

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/plan"
)

// Sum is a route of sums made runnable. It is immutable and safe for concurrent use.
type Sum struct {
	route  plan.Sum
	factor []int64 // of correlated rounds; nil: a round by itself
	across []int64 // of windows, over the numbers of a row too; nil: each number tells of itself
	round  int
}

// maxEncoded bounds the numbers that a vector is encoded to, as prio3.MaxEncoded does.
const maxEncoded = 1 << 22

// New makes the route of a valid plan runnable. It is an error if the plan's answers are
// mixed.
func New(p plan.Plan) (*Sum, error) {
	if p.Route.Sum == nil {
		return nil, errors.New("sum: the plan's answers are mixed: no aggregator takes them")
	}
	s := &Sum{route: *p.Route.Sum, round: 1}
	if p.Round != nil {
		s.round = p.Round.Number
	}
	switch c, numbers := s.route.Circuit, encoded(s.route.Circuit); {
	case c.Kind != plan.CircuitHistogram && c.Kind != plan.CircuitMultihot && c.Kind != plan.CircuitSumVec:
		return nil, fmt.Errorf("sum: no code for a circuit of kind %s", plan.Quoted(c.Kind))
	case c.Length < 1 || c.Length > maxEncoded || c.Kind == plan.CircuitSumVec && numbers > maxEncoded:
		return nil, fmt.Errorf("sum: vectors of %d numbers are encoded to %d: the limit is %d", c.Length, numbers, maxEncoded)
	case c.Kind == plan.CircuitMultihot && (c.Weight < 1 || c.Weight > c.Length):
		return nil, fmt.Errorf("sum: at most %d ones among %d numbers: give 1 to %d", c.Weight, c.Length, c.Length)
	case c.Kind == plan.CircuitSumVec && (c.Max < 1 || c.Max > 1<<32):
		return nil, fmt.Errorf("sum: numbers of at most %d: give 1 to %d", c.Max, 1<<32)
	case c.Square != 0 && (c.Kind != plan.CircuitSumVec || c.Max < 2 || c.Max > 1<<16 || c.Max&1 != 0 || c.Square < 1 || c.Square > c.Length*(c.Max/2)*(c.Max/2)):
		return nil, fmt.Errorf("sum: numbers of at most %d about their middle, with squares of at most %d: give an even number up to %d, and squares of 1 to what all of them reach", c.Max, c.Square, 1<<16)
	case s.route.Chunk < 1 || s.route.Chunk > numbers:
		return nil, fmt.Errorf("sum: a chunk of %d: give 1 to %d", s.route.Chunk, numbers)
	}
	if c := s.route.Correlated; c != nil {
		if s.round > c.Rounds {
			return nil, fmt.Errorf("sum: round %d of %d correlated ones", s.round, c.Rounds)
		}
		s.factor = Factor(c.Rounds, c.Bits)
		if c.Windows {
			s.across = Factor(s.Length(), c.Bits)
		}
	}
	return s, nil
}

// Across returns what each number of a round's row counts for in those behind it, from its own on; nil: a number tells of
// itself.
func (s *Sum) Across() []int64 { return s.across }

// Correlated reports whether the round's row tells of earlier rounds too.
func (s *Sum) Correlated() bool { return s.factor != nil }

// Times returns how many times what was added up of a round counts in this round's row: of a round by itself
// once.
func (s *Sum) Times(round int) uint64 {
	if s.factor == nil {
		return 1
	}
	return uint64(s.factor[s.round-round])
}

// Round returns the number of the plan's round, 1 where it is none.
func (s *Sum) Round() int { return s.round }

// Length returns how many numbers a vector has.
func (s *Sum) Length() int { return s.route.Circuit.Length }

// Noise draws what one aggregator adds to its share of a batch, one number for each of the
// vector: once, and written down before the share leaves. It is nil where devices have
// added theirs already.
func (s *Sum) Noise(r *rand.Rand) []int64 {
	return Draw(r, s.route, s.Length())
}

// Draw draws what one aggregator of a route adds to so many numbers, or the holder of a table
// (plan.Route.Noise). It is nil where devices have added theirs already.
func Draw(r *rand.Rand, route plan.Sum, numbers int) []int64 {
	if route.Noise == plan.NoiseDevices {
		return nil
	}
	all := make([]int64, numbers)
	switch {
	case route.Law == plan.LawGaussian:
		law := noise.DiscreteGaussian{Sigma: route.Sigma}
		for i := range all {
			all[i] = int64(law.Sample(r))
		}
	case route.Noise == plan.NoiseShared:
		half := half(route.Decay)
		half.Scatter(r, len(all), func(at, size int) { all[at] += int64(size) })
		half.Scatter(r, len(all), func(at, size int) { all[at] -= int64(size) })
	default:
		law := noise.DiscreteLaplace{Decay: route.Decay}
		for i := range all {
			all[i] = int64(law.Sample(r))
		}
	}
	return all
}

// half returns one of the two numbers whose difference is half of Laplace noise: two of each
// sum to geometric numbers.
func half(decay float64) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: 0.5, P: math.Exp(-decay * (1 - 0x1p-50))}
}
