package counter

import (
	"math"
	"math/bits"
	"slices"
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
		rows[t] = w.row(t+1, counts)
	}
	return rows
}

// row applies C to what has been counted up to a day: counts[s-1][p] of a day s and a previous day p.
func (w *Windows) row(day int, counts [][]int64) []int64 {
	c := w.counter.factor
	byDay := make([]int64, w.days()+1)
	for s := 1; s <= day; s++ {
		for p, n := range counts[s-1] {
			byDay[p] += c[day-s] * n
		}
	}
	row := make([]int64, len(byDay))
	for u := range row {
		for p, n := range byDay[:u+1] {
			row[u] += c[u-p] * n
		}
	}
	return row
}

// distinct returns the estimated number of people who were active in the days from a to b, and gaps how many pairs are so
// many days apart, as a reader has them of the rows of all days but those that are missing.
func (w *Windows) read(rows [][]int64, missing ...int) (distinct func(a, b int) float64, gaps []float64) {
	days := w.days()
	until := make([][]float64, days+1) // by day: pairs up to it, by the last previous day
	until[0] = make([]float64, days+1)
	var told []int
	var counts [][]float64
	gaps = make([]float64, days-1)
	for d := 1; d <= days; d++ {
		until[d] = until[d-1]
		if slices.Contains(missing, d) {
			continue
		}
		own := make([]float64, days+1)
		until[d] = slices.Clone(until[d])
		for p, x := range w.Across(rows[d-1]) {
			var earlier []float64
			for _, c := range counts {
				earlier = append(earlier, c[p])
			}
			own[p] = w.counter.Count(d, x, told, earlier)
			until[d][p] += own[p]
			if p > 0 && p < d {
				gaps[d-p-1] += own[p] - own[p-1]
			}
		}
		told, counts = append(told, d), append(counts, own)
	}
	return func(a, b int) float64 { return until[b][a-1] - until[a-1][a-1] }, gaps
}

// forgetful bounds removal of clients that may forget their last day, and say again that there was
// none.
func (w *Windows) forgetful() float64 {
	first := w.counter.products(0)[0]
	return float64(first) * float64(squared(w.counter.column(w.counter.Events, 1))) * (1 + 0x1p-40)
}

// Every set of days and every window: whoever was active in it is counted once. With a bound on events a
// person is counted too little and never too much.
func TestWindowsCountDistinctPeople(t *testing.T) {
	const days = 7
	all, few := windows(t, days, 10, days), windows(t, days, 10, 2)
	for set := uint(0); set < 1<<days; set++ {
		whole, gaps := all.read(all.rows(pairs(days, set, days)))
		bounded, _ := few.read(few.rows(pairs(days, set, 2)))
		last, apart := 0, make([]float64, days-1)
		for d := 1; d <= days; d++ {
			if set>>(d-1)&1 == 1 {
				if last > 0 {
					apart[d-last-1]++
				}
				last = d
			}
		}
		for g, n := range apart {
			if math.Abs(gaps[g]-n) > 1e-9 {
				t.Fatalf("days %b: %v pairs are %d days apart, want %v", set, gaps[g], g+1, n)
			}
		}
		for a := 1; a <= days; a++ {
			for b := a; b <= days; b++ {
				there := 0.0
				if set>>(a-1)&(1<<(b-a+1)-1) != 0 {
					there = 1
				}
				if got := whole(a, b); math.Abs(got-there) > 1e-9 {
					t.Fatalf("days %b, window %d to %d: %v, want %v", set, a, b, got, there)
				}
				if got := bounded(a, b); got > there+1e-9 {
					t.Fatalf("days %b, window %d to %d, two events: %v for %v", set, a, b, got, there)
				}
			}
		}
	}
}

// Every pair of people is within the bound, and the first days move most. A person whose device forgets the
// last day is within forgetful, and not within removal.
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
			if float64(alone) > w.removal() || float64(largest) > w.Replacement() || float64(forgets) > w.forgetful() {
				t.Errorf("%d days, %d events: %d, %d, %d above the bounds %.0f, %.0f, %.0f", days, k, alone, largest, forgets, w.removal(), w.Replacement(), w.forgetful())
			}
			if k > 1 && float64(forgets) <= w.removal() {
				t.Errorf("%d days, %d events: who forgets moves no more", days, k)
			}
			// The twin: what one person moves by itself, for two that are exchanged.
			if k == 1 && float64(largest) <= w.removal() {
				t.Errorf("%d days: pairs of people move %d, which one person does", days, largest)
			}
		}
	}
}

// The constants of a year, which another program has computed, and the error of the worst window.
func TestAYearOfWindows(t *testing.T) {
	for k, want := range map[int]float64{1: 2.9445, 2: 5.2899, 3: 7.4873, 5: 11.6042, 8: 17.3299} {
		w := windows(t, 365, 10, k)
		near(t, "pairs", math.Sqrt(w.removal())/float64(uint64(1)<<20), want, 2e-3)
	}
	w := windows(t, 365, 10, 1)
	worst, a, b := w.Worst()
	near(t, "worst window", worst*(1<<20), 3.5199, 2e-3)
	if a < 170 || a > 180 || b != 365 {
		t.Errorf("the worst window is %d to %d", a, b)
	}
	errors := w.Errors(365, nil)
	near(t, "whole year", errors(1)[364]*(1<<20), 1.7158, 2e-3) // no row of day 0 has noise
	near(t, "last 30 days", errors(336)[29]*(1<<20), 3.157, 2e-3)
}

// Errors are the deviations of what a reader has, of windows and of gaps: each number of each row moved by one shows its
// weight.
func TestErrorsOfWindowsAreThoseOfTheReader(t *testing.T) {
	const days = 8
	w := windows(t, days, 10, 1)
	for _, missing := range [][]int{nil, {1}, {3, 4}, {8}, {2, 7}} {
		windows, gaps := map[[2]int]float64{}, make([]float64, days-1)
		for t := range days {
			for u := range days + 1 {
				rows := make([][]int64, days)
				for i := range rows {
					rows[i] = make([]int64, days+1)
				}
				rows[t][u] = 1 << 30
				distinct, apart := w.read(rows, missing...)
				for a := 1; a <= days; a++ {
					for b := a; b <= days; b++ {
						x := distinct(a, b) / (1 << 30)
						windows[[2]int{a, b}] += x * x
					}
				}
				for g, x := range apart {
					gaps[g] += x / (1 << 30) * x / (1 << 30)
				}
			}
		}
		errors := w.Errors(days, missing)
		for at, x := range windows {
			near(t, "window", errors(at[0])[at[1]-at[0]]*(1<<20), math.Sqrt(x)*(1<<20), 1e-6)
		}
		for g, x := range w.Gaps(days, missing) {
			near(t, "gap", x*(1<<20), math.Sqrt(gaps[g])*(1<<20), 1e-6)
		}
	}
}
