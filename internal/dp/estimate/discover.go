package estimate

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// HeavyHitters returns the cells of which one may say that somebody, or more than so
// many, hold them: those for which the null hypothesis is rejected by the step-up
// procedure of Benjamini and Hochberg (1995). The false-discovery rate is at most
// rate, in (0, 1): of the cells returned, in expectation over the noise, at most that
// share fulfils the null ("nobody holds it", "at most t devices hold it").
//
// statistic has one number per cell, such as its count; null is the logarithm of the
// p-value of a number, or a bound of it from above: one function for all cells, which
// does not increase. Cell.Null is such a function. The cells come in the order of
// their statistic, largest first, of equal ones the first cell first: the first
// hundred are the top hundred.
//
// The promise needs p-values of true nulls that are independent of each other and of
// the rest, or depend positively (regression dependence, Benjamini and Yekutieli 2001).
// One-hot randomized response has that: every bit of a report is flipped by its own
// draw, so given all values the counts of the cells are independent, with report
// fragments too; and if each respondent is asked by a draw of their own, only how many
// were asked is common to the counts, and all of them grow with it. Where one
// respondent's cells exclude each other or share a hash function (k-ary response,
// subset selection, local hashing, Hadamard response, sketches), give
// AnyDependence(rate, cells) for the rate.
func HeavyHitters[T cmp.Ordered](statistic []T, null func(T) float64, rate float64) []int {
	if !(rate > 0 && rate < 1) {
		panic("estimate: a false-discovery rate outside (0, 1)")
	}
	k := float64(len(statistic))
	cells := candidates(statistic, null, math.Log(rate))
	slices.SortFunc(cells, func(i, j int) int {
		return cmp.Or(cmp.Compare(statistic[j], statistic[i]), cmp.Compare(i, j))
	})
	// The procedure takes the largest m with p_(m) <= rate m/k. Let r(m) be the number
	// of p-values at or below rate m/k. From any m at or above the answer, r(m) is
	// again at or above it, and at a fixed point it is the answer.
	for m := len(cells); m > 0; {
		limit := math.Log(rate * float64(m) / k)
		r := sort.Search(m, func(i int) bool { return null(statistic[cells[i]]) > limit })
		if r == m {
			return cells[:m]
		}
		m = r
	}
	return nil
}

// candidates returns the cells whose p-value is at most e^limit. Since the null is
// monotone it is asked only between the largest statistic known to fail and the
// smallest known to pass, a few times in all.
func candidates[T cmp.Ordered](statistic []T, null func(T) float64, limit float64) []int {
	var cells []int
	var pass, fail T
	var passes, fails bool
	for i, s := range statistic {
		switch {
		case fails && s <= fail:
			continue
		case passes && s >= pass:
		case null(s) <= limit:
			pass, passes = s, true
		default:
			fail, fails = s, true
			continue
		}
		cells = append(cells, i)
	}
	return cells
}

// AnyDependence returns the rate to give to HeavyHitters for a false-discovery rate of at
// most rate over k cells however their errors depend on each other: rate divided by
// 1 + 1/2 + ... + 1/k (Benjamini and Yekutieli 2001).
func AnyDependence(rate float64, k int) float64 {
	harmonic := 0.0
	for i := k; i >= 1; i-- {
		harmonic += 1 / float64(i)
	}
	return rate / harmonic
}
