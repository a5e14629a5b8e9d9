package estimate

import (
	"cmp"
	"fmt"
	"math"
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
	active := make([]int, 0, len(values))
	for i, v := range values {
		switch {
		case math.IsNaN(v.Mean) || math.IsInf(v.Mean, 0) || !(v.StdErr >= 0) || math.IsInf(v.StdErr, 0):
			return nil, fmt.Errorf("estimate: cell %d has no finite estimate to project", i)
		case v.StdErr > 0:
			active = append(active, i)
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
	theta := waterLevel(values, active, total)
	for _, i := range active {
		counts[i] = max(0, values[i].Mean-theta*values[i].StdErr*values[i].StdErr)
	}
	return counts, nil
}

// waterLevel is the theta at which sum max(0, mean - theta stderr^2) over the active
// cells is total: Lagrange's multiplier of the sum. That function of theta is convex
// and falls, so Newton's steps from the left stay left of the root and end at it;
// every cell that a step takes to zero stays there. Each step that halves the cells
// costs half of the one before it; when one does not, the rest is sorted, which keeps
// the whole at k log k.
func waterLevel(values []Value, active []int, total float64) float64 {
	level := func(i int) float64 { return values[i].Mean / (values[i].StdErr * values[i].StdErr) }
	cells := slices.Clone(active)
	for {
		var sum, variance float64
		for _, i := range cells {
			sum += values[i].Mean
			variance += values[i].StdErr * values[i].StdErr
		}
		theta := (sum - total) / variance
		kept := cells[:0:len(cells)]
		for _, i := range cells {
			if level(i) > theta {
				kept = append(kept, i)
			}
		}
		if len(kept) == len(cells) || len(kept) == 0 {
			return theta
		}
		halved := len(kept) <= len(cells)/2
		cells = kept
		if !halved {
			break
		}
	}
	slices.SortFunc(cells, func(i, j int) int { return cmp.Compare(level(j), level(i)) })
	var sum, variance, theta float64
	for n, i := range cells {
		if n > 0 && level(i) <= theta {
			break
		}
		sum += values[i].Mean
		variance += values[i].StdErr * values[i].StdErr
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
