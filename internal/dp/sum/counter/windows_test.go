package counter

import (
	"math"
	"math/bits"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/sum"
)

func windows(t testing.TB, days, precision, events int) *Windows {
	t.Helper()
	w, err := NewWindows(days, precision, events, sum.Factor)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// pairs returns what a person says who is active on a set of days: day s, cell of the previous one.
func pairs(days int, set uint, most int) [][]int64 {
	counts := make([][]int64, days)
	for s := range counts {
		counts[s] = make([]int64, days+1)
	}
	previous := 0
	for s := 1; s <= days && most > 0; s++ {
		if set>>(s-1)&1 == 1 {
			counts[s-1][previous] = 1
			previous = s
			most--
		}
	}
	return counts
}

func (w *Windows) rows(counts [][]int64) [][]int64 {
	rows := make([][]int64, w.days())
	for t := range rows {
		rows[t] = w.Row(t+1, counts)
	}
	return rows
}

// Every set of days and every window: whoever was active in it is counted once. With a bound on events a
// person is counted too little and never too much.
func TestWindowsCountDistinctPeople(t *testing.T) {
	const days = 7
	all, few := windows(t, days, 10, days), windows(t, days, 10, 2)
	for set := uint(0); set < 1<<days; set++ {
		rows, bounded := all.rows(pairs(days, set, days)), few.rows(pairs(days, set, 2))
		for a := 1; a <= days; a++ {
			for b := a; b <= days; b++ {
				there := 0.0
				if set>>(a-1)&(1<<(b-a+1)-1) != 0 {
					there = 1
				}
				if got := all.Distinct(a, b, rows); math.Abs(got-there) > 1e-9 {
					t.Fatalf("days %b, window %d to %d: %v, want %v", set, a, b, got, there)
				}
				if got := few.Distinct(a, b, bounded); got > there+1e-9 {
					t.Fatalf("days %b, window %d to %d, two events: %v for %v", set, a, b, got, there)
				}
			}
		}
	}
}

// Every pair of people is within the bound, and the first days move most. A person whose device forgets the
// last day is within Forgetful, and not within Removal.
func TestEveryPairOfPeople(t *testing.T) {
	for _, days := range []int{4, 6} {
		for k := 1; k <= 3; k++ {
			w := windows(t, days, 6, k)
			var all [][]int64
			alone, largest, forgets := int64(0), int64(0), int64(0)
			flat := func(counts [][]int64) (x []int64) {
				for _, row := range w.rows(counts) {
					x = append(x, row...)
				}
				return x
			}
			for set := uint(0); set < 1<<days; set++ {
				if bits.OnesCount(set) > k {
					continue
				}
				x := flat(pairs(days, set, k))
				alone = max(alone, squared(x))
				all = append(all, x)
				forgot := pairs(days, set, k)
				for _, row := range forgot {
					for p := 1; p < len(row); p++ {
						row[0], row[p] = row[0]+row[p], 0
					}
				}
				forgets = max(forgets, squared(flat(forgot)))
			}
			for i, x := range all {
				for _, y := range all[:i] {
					largest = max(largest, gap(x, y))
				}
			}
			if float64(alone) > w.Removal() || float64(largest) > w.Replacement() || float64(forgets) > w.Forgetful() {
				t.Errorf("%d days, %d events: %d, %d, %d above the bounds %.0f, %.0f, %.0f", days, k, alone, largest, forgets, w.Removal(), w.Replacement(), w.Forgetful())
			}
			if k > 1 && float64(forgets) <= w.Removal() {
				t.Errorf("%d days, %d events: who forgets moves no more", days, k)
			}
		}
	}
}

// The constants of a year, which another program has computed, and the error of the worst window.
func TestAYearOfWindows(t *testing.T) {
	for k, want := range map[int]float64{1: 2.9445, 2: 5.2899, 3: 7.4873, 5: 11.6042, 8: 17.3299} {
		w := windows(t, 365, 10, k)
		near(t, "pairs", math.Sqrt(w.Removal())/float64(uint64(1)<<20), want, 2e-3)
	}
	w := windows(t, 365, 10, 1)
	worst, a, b := w.Worst()
	near(t, "worst window", worst*(1<<20), 3.5199, 2e-3)
	if a < 170 || a > 180 || b != 365 {
		t.Errorf("the worst window is %d to %d", a, b)
	}
	near(t, "whole year", w.Error(1, 365)*(1<<20), 1.7158, 2e-3) // no row of day 0 has noise
	near(t, "last 30 days", w.Error(336, 365)*(1<<20), 3.157, 2e-3)
}
