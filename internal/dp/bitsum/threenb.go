package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// ThreeNB is the protocol of three negative binomial noises (KDE, Appendix A.2; Ghazi,
// Kumar, Manurangsi and Pagh 2020). A device with bit b sends, in a channel,
//
//	b + z1 + z3 times the symbol 1, and z2 + z3 times the symbol 0,
//	z1, z2 ~ NB(1/Users, e^-Noise), z3 ~ NB(FloodShape/Users, FloodProb).
//
// Over Users devices z1 and z2 sum to geometric numbers, so the counts differ by
// the number of ones plus discrete Laplace noise of decay Noise; z3, the flood,
// hides each count by itself and cancels in the difference.
//
// How many messages a device sends depends on its bit: it must be filled up to a
// constant number before anybody sees it (OverflowProb).
//
// The numbers are those that the accountant has (Event). Users are the honest devices whose
// noise is relied upon, >= 1; Noise is the decay of the noise in the estimate, in [2^-40,
// 100]; FloodShape the shape of the flood over all Users, > 0; FloodProb its p, in [0, 1).
type ThreeNB bitnoise.ThreeNB

// Event returns what the accountant is told of one channel.
func (m ThreeNB) Event() account.Event { return bitnoise.ThreeNB(m) }

// Validate says what is wrong with the parameters.
func (m ThreeNB) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: 3nb among %d users: give at least 1", m.Users)
	}
	if !(m.Noise >= 0x1p-40 && m.Noise <= 100) {
		return fmt.Errorf("bitsum: 3nb noise %v: give a decay from 2^-40 to 100", m.Noise)
	}
	if err := m.flood(1).Validate(); err != nil {
		return fmt.Errorf("bitsum: 3nb flood: %w", err)
	}
	return nil
}

func (m ThreeNB) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// The noises of the given number of devices, together. Dividing by Users and
// exponentiating round the shape and the decay by at most 2^-52, of no consequence.
func (m ThreeNB) noise(devices float64) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: devices / float64(m.Users), P: math.Exp(-m.Noise)}
}

func (m ThreeNB) flood(devices float64) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: devices * m.FloodShape / float64(m.Users), P: m.FloodProb}
}

// Randomize sends the messages of one channel. For several, RandomizeAll.
func (m ThreeNB) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RandomizeAll(r, []bool{bit}, func(_ int, symbol uint8) { emit(symbol) })
}

// RandomizeAll sends the messages of all channels, in an order that depends on the
// data: it is for the fragments to hide. Its cost is proportional to the bits and
// the messages, not to the noises that are zero.
func (m ThreeNB) RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8)) {
	m.must()
	for channel, bit := range bits {
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
	m.flood(1).Scatter(r, len(bits), func(channel, size int) {
		for range size {
			emit(channel, 0)
			emit(channel, 1)
		}
	})
}

// DrawCounts draws the analyzer's counts of the symbols 0 and 1 from their exact law
// when ones of n devices hold a one. Each device adds the noise of a crowd of Users,
// so that n > Users add more.
func (m ThreeNB) DrawCounts(r *rand.Rand, ones, n int) [2]uint64 {
	m.must()
	checkOnes(ones, n)
	if n == 0 {
		return [2]uint64{}
	}
	noise, flood := m.noise(float64(n)), m.flood(float64(n)).Sample(r)
	return [2]uint64{uint64(noise.Sample(r) + flood), uint64(ones + noise.Sample(r) + flood)}
}

// Estimate returns how many of n devices hold a one, from the counts of the symbols 0 and
// 1: their difference, of variance (n/Users) 2 e^-Noise / (1 - e^-Noise)^2.
func (m ThreeNB) Estimate(c [2]uint64, n int) estimate.Value {
	m.must()
	v := estimate.Value{Mean: float64(int64(c[1] - c[0]))} // a small difference of large counts
	if n > 0 {
		v.StdErr = math.Sqrt(float64(n)/float64(m.Users)) * bitnoise.ThreeNB(m).RMSE()
	}
	return v
}

// MessagesPerUser returns the mean number of messages that a device sends in a channel
// where its bit is one; where it is zero, one less.
func (m ThreeNB) MessagesPerUser() float64 {
	m.must()
	return 1 + bitnoise.ThreeNB(m).MessagesPerUser()
}
