package bitsum

import (
	"fmt"
	"math"
	"sort"

	"github.com/confetti-dp/confetti/internal/prob"
)

// OverflowProb bounds from above the probability that one device sends more than
// cap messages over all its channels, whatever its bits. A plan with cap envelopes a
// device counts it in delta. The bound exceeds the truth by less than 1e-28 and a
// billionth of itself; where the laws are too wide to tabulate it is 1.
func (m ThreeNB) OverflowProb(channels, cap int) float64 {
	o, err := m.overflow(channels)
	if err != nil {
		return 1
	}
	return o.beyond(cap)
}

// SmallestCap returns the least number of envelopes that OverflowProb says is exceeded with
// probability at most target, in [1e-25, 1).
func (m ThreeNB) SmallestCap(channels int, target float64) (int, error) {
	if !(target >= 1e-25 && target < 1) {
		return 0, fmt.Errorf("bitsum: overflow probability %v: give a number from 1e-25 to below 1", target)
	}
	o, err := m.overflow(channels)
	if err != nil {
		return 0, err
	}
	most := o.noise.Hi() + 2*o.flood.Hi() // beyond it only what the tables leave out
	return channels + sort.Search(most, func(extra int) bool { return o.beyond(channels+extra) <= target }), nil
}

// overflow is the law of a device's number of messages over channels: its bits, all
// one at worst, and A + 2B with A ~ NB(2 channels/Users, e^-Noise) for z1 and z2 and
// B ~ NB(channels FloodShape/Users, FloodProb) for z3.
type overflow struct {
	channels     int
	noise, flood prob.Window
	above        []float64 // above[i] bounds P(A > noise.Lo + i - 1), i <= len(noise.P)
}

// outside is the mass that a table may leave out on each side.
const outside = 1e-30

func (m ThreeNB) overflow(channels int) (overflow, error) {
	m.must()
	if channels < 1 {
		return overflow{}, fmt.Errorf("bitsum: overflow over %d channels: give at least 1", channels)
	}
	o := overflow{channels: channels}
	a, b := m.noise(2*float64(channels)), m.flood(float64(channels))
	// A table takes about -ln(outside) / (1-p) numbers.
	const widest = 1 - 1e-5
	if a.P > widest || b.P > widest {
		return o, fmt.Errorf("bitsum: 3nb with p above %v has too many messages to count", widest)
	}
	var err error
	if o.noise, err = prob.NegativeBinomialWindow(a.R, a.P, outside); err != nil {
		return o, fmt.Errorf("bitsum: 3nb noise: %w", err)
	}
	if o.flood, err = prob.NegativeBinomialWindow(b.R, b.P, outside); err != nil {
		return o, fmt.Errorf("bitsum: 3nb flood: %w", err)
	}
	o.above = make([]float64, len(o.noise.P)+1)
	o.above[len(o.noise.P)] = o.noise.Above
	for i := len(o.noise.P) - 1; i >= 0; i-- {
		o.above[i] = o.above[i+1] + o.noise.P[i]
	}
	return o, nil
}

// beyond bounds P(channels + A + 2B > cap): the sum over B of P(A > cap - channels - 2B),
// with what the tables leave out of B counted as beyond. A billionth is added for the
// errors of the tables (1e-12) and of the sums.
func (o overflow) beyond(cap int) float64 {
	sum := o.flood.Below + o.flood.Above
	for i, p := range o.flood.P {
		sum += p * o.noiseAbove(cap-o.channels-2*(o.flood.Lo+i))
	}
	return math.Min(1, sum*(1+1e-9))
}

// noiseAbove bounds P(A > x).
func (o overflow) noiseAbove(x int) float64 {
	i := x - o.noise.Lo + 1
	if i < 0 || x < 0 {
		return 1
	}
	return o.above[min(i, len(o.noise.P))]
}
