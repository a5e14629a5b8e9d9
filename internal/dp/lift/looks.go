package lift

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/internal/prob"
)

// MostLooks bounds how many are planned.
const MostLooks = 10

// errorRate bounds how often something is found where nothing is, of all looks and comparisons together.
const errorRate = 0.05

var boundaries sync.Map // of [2]int

// boundary returns the c of O'Brien and Fleming for so many looks at as many people each: of a walk of normal steps none of
// the sums S_k exceeds c sqrt(looks) in size, but with probability errorRate by the number of comparisons.
func boundary(looks, comparisons int) float64 {
	key := [2]int{looks, comparisons}
	if c, ok := boundaries.Load(key); ok {
		return c.(float64)
	}
	alpha := errorRate / float64(comparisons)
	low, high := -prob.NormalLogQuantile(math.Log(alpha/2)), 9.0
	if looks > 1 {
		for high-low > 1e-6 {
			c := (low + high) / 2
			if crossing(c*math.Sqrt(float64(looks)), looks) > alpha {
				low = c
			} else {
				high = c
			}
		}
		low = high
	}
	boundaries.Store(key, low)
	return low
}

// crossing returns the probability that a walk of so many normal steps leaves [-b, b], by Simpson's rule on its density inside.
func crossing(b float64, steps int) float64 {
	const points = 161
	h := 2 * b / (points - 1)
	weight := func(i int) float64 {
		switch {
		case i == 0 || i == points-1:
			return h / 3
		case i%2 == 1:
			return 4 * h / 3
		}
		return 2 * h / 3
	}
	step := make([]float64, points) // density of a step over i places
	for i := range step {
		step[i] = math.Exp(-float64(i*i)*h*h/2) / math.Sqrt(2*math.Pi)
	}
	density := make([]float64, points)
	for i := range density {
		x := -b + float64(i)*h
		density[i] = math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	}
	for range steps - 1 {
		next := make([]float64, points)
		for i, p := range density {
			for j := range next {
				next[j] += weight(i) * p * step[max(i-j, j-i)]
			}
		}
		density = next
	}
	inside := 0.0
	for i, p := range density {
		inside += weight(i) * p
	}
	return 1 - inside
}
