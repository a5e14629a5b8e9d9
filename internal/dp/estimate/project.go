package estimate

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Clip takes estimates of counts to zero where they are below it. That is nearer to
// the truth for every cell, and biased upwards: a sum of clipped cells is too large.
// Sum the raw ones.
func Clip(values []Value) []float64 {
	counts := make([]float64, len(values))
	for i, v := range values {
		counts[i] = max(0, v.Mean)
	}
	return counts
}

// Project gives the counts nearest to the estimates among those that are at least
// zero and sum to total, a public number of respondents that each hold one of the
// cells: it minimises
//
//	sum (count_i - mean_i)^2 / stderr_i^2 .
//
// With equal standard errors, as under symmetric one-hot response, that is the
// Euclidean projection onto the simplex; with independent normal errors it is the
// maximum of the likelihood. Since the truth is in the set and the set is convex, no
// projection is further from the truth than the estimates were, in this norm. A
// single projected count is biased and has no standard error of its own: publish it
// beside the raw estimate and the interval of that.
//
// An estimate without error (StdErr 0) is kept as it is. It is an error if the means
// are not numbers, or if total is not above the sum of the exact ones.
func Project(values []Value, total float64) ([]float64, error) {
	counts := make([]float64, len(values))
	active := make([]slope, 0, len(values))
	for i, v := range values {
		switch {
		case math.IsNaN(v.Mean) || math.IsInf(v.Mean, 0) || !(v.StdErr >= 0) || math.IsInf(v.StdErr, 0):
			return nil, fmt.Errorf("estimate: cell %d has no finite estimate to project", i)
		case v.StdErr > 0:
			variance := v.StdErr * v.StdErr
			active = append(active, slope{mean: v.Mean, variance: variance, zero: v.Mean / variance})
		default:
			if v.Mean < 0 {
				return nil, fmt.Errorf("estimate: cell %d is known to be negative, no count", i)
			}
			counts[i] = v.Mean
			total -= v.Mean
		}
	}
	if !(total >= 0) || math.IsInf(total, 0) || len(active) == 0 && total != 0 {
		return nil, fmt.Errorf("estimate: no counts of at least zero have the given total")
	}
	theta := multiplier(active, total)
	for i, v := range values {
		if v.StdErr > 0 {
			counts[i] = max(0, v.Mean-theta*v.StdErr*v.StdErr)
		}
	}
	return counts, nil
}

// slope is max(0, mean - theta variance), the projected count as Lagrange's
// multiplier theta of the total grows; it is zero from theta = mean / variance on.
type slope struct{ mean, variance, zero float64 }

// multiplier returns the theta at which the slopes sum to total. Their sum is convex and
// falls, so Newton's steps from the left stay left of the root and end at it, and a
// cell that a step takes to zero stays there. A few steps do, commonly; after log k of
// them the cells that are left are sorted, which keeps the whole at k log k. The
// cells are reordered.
func multiplier(cells []slope, total float64) float64 {
	theta := math.Inf(-1)
	for range bits.Len(uint(len(cells))) {
		var sum, variance float64
		for _, c := range cells {
			sum += c.mean
			variance += c.variance
		}
		theta = (sum - total) / variance
		kept := 0
		for _, c := range cells {
			if c.zero > theta {
				cells[kept] = c
				kept++
			}
		}
		if kept == len(cells) || kept == 0 {
			return theta
		}
		cells = cells[:kept]
	}
	slices.SortFunc(cells, func(a, b slope) int { return cmp.Compare(b.zero, a.zero) })
	var sum, variance float64
	for i, c := range cells {
		if i > 0 && c.zero <= theta {
			break
		}
		sum += c.mean
		variance += c.variance
		theta = (sum - total) / variance
	}
	return theta
}

// Isotonic gives the non-decreasing numbers nearest to x by the sum of squares, by
// pooling neighbours that are out of order into their mean (Ayer et al. 1955). Where
// the truth does not decrease they are no further from it than x, by the sum of
// squares and by the largest difference alike.
func Isotonic(x []float64) []float64 {
	type pool struct{ mean, size float64 }
	pools := make([]pool, 0, len(x))
	for _, v := range x {
		p := pool{v, 1}
		for len(pools) > 0 && pools[len(pools)-1].mean >= p.mean {
			q := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			p = pool{q.mean + (p.mean-q.mean)*(p.size/(p.size+q.size)), p.size + q.size}
		}
		pools = append(pools, p)
	}
	fitted := make([]float64, 0, len(x))
	for _, p := range pools {
		for range int(p.size) {
			fitted = append(fitted, p.mean)
		}
	}
	return fitted
}
