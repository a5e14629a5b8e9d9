// Package pld composes privacy loss distributions: laws of the loss ln(P/Q) of an observation from P, on a grid on
// which independent rounds add up by FFT. Used by account and internal/account.
//
// A Distribution built by FromAtoms or FromCurves is pessimistic: its profile is never below the true one, by
// connecting the dots of the true profile (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). One built by
// LowerFromAtoms bounds it from below. Composition keeps the side: every numerical slack is charged to it.
package pld

import (
	"errors"
	"fmt"
	"math"
)

// Distribution is a privacy loss distribution on the grid of multiples of a
// step. It is immutable.
type Distribution struct {
	step     float64
	low      int       // mass[i] is the probability, under P, of loss (low+i)*step
	mass     []float64 // finite losses
	log      []float64 // ln mass
	infinite float64   // probability, under P, of what is impossible under Q
	lower    bool      // optimistic: profile never above the true one
}

// Atom is the probability under P of one value of the loss.
type Atom struct{ Loss, Mass float64 }

// maxSupport bounds the grid of one round: 32 MB.
const maxSupport = 1 << 22

// FromAtoms puts a discrete law on the grid, pessimistically. Atoms come in any
// order; infinite is the mass at loss infinity, to which the caller also adds
// the mass of whatever it left out.
//
// An atom at g <= l < g+step is split between g and g+step so that its mass
// under P and under Q are both kept: P-mass m u goes up and m (1-u) down, where
// e^-l = u e^-(g+step) + (1-u) e^-g. The split is a mean-preserving spread of
// Q/P, and every hockey stick is convex in it, so no delta falls.
func FromAtoms(atoms []Atom, infinite, step float64) (*Distribution, error) {
	low, high, err := span(atoms, step)
	if err != nil {
		return nil, err
	}
	d := &Distribution{step: step, low: low, mass: make([]float64, high-low+2), infinite: infinite}
	whole := -math.Expm1(-step)
	for _, a := range atoms {
		if a.Mass == 0 {
			continue
		}
		cell := math.Floor(a.Loss / step)
		up := min(1, max(0, -math.Expm1(-(a.Loss-cell*step))/whole))
		i := int(cell) - low
		d.mass[i] += a.Mass * (1 - up)
		d.mass[i+1] += a.Mass * up
	}
	return d.checked()
}

// span returns the range of grid cells that hold the atoms.
func span(atoms []Atom, step float64) (low, high int, err error) {
	if !(step > 0) || math.IsInf(step, 1) {
		return 0, 0, fmt.Errorf("pld: step %v: need a positive number", step)
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, a := range atoms {
		if !(a.Mass >= 0 && a.Mass <= 1+massTolerance) {
			return 0, 0, fmt.Errorf("pld: an atom of probability %v", a.Mass)
		}
		if a.Mass == 0 {
			continue
		}
		if math.IsNaN(a.Loss) || math.IsInf(a.Loss, 0) {
			return 0, 0, fmt.Errorf("pld: an atom of loss %v: give it as infinite mass", a.Loss)
		}
		least, most = min(least, a.Loss), max(most, a.Loss)
	}
	if least > most {
		least, most = 0, 0 // everything is at infinity
	}
	if (most-least)/step > maxSupport || math.Max(-least, most)/step > math.MaxInt32 {
		return 0, 0, fmt.Errorf("pld: losses from %v to %v do not fit a grid of step %v", least, most, step)
	}
	return int(math.Floor(least / step)), int(math.Floor(most / step)), nil
}

// FromCurves puts a pair of worlds on the grid, pessimistically, given upper
// bounds on its two profiles at epsilon = 0, step, 2 step, ...: forward[i] is
// the hockey stick H(P||Q), backward[i] is H(Q||P), with the same value at 0.
// Beyond the last point a profile is taken to stay at its last value, which
// becomes infinite mass. For the envelope of a family and its mirror image give
// the same curve twice: the result dominates every member, in both directions.
//
// As a function of x = e^epsilon a profile is convex, so the lower convex hull
// of upper bounds on its values is still an upper bound; the hull's change of
// slope at x is the mass of that loss under Q, and x times it the mass under P.
// The losses below zero are those of the mirrored pair: H(P||Q)(1/x) = 1 - 1/x
// + H(Q||P)(x)/x. What is left of the unit mass sits at zero.
func FromCurves(forward, backward []float64, step float64) (*Distribution, error) {
	if len(forward) == 0 || len(backward) == 0 || len(forward)+len(backward) > maxSupport {
		return nil, fmt.Errorf("pld: profiles of %d and %d points", len(forward), len(backward))
	}
	if !(step > 0) || math.IsInf(step, 1) {
		return nil, fmt.Errorf("pld: step %v: need a positive number", step)
	}
	if start := max(forward[0], backward[0]); forward[0] != start || backward[0] != start {
		return nil, errors.New("pld: the two profiles must agree at zero, where both are the total variation")
	}
	up, slope, err := hull(forward, step)
	if err != nil {
		return nil, err
	}
	down, mirrored, err := hull(backward, step)
	if err != nil {
		return nil, err
	}
	last := len(backward) - 1
	// With q the changes of slope, sum x q = h(0) - slope - h(last) and sum q = -slope.
	zero := 1 + slope + mirrored - forward[0]
	if zero < 0 && zero > -envelopeTolerance {
		// Slack in the bounds, or an envelope that takes its start from one pair of
		// worlds and its slope from another, made the curve too steep at one. The larger of it and of the line that is just flat enough is
		// still convex, and no lower.
		forward = above(forward, slope-zero, step)
		if up, slope, err = hull(forward, step); err != nil {
			return nil, err
		}
		zero = max(0, 1+slope+mirrored-forward[0])
	}
	if zero < 0 {
		return nil, fmt.Errorf("pld: mass %v left at zero: the profiles are not those of one pair, or the step is too fine for their precision", zero)
	}
	d := &Distribution{step: step, low: -last, mass: make([]float64, last+len(forward)), infinite: forward[len(forward)-1]}
	for i := 1; i < len(forward); i++ {
		d.mass[last+i] = math.Exp(float64(i)*step) * up[i]
	}
	for i := 1; i < len(backward); i++ {
		d.mass[last-i] = down[i]
	}
	d.mass[last] = zero
	return d.checked()
}

// above returns the larger of h and of the line through its start with a slope.
func above(h []float64, slope, step float64) []float64 {
	raised := make([]float64, len(h))
	for i := range h {
		raised[i] = max(h[i], min(h[0], h[0]+slope*math.Expm1(float64(i)*step)))
	}
	return raised
}

// hull returns the changes of slope in x = e^epsilon of the lower convex hull
// of the points (e^(i step), h[i]), continued at h's last value, and the slope
// of its first edge.
func hull(h []float64, step float64) (change []float64, first float64, err error) {
	slope := func(a, b int) float64 {
		return (h[b] - h[a]) * math.Exp(-float64(a)*step) / math.Expm1(float64(b-a)*step)
	}
	vertex := []int{0}
	slopes := []float64{} // of the edge that ends at vertex[i+1]
	for i := range h {
		if !(h[i] >= 0 && h[i] <= 1) || i > 0 && h[i] > h[i-1] {
			return nil, 0, fmt.Errorf("pld: a profile must fall from at most 1 to at least 0, not to %v", h[i])
		}
		if i == 0 {
			continue
		}
		s := slope(vertex[len(vertex)-1], i)
		for len(slopes) > 0 && s <= slopes[len(slopes)-1] {
			vertex, slopes = vertex[:len(vertex)-1], slopes[:len(slopes)-1]
			s = slope(vertex[len(vertex)-1], i)
		}
		vertex, slopes = append(vertex, i), append(slopes, s)
	}
	change = make([]float64, len(h))
	if len(slopes) == 0 {
		return change, 0, nil
	}
	for i, v := range vertex[1:] {
		next := 0.0
		if i+1 < len(slopes) {
			next = slopes[i+1]
		}
		change[v] = next - slopes[i]
	}
	return change, slopes[0], nil
}

// Support returns how many losses of the grid the distribution spans.
func (d *Distribution) Support() int { return len(d.mass) }

// Sum returns the loss of two independent observations. Both distributions have one step and
// one side.
func Sum(a, b *Distribution) (*Distribution, error) {
	if a.step != b.step || a.lower != b.lower {
		return nil, errors.New("pld: cannot add up distributions of different steps or sides")
	}
	sum := &Distribution{step: a.step, low: a.low + b.low, lower: a.lower, infinite: a.infinite + b.infinite - a.infinite*b.infinite}
	if len(a.mass) > 0 && len(b.mass) > 0 {
		sum.mass = make([]float64, len(a.mass)+len(b.mass)-1)
	}
	// A law may have a few values far from the rest of it, and none between.
	var some []int
	for j, y := range b.mass {
		if y > 0 {
			some = append(some, j)
		}
	}
	for i, x := range a.mass {
		if x == 0 {
			continue
		}
		for _, j := range some {
			sum.mass[i+j] += x * b.mass[j]
		}
	}
	return sum.checked()
}

// Sums of probabilities may be off by rounding. Beyond roundingTolerance what
// is missing is charged as infinite mass; beyond massTolerance it is a mistake.
const (
	roundingTolerance = 1e-12
	massTolerance     = 1e-6
)

// envelopeTolerance is by how much the slope of an envelope may exceed what a pair
// of worlds can have, before it is taken for a mistake. Where few atoms lie near a
// loss of zero, whose largest may hold some percent, this happens.
const envelopeTolerance = 0.05

func (d *Distribution) checked() (*Distribution, error) {
	if !(d.infinite >= 0 && d.infinite <= 1+massTolerance) {
		return nil, fmt.Errorf("pld: infinite mass %v", d.infinite)
	}
	missing := 1 - d.infinite
	for _, m := range d.mass {
		missing -= m
	}
	if !(math.Abs(missing) <= massTolerance) {
		return nil, fmt.Errorf("pld: probabilities sum to %v", 1-missing)
	}
	if missing > roundingTolerance && !d.lower {
		d.infinite += missing
	}
	d.infinite = min(1, d.infinite)
	first, last := 0, len(d.mass)
	for first < last && d.mass[first] == 0 {
		first++
	}
	for first < last && d.mass[last-1] == 0 {
		last--
	}
	d.low, d.mass = d.low+first, d.mass[first:last]
	d.log = make([]float64, len(d.mass))
	for i, m := range d.mass {
		d.log[i] = math.Log(m)
	}
	return d, nil
}
