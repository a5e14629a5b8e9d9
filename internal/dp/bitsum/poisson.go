package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
)

// PoissonSum is the single-noise protocol with Poisson noise (KDE, Appendix B.1; Ghazi,
// Kumar, Manurangsi and Pagh 2020, Section 4): a device with bit b sends, in a channel,
// b + z times the symbol 1, z ~ Poisson(Mean/Users). Messages are all alike, so that
// only their number is seen: the ones plus Poisson(Mean).
//
// The numbers are those that the accountant has (Event). Users are the honest devices whose
// noise is relied upon, >= 1; Mean is that of the noise of all Users, in (0, 2^30].
type PoissonSum bitnoise.PoissonSum

// Event returns what the accountant is told of one channel.
func (m PoissonSum) Event() account.Event { return bitnoise.PoissonSum(m) }

// Validate says what is wrong with the parameters.
func (m PoissonSum) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: poisson sum among %d users: give at least 1", m.Users)
	}
	if !(m.Mean > 0 && m.Mean <= 1<<30) {
		return fmt.Errorf("bitsum: poisson sum with noise of mean %v: give a number above 0, up to 2^30", m.Mean)
	}
	return nil
}

func (m PoissonSum) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// noise returns that of the given number of devices, or channels of one, together.
func (m PoissonSum) noise(devices float64) noise.Poisson {
	return noise.Poisson{Mean: m.Mean * (devices / float64(m.Users))}
}

// Randomize sends the messages of one channel. For several, RandomizeAll.
func (m PoissonSum) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RandomizeAll(r, []bool{bit}, func(_ int, symbol uint8) { emit(symbol) })
}

// RandomizeAll sends the messages of all channels, in an order that depends on the
// data: it is for the fragments to hide. The noise of all channels together is Poisson,
// and each of its messages falls into any channel alike.
func (m PoissonSum) RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8)) {
	m.must()
	for channel, bit := range bits {
		if bit {
			emit(channel, 1)
		}
	}
	for range m.noise(float64(len(bits))).Sample(r) {
		emit(r.IntN(len(bits)), 1)
	}
}

// DrawCounts draws the analyzer's counts of the symbols 0, of which there are none, and
// 1 from their exact law when ones of n devices hold a one.
func (m PoissonSum) DrawCounts(r *rand.Rand, ones, n int) [2]uint64 {
	m.must()
	checkOnes(ones, n)
	return [2]uint64{0, uint64(ones + m.noise(float64(n)).Sample(r))}
}

// Estimate returns how many of n devices hold a one, from the counts of the symbols 0 and
// 1: the second less the mean of the noise, Mean n/Users, which is its variance too.
func (m PoissonSum) Estimate(c [2]uint64, n int) estimate.Value {
	m.must()
	mean := m.noise(float64(n)).Mean
	return estimate.Value{Mean: float64(c[1]) - mean, StdErr: math.Sqrt(mean)}
}

// MessagesPerUser returns the mean number of messages that a device sends in a channel
// where its bit is one; where it is zero, one less.
func (m PoissonSum) MessagesPerUser() float64 {
	m.must()
	return 1 + bitnoise.PoissonSum(m).MessagesPerUser()
}

// OverflowProb bounds from above the probability that one device sends more than cap
// messages over all its channels, whatever its bits: all one at worst. It exceeds the
// truth by a billionth of itself.
func (m PoissonSum) OverflowProb(channels, cap int) float64 {
	m.must()
	return singleOverflow(channels, cap, func(k int) float64 {
		return prob.LogPoissonSurvival(k, m.noise(float64(channels)).Mean)
	})
}

// SmallestCap returns the least number of envelopes that OverflowProb says is exceeded with
// probability at most target, in [1e-25, 1).
func (m PoissonSum) SmallestCap(channels int, target float64) (int, error) {
	m.must()
	return singleCap(channels, target, m.OverflowProb)
}

// singleOverflow bounds P(channels + X > cap), given log P(X > k).
func singleOverflow(channels, cap int, logSurvival func(k int) float64) float64 {
	if cap < channels {
		return 1
	}
	return math.Min(1, math.Exp(logSurvival(cap-channels))*(1+1e-9))
}

// singleCap returns the least cap that overflow keeps below target.
func singleCap(channels int, target float64, overflow func(channels, cap int) float64) (int, error) {
	if err := checkCap(channels, target); err != nil {
		return 0, err
	}
	most := 1
	for overflow(channels, channels+most) > target {
		if most >= 1<<50 {
			return 0, fmt.Errorf("bitsum: more than %d messages over %d channels: too many to count", most, channels)
		}
		most *= 2
	}
	return channels + sort.Search(most, func(extra int) bool { return overflow(channels, channels+extra) <= target }), nil
}
