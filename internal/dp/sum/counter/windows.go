package counter

import "math"

// Windows are the distinct people of every window of the period, from one release. On a day that a
// person is active the report says the previous such day of the period, or that there was none: one
// of T+1 cells. Rows are C over the days and C over these cells, T+1 numbers a day.
//
// With D(b, a) the pairs of a day up to b whose previous one lies before a, the distinct people of
// [a, b] are D(b, a) - D(a-1, a). After the last event that counts a person is counted too little, and
// never too much. Days are counted from 1 here; cell 0 is of those who were not active before.
type Windows struct{ counter *Counter }

// NewWindows returns those of a period of so many days. Bits and events are as of a Design.
func NewWindows(rounds, bits, events int, factor func(length, bits int) []int64) (*Windows, error) {
	c, err := New(Design{Rounds: rounds + 1, Bits: bits, Events: events, Cells: 1}, factor)
	if err != nil {
		return nil, err
	}
	return &Windows{c}, nil
}

// days of the period.
func (w *Windows) days() int { return w.counter.Rounds - 1 }

// Removal bounds what a person's pairs move, squared: the i-th previous day is at least i-1, and the
// i-th day at least i; gaps likewise. So the pairs of the first days move most.
func (w *Windows) Removal() float64 {
	k := min(w.counter.Events, w.days())
	sum := 0.0
	for gap := range k {
		g := w.counter.products(gap)
		for i := 0; i+gap < k; i++ {
			product := float64(g[i]) * float64(g[i+1])
			if sum += product; gap > 0 {
				sum += product
			}
		}
	}
	return sum * (1 + 0x1p-40) // of roundings
}

// Forgetful bounds Removal of clients that may forget their last day, and say again that there was
// none.
func (w *Windows) Forgetful() float64 {
	first := w.counter.products(0)[0]
	return float64(first) * float64(squared(w.counter.column(w.counter.Events, 1))) * (1 + 0x1p-40)
}

// Replacement bounds what pairs move that are exchanged for others.
func (w *Windows) Replacement() float64 { return 2 * w.Removal() }

// OneNumber returns by how much one number is moved at most.
func (w *Windows) OneNumber() float64 {
	return float64(w.counter.factor[0]) * float64(w.counter.OneNumber())
}

// Row applies C to what has been counted up to a day: counts[s-1][p] of a day s and a previous day p. It
// returns the T+1 numbers of that day's row.
func (w *Windows) Row(day int, counts [][]int64) []int64 {
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

// Distinct returns the estimated number of people who were active in the days from a to b, from
// the rows of days 1 to b.
func (w *Windows) Distinct(a, b int, rows [][]int64) float64 {
	before, until := w.weights(a-1), w.weights(b)
	sum := 0.0
	for t, row := range rows[:b] { // of day t+1
		over := until[t+1]
		if t+1 < len(before) {
			over -= before[t+1]
		}
		for u := range before {
			sum += over * before[u] * float64(row[u])
		}
	}
	return sum
}

// Error returns the factor by which the deviation of the noise is multiplied in a window.
func (w *Windows) Error(a, b int) float64 {
	before, until := w.weights(a-1), w.weights(b)
	over := 0.0
	for t := 1; t <= b; t++ { // of day 0 there is no row
		x := until[t]
		if t < len(before) {
			x -= before[t]
		}
		over += x * x
	}
	return norm(before) * math.Sqrt(over)
}

// Worst returns the largest Error of all windows.
func (w *Windows) Worst() (worst float64, a, b int) {
	for from := 1; from <= w.days(); from++ {
		for to := from; to <= w.days(); to++ {
			if e := w.Error(from, to); e > worst {
				worst, a, b = e, from, to
			}
		}
	}
	return worst, a, b
}

// weights returns the row of a day of the running sum through C, days from 0.
func (w *Windows) weights(day int) []float64 { return w.counter.weights(day, nil) }
