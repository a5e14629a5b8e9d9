package pld

import (
	"math"
	"slices"
)

// LowerFromAtoms puts a discrete law on the grid, optimistically: infinite must
// not exceed the true infinite mass, and what the caller leaves out is dropped.
//
// Merging outcomes is post-processing and hides some of the loss. From the
// largest loss down, outcomes are merged (the last one in part: a coin decides)
// until the merged ratio P/Q is exactly a grid point, the next one below the
// group's first. The remainder at the bottom is rounded down. The
// error is of the order of step times the larger of step and the atoms' distance.
func LowerFromAtoms(atoms []Atom, infinite, step float64) (*Distribution, error) {
	low, high, err := span(atoms, step)
	if err != nil {
		return nil, err
	}
	d := &Distribution{step: step, low: low, mass: make([]float64, high-low+1), infinite: infinite, lower: true}
	sorted := slices.Clone(atoms)
	slices.SortFunc(sorted, byLoss)
	// The group in hand: its grid cell, its mass p, and its excess
	// p - e^grid q, which falls to zero as smaller losses join.
	var cell, p, excess float64
	open := false
	for _, a := range sorted {
		m := a.Mass
		if open && m > 0 {
			// Each unit of the atom takes away e^(grid-l) - 1.
			take := math.Expm1(cell*step - a.Loss)
			if take*m < excess {
				p, excess = p+m, excess-take*m
				continue
			}
			share := excess / take
			d.mass[int(cell)-low] += p + share
			m, open = max(0, m-share), false
		}
		if m == 0 {
			continue
		}
		cell = math.Floor(a.Loss / step)
		p, excess, open = m, m*-math.Expm1(cell*step-a.Loss), true
		if excess <= 0 {
			d.mass[int(cell)-low] += m
			open = false
		}
	}
	if open {
		d.mass[int(cell)-low] += p
	}
	return d.checked()
}
