// Package counter holds sums that are asked every day of the same people: what is released of each day, how far one
// person moves all of it, and what a reader makes of it. Used by
// internal/dp/sum/sumprivacy.
//
// The running sum of T days is the square of a lower Toeplitz matrix C whose entries are binom(2j, j)/4^j (Henzinger,
// Fichtenberger and Upadhyay 2022). Row t of C, scaled to whole numbers, is released of the days so far, with fresh
// noise. So no noise has a history, and the reader, who divides by the same C, errs by much less than who asks anew.
package counter

import (
	"fmt"
	"math"
	"sync"
)

// Design says what is asked, and for how long.
type Design struct {
	Rounds int  // rows, and days that are told apart
	Bits   int  // the largest coefficient is 2^Bits
	Events int  // that a respondent counts for at most, in the whole period
	Cells  int  // numbers of a day; a report says at most one event in each
	Turns  bool // two cells that take turns, as on and off
	// Late says that a report may count in some rows after its day and not in others: then a
	// respondent moves more.
	Late bool
}

// Limits of a design.
const (
	maxRounds = 1 << 14
	maxBits   = 16
	maxEvents = 1 << 8
)

// Validate says what is wrong with a design.
func (d Design) Validate() error {
	switch {
	case d.Rounds < 1 || d.Rounds > maxRounds:
		return fmt.Errorf("counter: %d rounds: give 1 to %d", d.Rounds, maxRounds)
	case d.Bits < 1 || d.Bits > maxBits:
		return fmt.Errorf("counter: coefficients of %d bits: give 1 to %d", d.Bits, maxBits)
	case d.Events < 1 || d.Events > min(d.Rounds, maxEvents): // beyond one a day, other cells of the same days would take the rest
		return fmt.Errorf("counter: %d events of a respondent: give 1 to %d, and no more than one a round", d.Events, maxEvents)
	case d.Cells < 1 || d.Turns && d.Cells != 2:
		return fmt.Errorf("counter: %d cells: give at least 1, and 2 where they take turns", d.Cells)
	}
	return nil
}

// Counter is a design made runnable. It is immutable and safe for concurrent use.
type Counter struct {
	Design
	factor []int64
	series func() (days, totals []float64) // of 1/c(x), and of 1/((1-x) c(x)), the running sum through C
}

// New makes a design runnable, with the coefficients that aggregators use (sum.Factor).
func New(d Design, factor func(length, bits int) []int64) (*Counter, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	c := &Counter{Design: d, factor: factor(d.Rounds, d.Bits)}
	c.series = sync.OnceValues(func() (days, totals []float64) {
		days = reciprocal(c.factor)
		totals = make([]float64, len(days))
		all := 0.0
		for j, x := range days {
			all += x
			totals[j] = all
		}
		return days, totals
	})
	return c, nil
}

// reciprocal returns the power series of 1/c(x).
func reciprocal(c []int64) []float64 {
	p := make([]float64, len(c))
	first := float64(c[0])
	p[0] = 1 / first
	for n := 1; n < len(c); n++ {
		sum := 0.0
		for j := 1; j <= n; j++ {
			sum += float64(c[j]) * p[n-j]
		}
		p[n] = -sum / first
	}
	return p
}

// Count returns a day's own count from its row, where the counts of earlier days are known, days from 0. A day that is
// not among them counted for nothing. What is known is taken off the row, and the rest divided by its first
// coefficient: in whole numbers as long as no noise was added.
func (c *Counter) Count(day int, row float64, days []int, counts []float64) float64 {
	left := row
	for i, earlier := range days {
		left -= float64(c.factor[day-earlier]) * counts[i]
	}
	return left / float64(c.factor[0])
}

// Error returns the factor by which the deviation of the noise in a row is multiplied in what the
// running total of a day is above that of an earlier one, -1 for none, where the given days, rising, were not released.
func (c *Counter) Error(since, day int, missing []int) float64 {
	w := c.weights(day, missing)
	if since >= 0 {
		for j, x := range c.weights(since, missing) {
			w[j] -= x
		}
	}
	return norm(w)
}

// weights returns what each row counts for in the running total of a day. Of a day that is
// missing the reader knows the count, which is nothing: its row is read as what earlier rows
// foretell.
func (c *Counter) weights(day int, missing []int) []float64 {
	days, totals := c.series()
	w := make([]float64, day+1)
	for j := range w {
		w[j] = totals[day-j]
	}
	for i := len(missing) - 1; i >= 0; i-- {
		s := missing[i]
		if s > day {
			continue
		}
		for j := range s {
			w[j] -= w[s] * days[s-j] / days[0]
		}
		w[s] = 0
	}
	return w
}

func norm(w []float64) float64 {
	sum := 0.0
	for _, x := range w {
		sum += x * x
	}
	return math.Sqrt(sum)
}
