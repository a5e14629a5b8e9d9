package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
)

// RR is binary randomized response: a device sends its bit, flipped with
// probability Flip (KDE, section 2.3; Cheu et al. 2019, Algorithm 1, with
// Flip = lambda/2n). One message a channel, always.
//
// With the flip of a local epsilon, 1/(e^epsilon + 1), it is also the baseline that
// trusts no shuffler.
type RR struct {
	Flip float64 // in [0, 1/2); zero protects nothing
}

// Validate says what is wrong with the parameter.
func (m RR) Validate() error {
	if !(m.Flip >= 0 && m.Flip < 0.5) {
		return fmt.Errorf("bitsum: flip probability %v: give a number from 0 to below 1/2", m.Flip)
	}
	return nil
}

func (m RR) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// Prob returns the probability that a device with the given bit sends symbol.
func (m RR) Prob(symbol uint8, bit bool) float64 {
	m.must()
	switch {
	case symbol > 1:
		return 0
	case (symbol == 1) == bit:
		return 1 - m.Flip
	}
	return m.Flip
}

// Randomize sends one symbol: the bit, or its opposite. Flips of probability 2^-75
// and above have exactly the float64 that Flip is.
func (m RR) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RandomizeAll(r, []bool{bit}, func(_ int, symbol uint8) { emit(symbol) })
}

// RandomizeAll sends one symbol in each channel, in order of channels.
func (m RR) RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8)) {
	m.must()
	flip := rng.Prob(m.Flip)
	for channel, bit := range bits {
		symbol := uint8(0)
		if bit != rng.Bernoulli(r, flip) {
			symbol = 1
		}
		emit(channel, symbol)
	}
}

// DrawCounts draws the analyzer's counts of the symbols 0 and 1 from their exact law
// when ones of n devices hold a one: Binomial(ones, 1-Flip) + Binomial(n-ones, Flip)
// ones arrive.
func (m RR) DrawCounts(r *rand.Rand, ones, n int) [2]uint64 {
	m.must()
	checkOnes(ones, n)
	flip := rng.Prob(m.Flip)
	sent := ones - rng.Binomial(r, ones, flip) + rng.Binomial(r, n-ones, flip)
	return [2]uint64{uint64(n - sent), uint64(sent)}
}

// Estimate returns how many of n devices hold a one, from the counts of the symbols 0 and
// 1: (c[1] - n Flip)/(1 - 2 Flip), of standard error sqrt(n Flip (1-Flip))/(1 - 2 Flip)
// whatever the data. (KDE, Algorithm 2, as printed adds up the raw messages, which is
// biased.)
func (m RR) Estimate(c [2]uint64, n int) estimate.Value {
	m.must()
	scale := 1 / (1 - 2*m.Flip)
	return estimate.Value{
		Mean:   (float64(c[1]) - float64(n)*m.Flip) * scale,
		StdErr: math.Sqrt(float64(n)*m.Flip*(1-m.Flip)) * scale,
	}
}

// Event returns what the accountant is told of one channel, with the noise of so many users.
func (m RR) Event(users int) account.Event {
	return shuffle.RandomizedResponse{Users: users, Flip: m.Flip}
}

// Local returns the guarantee of one channel by itself: ln((1-Flip)/Flip), exactly.
func (m RR) Local() account.Guarantee {
	m.must()
	return account.Guarantee{
		Epsilon: math.Log1p(-m.Flip) - math.Log(m.Flip), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Exact,
		Method: "randomized response", Source: "Warner 1965",
	}
}

// MessagesPerUser returns the mean number of messages that a device sends in a channel.
func (m RR) MessagesPerUser() float64 { return 1 }
