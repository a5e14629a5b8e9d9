package audit

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/prob"
)

// channel is a protocol of bits that sends any number of messages.
type channel interface {
	Randomize(r *rand.Rand, bit bool, emit func(symbol uint8))
	DrawCounts(r *rand.Rand, ones, n int) [2]uint64
}

// messages returns the counts of both symbols, all other bits being zero.
func messages(m channel, users int, score func(c [2]uint64) float64) Observed {
	return Observed{Sees: "the counts of both kinds of message, all other bits being zero", Work: 30, New: func() View {
		return func(r *rand.Rand, second bool) float64 {
			c := m.DrawCounts(r, 0, users-1)
			m.Randomize(r, second, func(symbol uint8) { c[symbol]++ })
			return math.Max(-certain, math.Min(certain, score(c)))
		}
	}}
}

// certain replaces infinite log-likelihood ratios, so that scores of rounds can be added.
const certain = 1e6

// Poissons returns the number of messages of PoissonSum.
func Poissons(m bitsum.PoissonSum) Observed {
	return messages(m, m.Users, func(c [2]uint64) float64 { return math.Log(float64(c[1])) })
}

// ThreeNoises returns the counts of ThreeNB: with the bit at zero (a, b) messages have the
// probability (1-e^-Noise)^2 e^(-Noise |a-b|) H(min(a, b)), H the law of the flood and of
// the pairs that the other two noises share.
func ThreeNoises(m bitsum.ThreeNB) (Observed, error) {
	flood, err := prob.NegativeBinomialWindow(m.FloodShape, m.FloodProb, 1e-12)
	if err != nil {
		return Observed{}, err
	}
	pairs, decay := make([]float64, 2*flood.Hi()+100), math.Exp(-2*m.Noise)
	for a := range pairs {
		pairs[a] = flood.At(a)
		if a > 0 {
			pairs[a] += decay * pairs[a-1]
		}
	}
	log := func(a, b int) float64 {
		if b < 0 {
			return math.Inf(-1)
		}
		return math.Log(pairs[min(a, b, len(pairs)-1)]) - m.Noise*math.Abs(float64(a-b))
	}
	return messages(m, m.Users, func(c [2]uint64) float64 {
		a, b := int(c[0]), int(c[1])
		with, without := log(a, b-1), log(a, b)
		if math.IsInf(with, -1) && math.IsInf(without, -1) {
			return 0 // beyond the table on either side
		}
		return with - without
	}), nil
}
