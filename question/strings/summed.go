package strings

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Of sums a vector goes as it is, with ones in the place of its entries. So a proof of bits, of which at most so
// many are ones, is a proof of length too. It does not say where ones are (spent).

// summed says that a plan's aggregators add vectors up.
func summed(p plan.Plan) bool { return p.Route.Sum != nil }

// Summed says that aggregators add vectors up.
func (q *Question) Summed() bool { return summed(q.plan) }

var errDevices = errors.New(`strings: sums are of strings as they are: set route.sum.noise to "aggregators" or "shared", or have answers mixed`)

// Circuit allows as many ones as the vector of a string has at most.
func (q *Question) Circuit() (plan.Circuit, error) {
	if q.plan.Route.Sum.Noise == plan.NoiseDevices {
		return plan.Circuit{}, errDevices
	}
	return plan.Circuit{Kind: plan.CircuitMultihot, Length: q.code.Numbers(), Weight: q.code.Ones()}, nil
}

// Measure returns a one for each entry of a string's vector.
func (q *Question) Measure(_ *rand.Rand, s question.Symbol, _ question.Memory) (crowd int, ones []uint64, err error) {
	v, ok := s.([]float32)
	if !ok || len(v) != q.code.Numbers() {
		return 0, nil, errors.New("strings: what is split is no vector of the plan's")
	}
	ones = make([]uint64, len(v))
	for i, x := range v {
		if x > 0 {
			ones[i] = 1
		}
	}
	return 0, ones, nil
}

// Sums returns those of the vectors, with noise.
func (q *Question) Sums(sums []int64, _ int) (tally.Tally, error) {
	return tally.SumsOf(sums, q.code.Numbers())
}

// scaled returns sums of vectors as if these were of length one.
func (q *Question) scaled(t *tally.Sums) vector.Sum {
	out := vector.Sum{Vector: make([]float64, len(t.N)), Error: q.noise()}
	length := math.Sqrt(float64(q.code.Ones()))
	for i, n := range t.N {
		out.Vector[i] = float64(n) / length
	}
	return out
}

// noise returns the deviation of a number of such sums.
func (q *Question) noise() float64 {
	return math.Sqrt(sum.Total(*q.plan.Route.Sum).Variance / float64(q.code.Ones()))
}

// changed returns how many numbers differ at most, by one each, where a string is exchanged for another.
func changed(s treecode.Shape) int { return min(2*s.Ones(), s.Numbers()) }

// lost returns the event of a string exchanged for another, where the noise of so many aggregators is not known.
func (q *Question) lost(unknown int) account.Event {
	return account.Repeat{Event: sumprivacy.Aggregators(*q.plan.Route.Sum, unknown), Rounds: changed(q.code.Shape)}
}
