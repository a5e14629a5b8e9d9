package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
)

// NegativeBinomialSum is the single-noise protocol with negative binomial noise (KDE,
// Appendix B.1; Ghazi, Kumar, Manurangsi and Pagh 2020): a device with bit b sends, in a
// channel, b + z times the symbol 1, z ~ NB(Shape/Users, Prob). Only the number of
// messages is seen: the ones plus NB(Shape, Prob). At one variance it sends 1-Prob
// times the messages of PoissonSum, and its longer tail costs more privacy.
//
// The numbers are those that the accountant has (Event). Users are the honest devices whose
// noise is relied upon, >= 1; Shape is that of the noise of all Users, > 0; Prob in (0, 1).
type NegativeBinomialSum bitnoise.NegativeBinomialSum

// Event returns what the accountant is told of one channel.
func (m NegativeBinomialSum) Event() account.Event { return bitnoise.NegativeBinomialSum(m) }

// Validate says what is wrong with the parameters.
func (m NegativeBinomialSum) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: negative binomial sum among %d users: give at least 1", m.Users)
	}
	if !(m.Prob > 0 && m.Prob < 1) {
		return fmt.Errorf("bitsum: negative binomial sum with p %v: give a number in (0, 1)", m.Prob)
	}
	if err := m.noise(1).Validate(); err != nil {
		return fmt.Errorf("bitsum: negative binomial sum: %w", err)
	}
	return nil
}

func (m NegativeBinomialSum) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// noise returns that of the given number of devices, or channels of one, together.
func (m NegativeBinomialSum) noise(devices float64) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: m.Shape * (devices / float64(m.Users)), P: m.Prob}
}

// Randomize sends the messages of one channel. For several, RandomizeAll.
func (m NegativeBinomialSum) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RandomizeAll(r, []bool{bit}, func(_ int, symbol uint8) { emit(symbol) })
}

// RandomizeAll sends the messages of all channels, in an order that depends on the
// data: it is for the fragments to hide. Its cost is proportional to the bits and the
// messages.
func (m NegativeBinomialSum) RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8)) {
	m.must()
	for channel, bit := range bits {
		if bit {
			emit(channel, 1)
		}
	}
	m.noise(1).Scatter(r, len(bits), func(channel, size int) {
		for range size {
			emit(channel, 1)
		}
	})
}

// DrawCounts draws the analyzer's counts of the symbols 0, of which there are none, and
// 1 from their exact law when ones of n devices hold a one.
func (m NegativeBinomialSum) DrawCounts(r *rand.Rand, ones, n int) [2]uint64 {
	m.must()
	checkOnes(ones, n)
	if n == 0 {
		return [2]uint64{}
	}
	return [2]uint64{0, uint64(ones + m.noise(float64(n)).Sample(r))}
}

// Estimate returns how many of n devices hold a one, from the counts of the symbols 0 and
// 1: the second less the mean of the noise.
func (m NegativeBinomialSum) Estimate(c [2]uint64, n int) estimate.Value {
	m.must()
	d := m.noise(float64(n))
	return estimate.Value{Mean: float64(c[1]) - d.Mean(), StdErr: math.Sqrt(d.Variance())}
}

// MessagesPerUser returns the mean number of messages that a device sends in a channel
// where its bit is one; where it is zero, one less.
func (m NegativeBinomialSum) MessagesPerUser() float64 {
	m.must()
	return 1 + bitnoise.NegativeBinomialSum(m).MessagesPerUser()
}

// OverflowProb bounds from above the probability that one device sends more than cap
// messages over all its channels, whatever its bits: all one at worst. It exceeds the
// truth by a billionth of itself.
func (m NegativeBinomialSum) OverflowProb(channels, cap int) float64 {
	m.must()
	return singleOverflow(channels, cap, func(k int) float64 {
		return prob.LogNegativeBinomialSurvival(k, m.noise(float64(channels)).R, m.Prob)
	})
}

// SmallestCap returns the least number of envelopes that OverflowProb says is exceeded with
// probability at most target, in [1e-25, 1).
func (m NegativeBinomialSum) SmallestCap(channels int, target float64) (int, error) {
	m.must()
	return singleCap(channels, target, m.OverflowProb)
}
