package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Pure is the protocol with delta = 0 after Ghazi, Kumar and Manurangsi 2023 (KDE,
// Appendix B.1). Its flood is this project's reconstruction, with the proof and the
// condition on the parameters at bitnoise.Pure. A device with
// bit b sends, in a channel,
//
//	with probability 1-Drop, Size + b times the symbol 1 and Size times the symbol 0;
//	z1 + z3 times the symbol 1 and z2 + z3 times the symbol 0,
//	z1, z2 ~ NB(1/Users, e^-(Epsilon-Theta)),
//	z3 = sum over j = 1..Size of j Poisson(e^(Theta j)/(j Users)).
//
// The counts differ by the ones that were not dropped plus discrete Laplace noise of
// decay Epsilon-Theta; the flood and the Size copies cancel. That no message is sent
// with certainty is what keeps every pair of counts possible in either world.
//
// How many messages a device sends depends on its bit, as with ThreeNB.
//
// The numbers are those that the accountant has (Event). Users are the honest devices whose
// noise is relied upon, >= 1; Epsilon is that of one channel, of which the flood has the
// share Theta, with Epsilon-Theta in [2^-40, 100]; Drop is in [0, 1), and zero is not pure;
// Size is 1 to 2^24, Theta Size at most 20.
type Pure bitnoise.Pure

// Event returns what the accountant is told of one channel.
func (m Pure) Event() account.Event { return bitnoise.Pure(m) }

// Validate says what is wrong with the parameters as far as drawing goes. Whether they
// are Epsilon-DP is for bitnoise.Pure to say.
func (m Pure) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: pure among %d users: give at least 1", m.Users)
	}
	if !(m.decay() >= 0x1p-40 && m.decay() <= 100) {
		return fmt.Errorf("bitsum: pure with epsilon %v and theta %v: give an epsilon above theta by 2^-40 to 100", m.Epsilon, m.Theta)
	}
	if !(m.Drop >= 0 && m.Drop < 1) {
		return fmt.Errorf("bitsum: pure with drop probability %v: give a number from 0 to below 1", m.Drop)
	}
	if err := m.flood(1).Validate(); err != nil {
		return fmt.Errorf("bitsum: pure flood: %w", err)
	}
	return nil
}

func (m Pure) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

func (m Pure) decay() float64 { return m.Epsilon - m.Theta }

// The noises of the given number of devices, together.
func (m Pure) noise(devices float64) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: devices / float64(m.Users), P: math.Exp(-m.decay())}
}

func (m Pure) flood(devices float64) noise.RisingFlood {
	return noise.RisingFlood{Rate: devices / float64(m.Users), Theta: m.Theta, Size: m.Size}
}

// Randomize sends the messages of one channel. For several, RandomizeAll.
func (m Pure) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RandomizeAll(r, []bool{bit}, func(_ int, symbol uint8) { emit(symbol) })
}

// RandomizeAll sends the messages of all channels, in an order that depends on the
// data: it is for the fragments to hide. Its cost is proportional to the bits and the
// messages.
func (m Pure) RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8)) {
	m.must()
	pairs := func(channel, size int) {
		for range size {
			emit(channel, 0)
			emit(channel, 1)
		}
	}
	drop := rng.Prob(m.Drop)
	for channel, bit := range bits {
		if rng.Bernoulli(r, drop) {
			continue
		}
		pairs(channel, m.Size)
		if bit {
			emit(channel, 1)
		}
	}
	for symbol := range uint8(2) {
		m.noise(1).Scatter(r, len(bits), func(channel, size int) {
			for range size {
				emit(channel, symbol)
			}
		})
	}
	m.flood(1).Scatter(r, len(bits), pairs)
}

// DrawCounts draws the analyzer's counts of the symbols 0 and 1 from their exact law
// when ones of n devices hold a one. Each device adds the noise of a crowd of Users,
// so that n > Users add more. The flood costs about e^(Theta Size).
func (m Pure) DrawCounts(r *rand.Rand, ones, n int) [2]uint64 {
	c, kept := m.drawNet(r, ones, n)
	if n == 0 {
		return c
	}
	kept += n - ones - rng.Binomial(r, n-ones, rng.Prob(m.Drop))
	pairs := uint64(m.Size)*uint64(kept) + uint64(m.flood(float64(n)).Sample(r))
	return [2]uint64{c[0] + pairs, c[1] + pairs}
}

// drawNet also says how many of the ones were kept.
func (m Pure) drawNet(r *rand.Rand, ones, n int) (c [2]uint64, kept int) {
	m.must()
	checkOnes(ones, n)
	if n == 0 {
		return c, 0
	}
	kept = ones - rng.Binomial(r, ones, rng.Prob(m.Drop))
	noise := m.noise(float64(n))
	return [2]uint64{uint64(noise.Sample(r)), uint64(kept + noise.Sample(r))}, kept
}

// Estimate returns how many of n devices hold a one, from the counts of the symbols 0 and
// 1: their difference over 1-Drop, of variance
//
//	((n/Users) 2 e^-d/(1-e^-d)^2 + S Drop (1-Drop)) / (1-Drop)^2,  d = Epsilon-Theta,
//
// for a true number S of ones. In the standard error S is the estimate, cut to [0, n].
// That S is off by a standard error changes the variance by Drop/(1-Drop) over the
// standard error, as a share: little where there is noise at all.
func (m Pure) Estimate(c [2]uint64, n int) estimate.Value {
	m.must()
	keep := 1 - m.Drop
	v := estimate.Value{Mean: float64(int64(c[1]-c[0])) / keep} // a small difference of large counts
	if n > 0 {
		ones := math.Max(0, math.Min(float64(n), v.Mean))
		noise := noise.DiscreteLaplace{Decay: m.decay()}.Variance() * float64(n) / float64(m.Users)
		v.StdErr = math.Sqrt(noise+ones*m.Drop*keep) / keep
	}
	return v
}

// MessagesPerUser returns the mean number of messages that a device sends in a channel
// where its bit is one; where it is zero, 1-Drop less.
func (m Pure) MessagesPerUser() float64 {
	m.must()
	return 1 - m.Drop + bitnoise.Pure(m).MessagesPerUser()
}
