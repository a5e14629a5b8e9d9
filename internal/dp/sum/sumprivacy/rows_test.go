package sumprivacy

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/sum/counter"
	"github.com/confetti-dp/confetti/plan"
)

// What the running total errs by on the last day of a year, with one noise, at epsilon 1 and delta 1e-6, within 3 % of
// what another program has computed. Of ups and downs it is of those who are on, the difference of two cells. The other
// column is the noise of both aggregators. -v prints the table of docs/counters.md.
func TestErrorsOfAYear(t *testing.T) {
	afresh := 80.7 // of a state that is asked every day, however often it changes
	for _, c := range []struct {
		what   string
		events int
		design counter.Design
		want   float64
	}{
		{"one cell", 1, counter.Design{Cells: 1}, 15.8}, {"one cell", 2, counter.Design{Cells: 1}, 29.5}, {"one cell", 4, counter.Design{Cells: 1}, 55.2}, {"one cell", 8, counter.Design{Cells: 1}, 103},
		{"three cells", 1, counter.Design{Cells: 3}, 17.6}, {"three cells", 2, counter.Design{Cells: 3}, 33.2}, {"three cells", 4, counter.Design{Cells: 3}, 63.1}, {"three cells", 8, counter.Design{Cells: 3}, 119.9},
		{"ups and downs", 2, counter.Design{Cells: 2, Turns: true}, 35.2}, {"ups and downs", 4, counter.Design{Cells: 2, Turns: true}, 65.1}, {"ups and downs", 8, counter.Design{Cells: 2, Turns: true}, 121.8},
	} {
		d := c.design
		d.Rounds, d.Bits, d.Events = 365, 10, c.events
		rows, err := told{Design: d}.rows()
		if err != nil {
			t.Fatal(err)
		}
		e, err := additive.CalibrateRows(rows.Event(plan.Sum{Sigma: 3}, 1).(additive.GaussianRows), 1, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Sigma * rows.Error(-1, 364, nil)
		if d.Turns {
			got *= math.Sqrt2
		}
		t.Logf("%-14s %d events: one noise %6.1f, two %6.1f (theorem %.1f)", c.what, c.events, got, got*math.Sqrt2, c.want)
		if math.Abs(got/c.want-1) > .03 {
			t.Errorf("%s, %d events: %.2f, want %.1f", c.what, c.events, got, c.want)
		}
		if gains := d.Turns && got < afresh; gains != (d.Turns && c.events < 8) {
			t.Errorf("%d changes err by %.1f, and asked every day by %.1f", c.events, got, afresh)
		}
	}
}

// Rows of the same rounds are made once. Any other word of a design makes others.
func TestRowsAreMadeOnce(t *testing.T) {
	of := plan.Correlated{Rounds: 30, Bits: 8, Events: 2}
	rows := func(of plan.Correlated, cells int) *Rows {
		t.Helper()
		r, err := NewRows(of, cells)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := rows(of, 2)
	if rows(of, 2) != first || first.Parted() != rows(of, 2).Parted() {
		t.Error("the same rows are made again")
	}
	seen := map[*Rows]string{first: "these"}
	for what, change := range map[string]func(of *plan.Correlated) (cells int){
		"rounds":  func(of *plan.Correlated) int { of.Rounds++; return 2 },
		"bits":    func(of *plan.Correlated) int { of.Bits++; return 2 },
		"events":  func(of *plan.Correlated) int { of.Events++; return 2 },
		"cells":   func(*plan.Correlated) int { return 3 },
		"turns":   func(of *plan.Correlated) int { of.Turns = true; return 2 },
		"windows": func(of *plan.Correlated) int { of.Windows = true; return 2 },
	} {
		other := of
		cells := change(&other)
		r := rows(other, cells)
		if seen[r] != "" {
			t.Errorf("other %s have the rows of %s", what, seen[r])
		}
		seen[r] = what
	}
	if r := first.Parted(); seen[r] != "" {
		t.Errorf("rows that part are those of %s", seen[r])
	}
	if _, err := NewRows(plan.Correlated{}, 1); err == nil {
		t.Error("no rounds have rows")
	}
}
