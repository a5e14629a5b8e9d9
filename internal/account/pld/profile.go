package pld

import (
	"fmt"
	"math"
	"slices"
)

// Profile returns the exact profile of a discrete law at epsilon = 0, step, 2 step,
// ..., up to where it falls to its infinite mass plus neglect. Two of them, or
// the larger of two point by point (Larger), are what FromCurves takes.
func Profile(atoms []Atom, infinite, step, neglect float64) ([]float64, error) {
	if _, _, err := span(atoms, step); err != nil {
		return nil, err
	}
	if !(infinite >= 0 && infinite <= 1) || !(neglect >= 0) {
		return nil, fmt.Errorf("pld: infinite mass %v, neglect %v", infinite, neglect)
	}
	var sorted []Atom
	for _, a := range atoms {
		if a.Mass > 0 && a.Loss > 0 {
			sorted = append(sorted, a)
		}
	}
	slices.SortFunc(sorted, byLoss)
	// From the largest loss down: up and down are the masses under P and Q of
	// the atoms so far, and delta there is infinite + up - e^epsilon down.
	var h []float64
	up, down := 0.0, 0.0
	next := 0
	highest := 0
	if len(sorted) > 0 {
		highest = int(math.Ceil(sorted[0].Loss / step))
	}
	for i := highest; i >= 0; i-- {
		epsilon := float64(i) * step
		for next < len(sorted) && sorted[next].Loss > epsilon {
			up += sorted[next].Mass
			down += sorted[next].Mass * math.Exp(-sorted[next].Loss)
			next++
		}
		delta := math.Max(0, up-math.Exp(epsilon)*down)
		if delta <= neglect {
			h = append(h[:0], infinite+neglect)
			if next == 0 {
				h[0] = infinite
			}
			continue
		}
		h = append(h, math.Min(1, infinite+delta))
	}
	slices.Reverse(h)
	for i := len(h) - 2; i >= 0; i-- {
		h[i] = math.Max(h[i], h[i+1]) // rounding
	}
	return h, nil
}

// Larger returns the pointwise maximum of two profiles: what bounds a mechanism
// whose neighbours may change roles from round to round.
func Larger(a, b []float64) []float64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	c := slices.Clone(a)
	for i := range c {
		// A profile stays at its last value.
		c[i] = math.Max(c[i], b[min(i, len(b)-1)])
	}
	return c
}

// byLoss sorts the largest loss first.
func byLoss(a, b Atom) int {
	switch {
	case a.Loss > b.Loss:
		return -1
	case a.Loss < b.Loss:
		return 1
	}
	return 0
}
