package sketch

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Answer is how many messages a device sends for a cell of its row: Set where its value
// is, Unset elsewhere. The cells of a device are independent given its row and value.
type Answer struct {
	Set, Unset Moments
	cells      int
}

// Moments are those of a number of messages.
type Moments struct{ Mean, Variance float64 }

// OneHot returns the answer by one-hot randomized response.
func OneHot(m randomize.OneHot) Answer {
	bit := func(p float64) Moments { return Moments{p, p * (1 - p)} }
	return newAnswer(bit(m.Keep), bit(m.Flip), m.K)
}

// Fragments returns the answer in so many report fragments of each device.
func Fragments(m randomize.Fragmented, fragments int) Answer {
	t := float64(fragments)
	moments := func(set bool, holders int) Moments {
		gap := t * (m.Prob(true) - m.Prob(false))
		return Moments{t * m.Prob(set), m.Variance(holders, 1, fragments) * gap * gap}
	}
	return newAnswer(moments(true, 1), moments(false, 0), m.Backstop.K)
}

// Summed returns the answer of cells that are summed as they are, in whose every count there is
// noise of a variance, that of nobody: here an equal part of it is each device's.
func Summed(variance float64, devices, rows, cells int) Answer {
	each := float64(rows) * variance / float64(max(1, devices))
	return newAnswer(Moments{1, each}, Moments{0, each}, cells)
}

func newAnswer(set, unset Moments, cells int) Answer {
	if !(set.Mean > unset.Mean) {
		panic(fmt.Sprintf("sketch: an answer that says nothing: %v messages where the value is, %v elsewhere", set.Mean, unset.Mean))
	}
	return Answer{set, unset, cells}
}

// gap returns what a device adds to the expected count of the cell that it sets.
func (a Answer) gap() float64 { return a.Set.Mean - a.Unset.Mean }

// noise returns the variance of what n devices send for a cell that so many of them set.
func (a Answer) noise(n, set float64) float64 {
	set = math.Max(0, math.Min(n, set))
	return set*a.Set.Variance + (n-set)*a.Unset.Variance
}

// pairs estimates the sum of f (f-1) over all values, f being how many devices hold one:
// the ordered pairs of devices with equal values, who collide with others together. It
// is what an estimate has to know of the other values, and the counts tell it.
//
// Two devices are in one row with probability 1/rows. Given that, the expected product of
// what they send, summed over the K cells, is gap^2 [same cell] + 2 gap mu + K mu^2,
// mu = Unset.Mean, and the values of a pair, if they differ, share a cell with
// probability 1/K. A device adds its own second moments. Hence
//
//	E sum C^2 = n (Set.V + Set.M^2 + (K-1) (Unset.V + mu^2))
//	          + (gap^2 (1-1/K) pairs + n (n-1) (gap + K mu)^2 / K) / rows,
//
// solved for pairs by solve; what noise takes below zero counts as zero.
func (r rows) pairs(counts []uint64, n int, a Answer) float64 {
	var squares float64
	for row := range r.Rows() { // row by row: fewer roundings than in one sum
		var sum float64
		for _, c := range counts[row*r.Cells() : (row+1)*r.Cells()] {
			x := float64(int64(c)) // sums with noise may be below zero
			sum += x * x
		}
		squares += sum
	}
	return math.Max(0, r.solve(squares, n, a))
}

func (r rows) solve(squares float64, n int, a Answer) float64 {
	k, m, devices := float64(r.cells), float64(r.Rows()), float64(n)
	second := func(x Moments) float64 { return x.Variance + x.Mean*x.Mean }
	squares -= devices * (second(a.Set) + (k-1)*second(a.Unset))
	total := a.gap() + k*a.Unset.Mean
	return (m*squares - devices*(devices-1)*total*total/k) / (a.gap() * a.gap() * (1 - 1/k))
}

// otherPairs is pairs without those of a value that an estimated number of devices hold.
func otherPairs(pairs, holders float64) float64 {
	return math.Max(0, pairs-math.Max(0, holders*(holders-1)))
}

func (r rows) check(counts []uint64, n int, a Answer) {
	if len(counts) != r.Channels() || n < 0 || a.cells != r.Cells() {
		panic(fmt.Sprintf("sketch: %d counts of %d devices that answer for %d cells: there are %d rows of %d", len(counts), n, a.cells, r.Rows(), r.cells))
	}
}
