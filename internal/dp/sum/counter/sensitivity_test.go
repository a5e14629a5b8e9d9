package counter

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/sum"
)

func made(t testing.TB, d Design) *Counter {
	t.Helper()
	c, err := New(d, sum.Factor)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %.5f, want %.5f", what, got, want)
	}
}

// root returns a bound in units of the largest coefficient.
func (c *Counter) root(squared int64) float64 {
	return math.Sqrt(float64(squared)) / float64(c.factor[0])
}

// subsets calls fn for every set of at most k of the days.
func subsets(days, k int, fn func(set []int)) {
	var go_ func(from int, set []int)
	go_ = func(from int, set []int) {
		fn(set)
		if len(set) == k {
			return
		}
		for day := from; day < days; day++ {
			go_(day+1, append(set[:len(set):len(set)], day))
		}
	}
	go_(0, nil)
}

// moved returns the rows that events of one cell move.
func (c *Counter) moved(set []int) []int64 {
	x := make([]int64, c.Rounds)
	for _, day := range set {
		for row := day; row < c.Rounds; row++ {
			x[row] += c.factor[row-day]
		}
	}
	return x
}

func gap(x, y []int64) (all int64) {
	for i := range x {
		all += (x[i] - y[i]) * (x[i] - y[i])
	}
	return all
}

// Every pair of trajectories of one cell, in small periods: no bound is below the largest, and removal
// is that of the first days.
func TestEveryPairOfTrajectories(t *testing.T) {
	exact := map[[2]int]float64{{6, 3}: 3.1291, {12, 1}: 1.6066, {12, 2}: 2.7640, {12, 3}: 3.7518} // another program's
	for _, days := range []int{4, 6, 8, 10, 12} {
		for k := 1; k <= 3; k++ {
			c := made(t, Design{Rounds: days, Bits: 10, Events: k, Cells: 1})
			var all [][]int64
			largest, alone := int64(0), int64(0)
			subsets(days, k, func(set []int) { all = append(all, c.moved(set)) })
			for i, x := range all {
				alone = max(alone, squared(x))
				for _, y := range all[:i] {
					largest = max(largest, gap(x, y))
				}
			}
			if alone != c.removal() {
				t.Errorf("%d days, %d events: removal %d, the largest is %d", days, k, c.removal(), alone)
			}
			if c.Replacement() < largest {
				t.Errorf("%d days, %d events: bound %.4f below %.4f", days, k, c.root(c.Replacement()), c.root(largest))
			}
			if k == 1 && c.Replacement() != largest {
				t.Errorf("%d days: bound %d of one event is not the largest, %d", days, c.Replacement(), largest)
			}
			if want, known := exact[[2]int{days, k}]; known {
				near(t, "largest", c.root(largest), want, 1e-4)
			}
		}
	}
}

// Two cells, and reports that a malicious leader has counted in some rows alone: every pair is within
// the bound, and both attain it. So the bound of one cell is not one of several, nor of late reports.
func TestCellsAndLateReports(t *testing.T) {
	const days, k = 5, 2
	one := made(t, Design{Rounds: days, Bits: 10, Events: k, Cells: 1})
	several := made(t, Design{Rounds: days, Bits: 10, Events: k, Cells: 2})
	late := made(t, Design{Rounds: days, Bits: 10, Events: k, Cells: 1, Late: true})

	var cells, whole, delayed, partly [][]int64
	subsets(2*days, k, func(set []int) { // of days and cells
		x := make([]int64, 2*days)
		for _, at := range set {
			for row := at / 2; row < days; row++ {
				x[at%2*days+row] += one.factor[row-at/2]
			}
		}
		cells = append(cells, x)
	})
	// counted adds what the reports of a set of days move that count in some of their rows.
	counted := func(to *[][]int64, set []int, counts func(rows, first int) bool) {
		var from func(i int, x []int64)
		from = func(i int, x []int64) {
			if i == len(set) {
				*to = append(*to, x)
				return
			}
			for rows := range 1 << (days - set[i]) {
				if !counts(rows, days-set[i]) {
					continue
				}
				y := append([]int64(nil), x...)
				for row := set[i]; row < days; row++ {
					y[row] += one.factor[row-set[i]] * int64(rows>>(days-1-row)&1)
				}
				from(i+1, y)
			}
		}
		from(0, make([]int64, days))
	}
	subsets(days, k, func(set []int) {
		counted(&whole, set, func(rows, n int) bool { return rows == 1<<n-1 })
		counted(&delayed, set, func(rows, n int) bool { return rows&(rows+1) == 0 }) // from its arrival on
		counted(&partly, set, func(int, int) bool { return true })
	})
	largest := func(all [][]int64) (most int64) {
		for i, x := range all {
			for _, y := range all[:i] {
				most = max(most, gap(x, y))
			}
		}
		return most
	}
	if got := largest(cells); got != several.Replacement() {
		t.Errorf("two cells move %.4f, and the bound is %.4f", several.root(got), several.root(several.Replacement()))
	}
	near(t, "whole columns move", one.root(largest(whole)), 2.2246, 1e-4) // another program's, and the next
	near(t, "late reports move", late.root(largest(delayed)), 2.3073, 1e-4)
	got := largest(partly)
	if got > late.Replacement() || largest(delayed) > got {
		t.Errorf("reports that count in some rows move %.4f, above the bound %.4f", late.root(got), late.root(late.Replacement()))
	}
	// The twins: one cell's bound, of whole columns, for either of them.
	if one.oneCell() >= largest(cells) || one.oneCell() >= got {
		t.Errorf("the bound %.4f of one cell and whole columns covers what it does not speak of: %.4f, %.4f", one.root(one.oneCell()), one.root(largest(cells)), one.root(got))
	}
}

// Ups and downs, of which a malicious leader drops those of one sign: as two cells the bound holds. The
// twin that lets them cancel does not.
func TestTurnsWhoseSignsAreDropped(t *testing.T) {
	const days = 8
	for k := 1; k <= 3; k++ {
		c := made(t, Design{Rounds: days, Bits: 10, Events: k, Cells: 2, Turns: true})
		var all [][]int64 // the two cells' rows, and those that the leader leaves
		signed := int64(0)
		subsets(days, k, func(set []int) {
			for drop := range 1 << len(set) {
				x, cancels := make([]int64, 2*days), make([]int64, days)
				for i, day := range set {
					for row := day; row < days; row++ {
						if drop>>i&1 == 0 {
							x[i%2*days+row] += c.factor[row-day]
						}
						cancels[row] += c.factor[row-day] * int64(1-2*(i%2))
					}
				}
				signed = max(signed, squared(cancels))
				all = append(all, x)
			}
		})
		largest := int64(0)
		for i, x := range all {
			for _, y := range all[:i] {
				largest = max(largest, gap(x, y))
			}
		}
		if largest > c.Replacement() {
			t.Errorf("%d changes move %.4f, above the bound %.4f", k, c.root(largest), c.root(c.Replacement()))
		}
		if twin := 4 * signed; k == 3 && twin >= 4*c.removal() {
			t.Errorf("%d changes: cancelling signs are bounded by %d as their cells are", k, twin)
		}
	}
	for k, want := range map[int]float64{1: 2.4265, 2: 3.432, 4: 6.348, 8: 11.884} {
		c := made(t, Design{Rounds: 365, Bits: 12, Events: k, Cells: 2, Turns: true})
		near(t, "turns in a year", c.root(c.Replacement()), want, 1e-3)
	}
}

// A report that counts on the day on which it arrives breaks every bound: the leader delays all of one
// person's onto one day.
func TestReportsOfTheDayTheyArrive(t *testing.T) {
	const k = 8
	c := made(t, Design{Rounds: 365, Bits: 10, Events: k, Cells: 2})
	together := make([]int64, c.Rounds)
	for row, x := range c.factor {
		together[row] = k * x
	}
	if 2*squared(together) <= c.Replacement() {
		t.Error("reports that are delayed onto one day are within the bound")
	}
}

// The constants of longer periods, which another program has computed.
func TestSensitivities(t *testing.T) {
	for _, want := range []struct {
		days, bits, k           int
		removal, cells, oneCell float64
	}{
		{12, 10, 1, 1.3604, 1.9239, 1.6066}, {12, 10, 2, 2.4644, 3.4852, 2.8104}, {12, 10, 3, 3.4859, 4.9299, 3.9038},
		{52, 12, 1, 1.5240, 2.1552, 1.8770}, {52, 12, 8, 9.7825, 13.8349, 11.1772},
		{365, 12, 1, 1.7158, 2.4266, 2.1832}, {365, 12, 2, 3.2406, 4.5830, 4.0648}, {365, 12, 4, 6.1576, 8.7085, 7.6137},
		{365, 12, 8, 11.6930, 16.5370, 14.2269}, {365, 12, 32, 41.4748, 58.6567, 48.4025},
		{8760, 14, 1, 1.9889, 2.8128, 2.6058}, {8760, 14, 2, 3.8145, 5.3945, 4.9612},
	} {
		one := made(t, Design{Rounds: want.days, Bits: want.bits, Events: want.k, Cells: 1})
		near(t, "removal", one.root(one.removal()), want.removal, 1e-4*want.removal)
		near(t, "one cell", one.root(one.Replacement()), want.oneCell, 1e-4*want.oneCell)
		several := made(t, Design{Rounds: want.days, Bits: want.bits, Events: want.k, Cells: 5})
		near(t, "cells", several.root(several.Replacement()), want.cells, 1e-4*want.cells)
	}
}

// Rows that leave out earlier days move by at most 12 % more than those that all have them, in a year of one event: what
// docs/auditing-evidence.md says of a helper that was put back, beside a leader that lies.
func TestLateInAYear(t *testing.T) {
	design := Design{Rounds: 365, Bits: 10, Events: 1, Cells: 1}
	charged := made(t, design).Replacement()
	design.Late = true
	if ratio := math.Sqrt(float64(made(t, design).Replacement()) / float64(charged)); ratio < 1 || ratio > 1.12 {
		t.Errorf("rows move by %.4f of what is charged", ratio)
	}
}
