package results

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// flattery returns by how much each of a cluster's counts is too large where the noise had part in choosing it: an unbiased estimate of
// the noise in the count times whether it is the largest, the first of equal ones. The sum is what the chosen count is too
// large by. The noise is discrete Laplace with a decay, drawn for each count by itself.
//
// For any f of an integer x = n + z, the mean of z f(x) is that of the sum over u of f(u) h(u-x), where h(j) is e^(-decay j) above
// zero, -e^(decay j) below and 0 at it: z P(z) is the convolution of P and h. Here f says whether x is at least what it
// takes to be chosen.
func flattery(counts []estimate.Value, decay float64) []float64 {
	out := make([]float64, len(counts))
	for y, v := range counts {
		least := math.Inf(-1) // that is chosen, beside the others
		for o, other := range counts {
			switch {
			case o < y:
				least = math.Max(least, other.Mean+1)
			case o > y:
				least = math.Max(least, other.Mean)
			}
		}
		away := least - v.Mean
		if v.Mean >= least {
			away = v.Mean - least + 1
		}
		out[y] = math.Exp(-decay*away) / -math.Expm1(-decay)
	}
	return out
}

// unflattered splits the counts of a cluster: own adds up to the count of the chosen label, and others to those of the others. Without a
// decay they are the counts themselves. The errors that come with a choice are stated larger than they are found by enumeration.
func unflattered(counts []estimate.Value, chosen int, decay float64) (own, others []estimate.Value) {
	own, others = make([]estimate.Value, len(counts)), make([]estimate.Value, len(counts))
	if copy(others, counts); chosen >= 0 {
		own[chosen], others[chosen] = counts[chosen], estimate.Value{}
	}
	if decay == 0 || chosen < 0 {
		return own, others
	}
	for y, by := range flattery(counts, decay) {
		own[y].Mean -= by
		others[y].Mean += by
		own[y].StdErr *= math.Sqrt(1 + 0.4*float64(len(counts)-1))
		others[y].StdErr *= math.Sqrt(1.4)
	}
	return own, others
}
