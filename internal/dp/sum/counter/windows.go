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

// removal bounds what a person's pairs move, squared: the i-th previous day is at least i-1, and the
// i-th day at least i; gaps likewise. So the pairs of the first days move most.
func (w *Windows) removal() float64 {
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

// Replacement bounds what pairs move that are exchanged for others.
func (w *Windows) Replacement() float64 { return 2 * w.removal() }

// OneNumber returns by how much one number is moved at most.
func (w *Windows) OneNumber() float64 {
	return float64(w.counter.factor[0]) * float64(w.counter.OneNumber())
}

// Across returns how many pairs, in units of a row, a day's row tells of whose previous day is at most each of 0 to T.
func (w *Windows) Across(row []int64) []float64 {
	_, totals := w.counter.series()
	told := make([]float64, len(row))
	for p := range told {
		for u, x := range row[:p+1] {
			told[p] += totals[p-u] * float64(x)
		}
	}
	return told
}

// Before returns the factor by which Across multiplies the deviation of the noise, in the pairs whose previous day is at
// most the given one.
func (w *Windows) Before(day int) float64 { return norm(w.counter.weights(day, nil)) }

// Errors returns the factors by which the deviation of the noise is multiplied in every window [a, b] of the days up to
// the last, where the given days, rising from 1, were not released: those of a first day a, from b = a on.
func (w *Windows) Errors(last int, missing []int) func(a int) []float64 {
	until := make([][]float64, last+1) // by day: what each row counts for in all pairs up to then
	days := make([]int, len(missing))
	for i, d := range missing {
		days[i] = d - 1
	}
	for b := 1; b <= last; b++ {
		until[b] = w.counter.weights(b-1, days)
	}
	return func(a int) []float64 {
		before := w.Before(a - 1)
		all := make([]float64, last-a+1)
		for b := a; b <= last; b++ {
			over := 0.0
			for t, x := range until[b] {
				if t < len(until[a-1]) {
					x -= until[a-1][t]
				}
				over += x * x
			}
			all[b-a] = before * math.Sqrt(over)
		}
		return all
	}
}

// Gaps returns the factors by which the deviation of the noise is multiplied in how many pairs of the days up to the last
// are so many days apart, from 1 on, where the given days, rising from 1, were not released.
func (w *Windows) Gaps(last int, missing []int) []float64 {
	own := make([][]float64, 0, last) // what each row counts for in a day's own pairs
	before := []float64(nil)
	at := 0
	days := make([]int, len(missing))
	for i, d := range missing {
		days[i] = d - 1
	}
	for day := 1; day <= last; day++ {
		if at < len(missing) && missing[at] == day {
			at++
			own = append(own, nil)
			continue
		}
		now := w.counter.weights(day-1, days)
		x := append([]float64(nil), now...)
		for t, y := range before {
			x[t] -= y
		}
		own, before = append(own, x), now
	}
	product := make([][]float64, last) // of days
	for i, x := range own {
		product[i] = make([]float64, i+1)
		for j := range own[:i+1] {
			for t, y := range own[j] {
				if x == nil {
					break
				}
				product[i][j] += x[t] * y
			}
		}
	}
	single, _ := w.counter.series()
	cells := make([][]float64, last) // by gap: products of what two cells count for, by the earlier one
	for gap := range cells {
		sum := 0.0
		for j := range last {
			if j+gap < len(single) {
				sum += single[j] * single[j+gap]
			}
			cells[gap] = append(cells[gap], sum)
		}
	}
	var all []float64
	for gap := 1; gap < last; gap++ {
		sum := 0.0
		for s := gap + 1; s <= last; s++ {
			sum += product[s-1][s-1] * cells[0][s-gap]
			for r := gap + 1; r < s; r++ {
				sum += 2 * product[s-1][r-1] * cells[s-r][r-gap]
			}
		}
		all = append(all, math.Sqrt(max(0, sum)))
	}
	return all
}

// Worst returns the largest of the Errors of all windows of the period.
func (w *Windows) Worst() (worst float64, a, b int) {
	errors := w.Errors(w.days(), nil)
	for from := 1; from <= w.days(); from++ {
		for i, e := range errors(from) {
			if e > worst {
				worst, a, b = e, from, from+i
			}
		}
	}
	return worst, a, b
}
