package estimate

import (
	"fmt"
	"math"
	"sort"
)

// Distribution is what the buckets of a number say about it: its distribution
// function at the upper edge of every bucket, the last of which is one.
type Distribution struct {
	Low, High float64 // range
	// Open says that what lies outside of the range was counted in the edge buckets,
	// which then have an end on one side only.
	Open     bool
	At       []Value   // share of the respondents at or below each upper edge, raw
	Monotone []float64 // the same, projected: in [0, 1], not decreasing
	Lo, Hi   []float64 // band that holds the whole function with probability level
	Level    float64
}

// Distribute is the distribution of a number in [low, high] from the counts of
// buckets of equal width, whose errors are independent and near normal, over
// respondents who hold one bucket each; level in (0, 1) is that of the band, and open
// says that the edge buckets hold what lies outside, too.
//
// Every point uses that the counts sum to respondents (Value.Given), so that its
// error is largest in the middle and none at the end. The band has one width: the
// errors of the running sums, tied to the known total, are a Brownian bridge watched
// at some of its times, so the supremum of the bridge over all times, Kolmogorov's
// law, bounds them: half of the width is its quantile times the standard error of
// the sum of all buckets, 1.36 of them at 95 % whatever the number of buckets. Cut to
// what a distribution function can be, the band holds it as surely as before. It
// covers the noise of the collection, not a sampling of the respondents.
func Distribute(low, high float64, open bool, buckets []Value, respondents int, level float64) (Distribution, error) {
	switch {
	case !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0):
		return Distribution{}, fmt.Errorf("estimate: a range from %v to %v: give two finite ends in order", low, high)
	case len(buckets) < 1 || respondents < 1:
		return Distribution{}, fmt.Errorf("estimate: %d buckets over %d respondents: give at least one of each", len(buckets), respondents)
	case !(level > 0 && level < 1):
		return Distribution{}, fmt.Errorf("estimate: level %v outside (0, 1)", level)
	}
	n, k := float64(respondents), len(buckets)
	all := Sum(buckets)
	half := kolmogorov(level) * all.StdErr / n
	d := Distribution{
		Low: low, High: high, Open: open, Level: level,
		At: make([]Value, k), Lo: make([]float64, k), Hi: make([]float64, k),
	}
	var mean, variance float64
	sums := make([]float64, k-1)
	for j, v := range buckets[:k-1] {
		mean += v.Mean
		variance += v.StdErr * v.StdErr
		d.At[j] = Value{Mean: mean, StdErr: math.Sqrt(variance)}.Given(all, n).Scale(1 / n)
		sums[j] = d.At[j].Mean
	}
	d.At[k-1] = Exact(1)
	d.Monotone = append(Isotonic(sums), 1)
	floor, ceiling := 0.0, 1.0
	for j := range sums {
		d.Monotone[j] = within(d.Monotone[j], 1)
		floor = max(floor, within(sums[j]-half, 1))
		d.Lo[j] = floor
	}
	for j := k - 2; j >= 0; j-- {
		ceiling = min(ceiling, within(sums[j]+half, 1))
		d.Hi[j] = ceiling
	}
	d.Lo[k-1], d.Hi[k-1] = 1, 1
	return d, nil
}

// edge is the upper edge of bucket j.
func (d Distribution) edge(j int) float64 {
	return d.Low + (d.High-d.Low)*float64(j+1)/float64(len(d.At))
}

// Quantile is the number at or below which the share q, in (0, 1), of the respondents
// lie: the estimate, by a straight line within its bucket, and an interval. All
// quantiles one may ask for lie in their intervals at once with probability Level; an
// interval ends at edges of buckets, for a bucket does not say where in it its
// numbers are. Of an open edge bucket only one end is known: a quantile in it, and an
// interval that reaches it, is infinite on the other side.
func (d Distribution) Quantile(q float64) (estimate, lo, hi float64) {
	if !(q > 0 && q < 1) {
		panic(fmt.Sprintf("estimate: quantile %v outside (0, 1)", q))
	}
	reaches := func(f []float64) int { return sort.Search(len(f)-1, func(j int) bool { return f[j] >= q }) }
	j := reaches(d.Monotone)
	below := 0.0
	if j > 0 {
		below = d.Monotone[j-1]
	}
	left := d.edge(j - 1)
	estimate = left + (d.edge(j)-left)*within((q-below)/(d.Monotone[j]-below), 1)
	lo, hi = d.edge(reaches(d.Hi)-1), d.edge(reaches(d.Lo))
	// A band that no distribution function fits into, as 1-Level of bands may be,
	// crosses itself; then the two ends change places.
	lo, hi = min(lo, hi), max(lo, hi)
	if d.Open {
		first, last := d.edge(0), d.edge(len(d.At)-2)
		if lo < first {
			lo = math.Inf(-1)
		}
		if hi > last {
			hi = math.Inf(1)
		}
		switch {
		case j == len(d.At)-1:
			estimate = math.Inf(1)
		case j == 0:
			estimate = math.Inf(-1)
		}
	}
	return estimate, lo, hi
}

// Ends are the shares of the respondents in the first and in the last bucket.
func (d Distribution) Ends() (first, last Value) {
	k := len(d.At)
	if k == 1 {
		return d.At[0], d.At[0]
	}
	return d.At[0], Exact(1).Sub(d.At[k-2])
}

// BucketMean is the mean over the respondents of a number clipped to [low, high] (taken
// to the nearer end where it lies outside) from the counts of buckets of equal width,
// taking each number for the middle of its bucket. That, which is no noise, moves the
// mean of clipped numbers by at most halfBucket. Of the mean of the numbers themselves
// the buckets say nothing where an open edge bucket holds somebody. The counts sum to
// respondents, and their errors are independent.
func BucketMean(low, high float64, buckets []Value, respondents int) (mean Value, halfBucket float64) {
	if len(buckets) < 1 || respondents < 1 {
		panic("estimate: the mean of no buckets, or over nobody")
	}
	width := (high - low) / float64(len(buckets))
	middles := make([]float64, len(buckets))
	for j := range middles {
		middles[j] = low + width*(float64(j)+0.5)
	}
	n := float64(respondents)
	return CombineGiven(middles, buckets, n).Scale(1 / n), width / 2
}

// kolmogorov is the x with P(sup |B| <= x) = level for a Brownian bridge B, rounded
// up, from
//
//	P(sup |B| > x) = 2 (e^(-2 x^2) - e^(-8 x^2) + e^(-18 x^2) - ...) .
//
// The sum alternates and falls, so it lies below each of its partial sums that end on
// a plus; 101 terms are exact for x above 0.1, where the level is below 1e-50.
func kolmogorov(level float64) float64 {
	exceeds := func(x float64) float64 {
		sum := 0.0
		for i := 101; i >= 1; i-- {
			sum = math.Exp(-2*float64(i*i)*x*x) - sum
		}
		return 2 * sum
	}
	lo, hi := 0.1, 10.0 // beyond 10 the law has 1e-86
	for range 60 {
		if mid := (lo + hi) / 2; exceeds(mid) > 1-level {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
