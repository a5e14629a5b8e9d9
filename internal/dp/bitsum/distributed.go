package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// The two below are for sums of which nothing but the total is revealed, by secure
// aggregation. Each device has an integer in each channel, a bit or a rounded number
// (Grid), and adds its share of noise to it; sums are over the integers, so a modulus
// must leave room for both the values and the noise. Sensitivity is the accountant's
// matter, in additive's types of the same names.

// DistributedLaplace shares out discrete Laplace noise: a device adds z1 - z2, each
// NB(1/Users, e^-Noise), which over Users devices sum to geometric numbers.
type DistributedLaplace struct {
	Users int     // honest devices whose noise is relied upon, >= 1
	Noise float64 // decay of the noise in the sum, in [2^-40, 100]
}

// Validate says what is wrong with the parameters.
func (m DistributedLaplace) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: distributed laplace among %d users: give at least 1", m.Users)
	}
	if !(m.Noise >= 0x1p-40 && m.Noise <= 100) {
		return fmt.Errorf("bitsum: distributed laplace noise %v: give a decay from 2^-40 to 100", m.Noise)
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

// Reach is the smallest of 1, 3, 7 ... beyond which the shares of Users devices are with at
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

// Estimate is the sum of n devices' values, from the total: the total itself, of
// variance (n/Users) 2 e^-Noise/(1 - e^-Noise)^2.
func (m DistributedLaplace) Estimate(total, n int) estimate.Value {
	m.must()
	v := estimate.Value{Mean: float64(total)}
	if n > 0 {
		v.StdErr = math.Sqrt(float64(n)/float64(m.Users)) * math.Sqrt(noise.DiscreteLaplace{Decay: m.Noise}.Variance())
	}
	return v
}

// DrawEstimate is an estimate of ones among n bits.
func (m DistributedLaplace) DrawEstimate(r *rand.Rand, ones, n int) estimate.Value {
	checkOnes(ones, n)
	return m.Estimate(m.DrawSum(r, ones, n), n)
}

// DistributedGaussian shares out Gaussian noise: a device adds a discrete Gaussian of
// its own (Kairouz, Liu and Steinke 2021; KDE, Appendix B.2). The sum is not discrete
// Gaussian, which additive's type of this name takes into account.
type DistributedGaussian struct {
	Users int     // honest devices whose noise is relied upon, >= 1
	Sigma float64 // of one device's share; see noise.DiscreteGaussian
}

// Validate says what is wrong with the parameters.
func (m DistributedGaussian) Validate() error {
	if m.Users < 1 {
		return fmt.Errorf("bitsum: distributed gaussian among %d users: give at least 1", m.Users)
	}
	if err := m.share().Validate(); err != nil {
		return fmt.Errorf("bitsum: distributed gaussian: %w", err)
	}
	return nil
}

func (m DistributedGaussian) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

func (m DistributedGaussian) share() noise.DiscreteGaussian {
	return noise.DiscreteGaussian{Sigma: m.Sigma}
}

// AddNoise adds one device's share to its value in every channel.
func (m DistributedGaussian) AddNoise(r *rand.Rand, values []int) {
	m.must()
	for channel := range values {
		values[channel] += m.share().Sample(r)
	}
}

// DrawSum draws the total of n devices' values and shares from its law when the values
// have the given sum. The shares do not depend on Users.
func (m DistributedGaussian) DrawSum(r *rand.Rand, sum, n int) int {
	m.must()
	return sum + m.share().SampleSum(r, max(0, n))
}

// Estimate is the sum of n devices' values, from the total: the total itself, of n
// times the variance of a share.
func (m DistributedGaussian) Estimate(total, n int) estimate.Value {
	m.must()
	return estimate.Value{Mean: float64(total), StdErr: math.Sqrt(float64(max(0, n)) * m.share().Variance())}
}

// DrawEstimate is an estimate of ones among n bits.
func (m DistributedGaussian) DrawEstimate(r *rand.Rand, ones, n int) estimate.Value {
	checkOnes(ones, n)
	return m.Estimate(m.DrawSum(r, ones, n), n)
}
