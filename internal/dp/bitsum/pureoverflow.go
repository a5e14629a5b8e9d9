package bitsum

import (
	"fmt"
	"math"
)

// OverflowProb bounds from above the probability that one device sends more than cap
// messages over all its channels, whatever its bits, by Chernoff's bound: P(M > cap) <=
// E e^(t M) e^(-t (cap+1)) for every t > 0, of which a search takes a good one. A plan
// with cap envelopes a device counts it in delta; there is then no delta of zero.
func (m Pure) OverflowProb(channels, cap int) float64 {
	m.must()
	if channels < 1 || cap < 0 {
		return 1
	}
	log := m.best(func(t float64) float64 { return m.logMoment(t, channels) - t*(float64(cap)+1) })
	return math.Min(1, math.Exp(log))
}

// SmallestCap returns a number of envelopes that OverflowProb says is exceeded with
// probability at most target, in [1e-25, 1), and but for rounding the least.
func (m Pure) SmallestCap(channels int, target float64) (int, error) {
	m.must()
	if err := checkCap(channels, target); err != nil {
		return 0, err
	}
	// For each t the bound is kept from this number of messages on.
	least := m.best(func(t float64) float64 { return (m.logMoment(t, channels) - math.Log(target)) / t })
	if !(least < 1<<53) {
		return 0, fmt.Errorf("bitsum: pure of size %d over %d channels has too many messages to count", m.Size, channels)
	}
	most := max(0, int(math.Ceil(least))-1)
	for m.OverflowProb(channels, most) > target {
		most++
	}
	return most, nil
}

// checkCap refuses what no cap is known for.
func checkCap(channels int, target float64) error {
	if !(target >= 1e-25 && target < 1) {
		return fmt.Errorf("bitsum: overflow probability %v: give a number from 1e-25 to below 1", target)
	}
	if channels < 1 {
		return fmt.Errorf("bitsum: overflow over %d channels: give at least 1", channels)
	}
	return nil
}

// logMoment bounds log E e^(t M), 0 < t < Epsilon-Theta, M being a device's number of
// messages over channels whose bits are all one. M is the sum of (2 Size + 1) K, K ~
// Binomial(channels, 1-Drop); of z1 and z2, NB(2 channels/Users, p) together, with E e^(tX) =
// ((1-p)/(1-p e^t))^shape; and of twice the flood, whose Poisson numbers have E e^(tX) =
// e^(mean (e^t - 1)). A billionth is added for rounding.
func (m Pure) logMoment(t float64, channels int) float64 {
	n, devices := float64(channels), float64(m.Users)
	a := t * float64(2*m.Size+1)
	log := n * (a + math.Log1p(m.Drop*math.Expm1(-a)))
	log += 2 * n / devices * math.Log(math.Expm1(-m.decay())/math.Expm1(t-m.decay()))
	flood := 0.0
	for j := 1; j <= m.Size; j++ {
		flood += math.Exp(m.Theta*float64(j)) * math.Expm1(2*t*float64(j)) / float64(j)
	}
	return (log + n/devices*flood) * (1 + 1e-9)
}

// best returns the least value of f over the t below Epsilon-Theta, or near it: what is
// missed makes a bound worse, not wrong. Both functions used here fall and then rise,
// perhaps to infinity.
func (m Pure) best(f func(t float64) float64) float64 {
	const golden = 0.6180339887498949
	at := func(log float64) float64 { return f(math.Exp(log)) }
	high := math.Log(m.decay()) - 1e-9
	low := high - 40
	x, y := high-golden*(high-low), low+golden*(high-low)
	fx, fy := at(x), at(y)
	least := math.Min(fx, fy)
	for range 60 {
		if fx <= fy { // where both are infinite the minimum is below
			high, y, fy = y, x, fx
			x = high - golden*(high-low)
			fx = at(x)
		} else {
			low, x, fx = x, y, fy
			y = low + golden*(high-low)
			fy = at(y)
		}
		least = math.Min(least, math.Min(fx, fy))
	}
	return least
}
