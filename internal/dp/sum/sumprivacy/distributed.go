package sumprivacy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// DistributedLaplace shares out discrete Laplace noise: a device adds z1 - z2, each
// NB(1/Users, e^-Noise), which over Users devices sum to geometric numbers.
//
// It is for sums of which nothing but the total is revealed, by secure aggregation. Each
// device has an integer in each channel, and adds its share of noise to it; sums are over
// the integers, so a modulus must leave room for both the values and the noise. Sensitivity
// is the accountant's matter, in additive's type of the same name.
type DistributedLaplace struct {
	Users int     // honest devices whose noise is relied upon, >= 1
	Noise float64 // decay of the noise in the sum, in [2^-40, 100]
}

// Validate says what is wrong with the parameters.
func (m DistributedLaplace) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("sumprivacy: distributed laplace among %d users: give at least 1", m.Users)
	}
	if !(m.Noise >= 0x1p-40 && m.Noise <= 100) {
		return fmt.Errorf("sumprivacy: distributed laplace noise %v: give a decay from 2^-40 to 100", m.Noise)
	}
	return nil
}

func (m DistributedLaplace) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// noise is either half of that of the given number of devices; what is rounded adds to it.
func (m DistributedLaplace) noise(devices int) noise.NegativeBinomial {
	return noise.NegativeBinomial{R: float64(devices) / float64(m.Users) * (1 + 0x1p-48), P: math.Exp(-m.Noise * (1 - 0x1p-50))}
}

// AddNoise adds one device's share to its value in every channel. Most shares are zero,
// and cost nothing.
func (m DistributedLaplace) AddNoise(r *rand.Rand, values []int) {
	m.must()
	m.noise(1).Scatter(r, len(values), func(channel, size int) { values[channel] += size })
	m.noise(1).Scatter(r, len(values), func(channel, size int) { values[channel] -= size })
}

// Beyond bounds the probability that a device's share in one channel is more than reach from
// zero: that either half is, of whose values each is at most e^-Noise times as likely as the
// one before.
func (m DistributedLaplace) Beyond(reach int) float64 {
	m.must()
	return min(1, 2*math.Exp(m.noise(1).LogProb(reach+1))/-math.Expm1(-m.Noise*(1-0x1p-50)))
}

// Reach returns the smallest of 1, 3, 7 ... beyond which the shares of Users devices are with at
// most that probability, in one channel: a share within it, raised by it, and a bit beside
// fill the bits of a number. It is at most 2^15 - 1.
func (m DistributedLaplace) Reach(rare float64) int {
	reach := 1
	for reach < 1<<15-1 && !(float64(m.Users)*m.Beyond(reach) <= rare) {
		reach = 2*reach + 1
	}
	return reach
}

// DrawSum draws the total of n devices' values and shares from its exact law when the
// values have the given sum. Each device adds its share for a crowd of Users, so that
// n > Users add more.
func (m DistributedLaplace) DrawSum(r *rand.Rand, sum, n int) int {
	m.must()
	if n <= 0 {
		return sum
	}
	d := m.noise(n)
	return sum + d.Sample(r) - d.Sample(r)
}
