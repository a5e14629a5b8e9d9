package distribution

import (
	"math"

	"github.com/confetti-dp/confetti/plan"
)

// Hostile devices send here the worst that services let through.

// Longest returns the longest multiple of whole numbers about their middle that a circuit allows.
func Longest(c plan.Circuit, whole []uint64) []uint64 {
	times := func(by float64) (out []uint64, squares int) {
		for _, x := range whole {
			d := int(math.Round(by * (float64(x) - float64(c.Max)/2)))
			d = max(-c.Max/2, min(c.Max/2, d))
			out, squares = append(out, uint64(d+c.Max/2)), squares+d*d
		}
		return out, squares
	}
	low, high := 0.0, 4.0
	for range 60 {
		middle := (low + high) / 2
		if _, squares := times(middle); squares <= c.Square {
			low = middle
		} else {
			high = middle
		}
	}
	out, _ := times(low)
	return out
}

// Fill adds liars' answers to the counts of zeros and ones of rows, such that so many messages turn the sum of a direction
// furthest. ones gives, by row, the probability of a one from a device that holds the direction. At the optimum one more
// answer turns the sum as much in every row: the square of a row's answers is in proportion to its honest answers and to
// its part of the direction.
func Fill(counts []uint64, ones []float64, messages int) {
	before := make([]float64, len(ones))
	for r := range before {
		before[r] = float64(counts[2*r] + counts[2*r+1])
	}
	added := func(level float64) (a []float64, sum float64) {
		a = make([]float64, len(ones))
		for r := range a {
			a[r] = math.Max(0, math.Sqrt(level*math.Abs(ones[r]-0.5)*before[r])-before[r])
			sum += a[r]
		}
		return a, sum
	}
	low, high := 0.0, 1e12
	for range 200 {
		if middle := (low + high) / 2; func() float64 { _, s := added(middle); return s }() < float64(messages) {
			low = middle
		} else {
			high = middle
		}
	}
	a, _ := added(low)
	for r, n := range a {
		bit := 0
		if ones[r] > 0.5 {
			bit = 1
		}
		counts[2*r+bit] += uint64(n)
	}
}
