// Package sum holds what the parties of a sum by two aggregators agree on: from a plan's route, its vectors, their
// split and proof, and each aggregator's noise. Used by protocol, internal/dap/task and question/histogram.
package sum

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/plan"
)

// Sum is a route of sums made runnable. It is immutable and safe for concurrent use.
type Sum struct {
	route   plan.Sum
	circuit prio3.Circuit
}

// New makes the route of a valid plan runnable. It is an error if the plan's answers are
// mixed.
func New(p plan.Plan) (*Sum, error) {
	if p.Route.Sum == nil {
		return nil, errors.New("sum: the plan's answers are mixed: no aggregator takes them")
	}
	s := &Sum{route: *p.Route.Sum}
	switch c := s.route.Circuit; c.Kind {
	case plan.CircuitHistogram:
		s.circuit = prio3.Histogram{Length: c.Length}
	case plan.CircuitMultihot:
		s.circuit = prio3.Multihot{Length: c.Length, Weight: c.Weight}
	case plan.CircuitSumVec:
		s.circuit = prio3.SumVec{Length: c.Length, Max: uint64(c.Max)}
	default:
		return nil, fmt.Errorf("sum: no code for a circuit of kind %s", plan.Quoted(c.Kind))
	}
	_, err := s.VDAF(nil)
	return s, err
}

// VDAF splits and verifies vectors in one context, at all three roles.
func (s *Sum) VDAF(context []byte) (*prio3.VDAF, error) {
	return prio3.New(s.circuit, s.route.Chunk, context)
}

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
