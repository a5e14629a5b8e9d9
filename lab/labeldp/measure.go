package labeldp

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// Heterogeneity is phi of clusters with these counts, if every input has one label: the mean
// over inputs of what the shares of their cluster differ from their own label (LDC, Definition
// 1). It is a property of private labels.
func Heterogeneity(clusters ...[]int) float64 {
	n, alike := 0.0, 0.0
	for _, counts := range clusters {
		size, squares := 0.0, 0.0
		for _, k := range counts {
			size, squares = size+float64(k), squares+float64(k)*float64(k)
		}
		if size > 0 {
			n, alike = n+size, alike+squares/size
		}
	}
	if n == 0 {
		return 0
	}
	return 2 * (1 - alike/n)
}

// Estimate is a number with its standard error.
type Estimate = experiments.Estimate

// Estimator looks at counts of labels through noise, for what a curator wants to know of
// clusters before Algorithm 1. What it spends adds to what that spends.
type Estimator struct {
	Epsilon float64
}

func (e Estimator) law() noise.DiscreteLaplace { return noise.DiscreteLaplace{Decay: e.Epsilon / 2} }

// Guarantee returns that of all counts together, among so many labels: one moves two counts.
func (e Estimator) Guarantee(users int) account.Guarantee {
	return account.Guarantee{
		Epsilon: e.Epsilon, Adjacency: account.Label, Trust: account.Central, Users: users, Rounds: 1, Bound: account.Upper,
		Method: "counts with discrete Laplace noise, of which a label moves two", Source: "Ghosh, Roughgarden, Sundararajan 2009",
	}
}

// Counts are counts with noise.
func (e Estimator) Counts(r *rand.Rand, clusters [][]int) [][]int {
	noisy := make([][]int, len(clusters))
	for c, counts := range clusters {
		for _, k := range counts {
			noisy[c] = append(noisy[c], k+e.law().Sample(r))
		}
	}
	return noisy
}

// Heterogeneity is phi from noisy counts, unbiased, of clusters whose sizes are public.
func (e Estimator) Heterogeneity(noisy [][]int, sizes []int) Estimate {
	v := e.law().Variance()
	n, alike, variance := 0.0, 0.0, 0.0
	for c, counts := range noisy {
		if sizes[c] == 0 {
			continue
		}
		size := float64(sizes[c])
		n += size
		for _, k := range counts {
			square := float64(k)*float64(k) - v // of the count without noise, in the mean
			alike += square / size
			variance += (4*math.Max(0, square)*v + 5*v*v + v) / (size * size)
		}
	}
	return Estimate{Value: 2 * (1 - alike/n), StdErr: 2 * math.Sqrt(variance) / n}
}

// Distortion is psi of Algorithm 1 in clusters with these counts, by so many draws of each: the
// largest mean difference between a cluster's noisy shares and its own (LDC, Definition 3).
// With noisy counts it is a guess at psi that costs no more.
func (c Curator) Distortion(r *rand.Rand, clusters [][]int, draws int) (worst Estimate) {
	for _, counts := range clusters {
		size, given := 0, make([]int, len(counts))
		for y, k := range counts {
			given[y] = max(0, k)
			size += given[y]
		}
		if size == 0 {
			continue
		}
		sum, squares := 0.0, 0.0
		for range draws {
			off := 0.0
			for y, q := range c.Shares(r, given) {
				off += math.Abs(q - float64(given[y])/float64(size))
			}
			sum, squares = sum+off, squares+off*off
		}
		mean := sum / float64(draws)
		if mean > worst.Value {
			worst = Estimate{Value: mean, StdErr: math.Sqrt(math.Max(0, squares/float64(draws)-mean*mean) / float64(draws))}
		}
	}
	return worst
}

// DistortionBound returns what Lemma 5 of LDC says psi is at most, where every cluster holds so many.
func (c Curator) DistortionBound(smallest int) float64 {
	k := float64(c.Classes)
	return 2*k*c.Threshold + 2*math.Sqrt2*k*c.Scale/float64(max(1, smallest))
}
