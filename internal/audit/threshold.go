package audit

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/prob/confidence"
)

// Scored is what an attack made of the views of two neighbouring data sets: the larger,
// the more a view looks like the second.
type Scored struct{ First, Second []float64 }

// Lower returns a bound of epsilon at delta that is too large with probability at most alpha, by
// the rates of thresholds: whoever says "second" above a threshold is right with a
// probability t and wrong with f, and t <= e^epsilon f + delta.
//
// On the even half of the scores a threshold is chosen for each direction, the one that
// bounds most there; the other half is new to it. Both bounds count, each with the bounds
// of two rates (Clopper and Pearson), so that alpha is divided by four (Bonferroni).
func (s Scored) Lower(delta, alpha float64) float64 {
	chosen := Scored{even(s.First), even(s.Second)}
	fresh := Scored{odd(s.First), odd(s.Second)}
	const bounds = 4
	up := fresh.above(chosen.threshold(delta), delta, alpha/bounds)
	down := fresh.reversed().above(chosen.reversed().threshold(delta), delta, alpha/bounds)
	return math.Max(0, math.Max(up, down))
}

// above returns ln((t-delta)/f) for the bounds of t and f, or minus infinity.
func (s Scored) above(threshold, delta, alpha float64) float64 {
	t := confidence.Lower(atLeast(s.Second, threshold), len(s.Second), alpha)
	f := confidence.Upper(atLeast(s.First, threshold), len(s.First), alpha)
	if !(t > delta) {
		return math.Inf(-1)
	}
	return math.Log((t - delta) / f)
}

// careful is how many deviations of a rate a threshold is chosen at: with fewer, among so many
// thresholds one in the tail wins by chance, and bounds little on fresh scores.
const careful = 3

// threshold returns the score that bounds most, with either rate that many deviations worse.
func (s Scored) threshold(delta float64) float64 {
	first, second := slices.Sorted(slices.Values(s.First)), slices.Sorted(slices.Values(s.Second))
	best, most := math.Inf(1), math.Inf(-1)
	for i, j := 0, 0; j < len(second); {
		at := second[j]
		for i < len(first) && first[i] < at {
			i++
		}
		t, f := wilson(len(second)-j, len(second), -careful), wilson(len(first)-i, len(first), careful)
		if bound := math.Log((t - delta) / f); bound > most {
			best, most = at, bound
		}
		for j < len(second) && second[j] == at {
			j++
		}
	}
	return best
}

// wilson returns the end of the score interval (Wilson 1927) of a rate, z deviations away.
func wilson(successes, n int, z float64) float64 {
	p, m := float64(successes)/float64(n), float64(n)
	return (p + z*z/(2*m) + z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))) / (1 + z*z/m)
}

func atLeast(scores []float64, threshold float64) (n int) {
	for _, s := range scores {
		if s >= threshold {
			n++
		}
	}
	return n
}

// reversed exchanges the data sets.
func (s Scored) reversed() Scored {
	minus := func(xs []float64) []float64 {
		out := make([]float64, len(xs))
		for i, x := range xs {
			out[i] = -x
		}
		return out
	}
	return Scored{minus(s.Second), minus(s.First)}
}

func even(xs []float64) []float64 { return every(xs, 0) }
func odd(xs []float64) []float64  { return every(xs, 1) }

func every(xs []float64, from int) (out []float64) {
	for i := from; i < len(xs); i += 2 {
		out = append(out, xs[i])
	}
	return out
}
