// Package number estimates the distribution of a number and its mean from counts of its buckets. Used by
// internal/release/results.
package number

import (
	"fmt"
	"math"
	"sort"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Distribution is what the buckets of a number say about it: its distribution
// function at the upper edge of every bucket, the last of which is one.
type Distribution struct {
	Low, High float64 // range
	// Open says that what lies outside of the range was counted in the edge buckets,
	// which then have an end on one side only.
	Open     bool
	At       []estimate.Value // share of the respondents at or below each upper edge, raw
	Monotone []float64        // the same, projected: in [0, 1], not decreasing
	Lo, Hi   []float64        // band that holds the whole function with probability level
	Level    float64
}

// Buckets are the counts of buckets of equal width of [Low, High], over respondents who hold one
// bucket each, or no bucket but others, where that is counted. Errors are near normal.
type Buckets struct {
	Low, High   float64
	Open        bool // the edge buckets hold what lies outside, too
	Counts      []estimate.Value
	Others      *estimate.Value // nil where everybody holds a bucket
	Respondents int
	Together    estimate.Together // what the errors of cells have in common
	// Weighted bounds a sum of the errors of so many cells of each of two weights, but for probability alpha, by a normal
	// law or by moments (Chernoff). Where it is there, nothing is taken for normal, and shares are of what the buckets add up to: Respondents and Others are of
	// no matter.
	Weighted func(alpha float64, cells [2]int, weights [2]float64) float64
}

// blocks returns the first j buckets, the others, and who holds none.
func (b Buckets) blocks(j int) []estimate.Block {
	all := []estimate.Block{estimate.BlockOf(b.Counts[:j]...), estimate.BlockOf(b.Counts[j:]...), {}}
	if b.Others != nil {
		all[2] = estimate.BlockOf(*b.Others)
	}
	return all
}

// Within returns how many respondents hold a bucket.
func (b Buckets) Within() estimate.Value {
	if b.Weighted != nil {
		return estimate.Sum(b.Counts)
	}
	if b.Others == nil {
		return estimate.Exact(float64(b.Respondents))
	}
	return b.Together.Tied([]float64{0, 1, 0}, b.blocks(0), float64(b.Respondents))
}

// Distribution returns that of a number of those who hold a bucket; level in (0, 1) is that of the
// band. An error says what is wrong with the range or the level, or that nobody holds one.
//
// Every point uses that the cells sum to the respondents, so that its error is largest in the
// middle and none at the end. Where errors are independent and everybody holds a bucket, the
// band has one width: the errors of the running sums, tied to the known total, are a Brownian
// bridge watched at some of its times, so the supremum of the bridge over all times,
// Kolmogorov's law, bounds them: half of the width is its quantile times the standard error of
// the sum of all buckets, 1.36 of them at 95 % whatever the number of buckets. Elsewhere the
// band is of intervals for each edge that hold at once, whatever the errors have in common.
// Cut to what a distribution function can be, the band holds it as surely as before. It
// covers the noise of the collection, not a sampling of the respondents.
func (b Buckets) Distribution(level float64) (Distribution, error) {
	k := len(b.Counts)
	switch {
	case !(b.Low < b.High) || math.IsInf(b.Low, 0) || math.IsInf(b.High, 0):
		return Distribution{}, fmt.Errorf("estimate: a range from %v to %v: give two finite ends in order", b.Low, b.High)
	case k < 1 || b.Respondents < 1 && b.Weighted == nil:
		return Distribution{}, fmt.Errorf("estimate: %d buckets over %d respondents: give at least one of each", k, b.Respondents)
	case !(level > 0 && level < 1):
		return Distribution{}, fmt.Errorf("estimate: level %v outside (0, 1)", level)
	}
	n, total := b.Within().Mean, float64(b.Respondents)
	if !(n >= 1) {
		return Distribution{}, fmt.Errorf("estimate: %.3g of %d respondents in %d buckets: nobody's distribution is none", n, b.Respondents, k)
	}
	d := Distribution{
		Low: b.Low, High: b.High, Open: b.Open, Level: level,
		At: make([]estimate.Value, k), Lo: make([]float64, k), Hi: make([]float64, k),
	}
	width := estimate.Quantile(estimate.Joint(level, max(1, k-1)))
	ends := func(_ int, v estimate.Value) (low, high float64) {
		return v.Mean - width*v.StdErr, v.Mean + width*v.StdErr
	}
	if b.Others == nil && b.Together == (estimate.Together{}) {
		half := kolmogorov(level) * estimate.Sum(b.Counts).StdErr / n
		ends = func(_ int, v estimate.Value) (low, high float64) { return v.Mean - half, v.Mean + half }
	}
	if b.Weighted != nil {
		ends = func(j int, v estimate.Value) (low, high float64) {
			return b.reach(1-estimate.Joint(level, max(1, k-1)), j, v.Mean)
		}
	}
	sums := make([]float64, k-1)
	at, whole := b.blocks(0), b.blocks(0)[1]
	for j, v := range b.Counts[:k-1] {
		at[0].Cells, at[0].Mean, at[0].Variance = at[0].Cells+1, at[0].Mean+v.Mean, at[0].Variance+v.StdErr*v.StdErr
		at[1] = estimate.Block{Cells: whole.Cells - at[0].Cells, Mean: whole.Mean - at[0].Mean, Variance: max(0, whole.Variance-at[0].Variance)}
		share := at[0].Mean / n
		spread := math.Hypot((1-share)*math.Sqrt(at[0].Variance), share*math.Sqrt(at[1].Variance))
		if b.Weighted == nil {
			share = b.Together.Tied([]float64{1, 0, 0}, at, total).Mean / n
			spread = b.Together.Tied([]float64{1 - share, -share, 0}, at, total).StdErr
		}
		d.At[j] = estimate.Value{Mean: share, StdErr: spread / n}
		sums[j] = share
	}
	d.At[k-1] = estimate.Exact(1)
	d.Monotone = append(estimate.Isotonic(sums), 1)
	floor, ceiling := 0.0, 1.0
	for j := range sums {
		d.Monotone[j] = within(d.Monotone[j], 1)
		low, high := ends(j, d.At[j])
		floor = max(floor, within(low, 1))
		d.Lo[j], d.Hi[j] = floor, within(high, 1)
	}
	for j := k - 2; j >= 0; j-- {
		ceiling = min(ceiling, d.Hi[j])
		d.Hi[j] = ceiling
	}
	d.Lo[k-1], d.Hi[k-1] = 1, 1
	return d, nil
}

// halvings narrow the end of what is possible to a millionth of what may be left of it, rounded outwards.
const halvings = 20

// reach returns the ends of all shares f at the upper edge of bucket j that are possible beside an estimate of it. Times
// what the buckets add up to, the estimate is off by the errors of the buckets up to j, times 1-f, less f times the
// others'. So f is possible where that product is within the bound of such a sum at f itself, which may grow with f faster
// than the estimate's distance does.
//
// A Chernoff bound, and a normal one, is a convex function of the weights. So is the bound less the distance, to each side.
// Where that is below zero at 0 or 1, one crossing lies between there and the estimate; elsewhere all is possible.
func (b Buckets) reach(alpha float64, j int, share float64) (low, high float64) {
	n, cells := b.Within().Mean, [2]int{j + 1, len(b.Counts) - j - 1}
	toward := func(end float64) float64 {
		possible := func(f float64) bool {
			return math.Abs(share-f)*n <= b.Weighted(alpha, cells, [2]float64{1 - f, f})
		}
		if possible(end) {
			return end
		}
		out, in := end, within(share, 1)
		for range halvings {
			if mid := (out + in) / 2; possible(mid) {
				in = mid
			} else {
				out = mid
			}
		}
		return out
	}
	return toward(0), toward(1)
}

// edge returns the upper edge of bucket j.
func (d Distribution) edge(j int) float64 {
	return d.Low + (d.High-d.Low)*float64(j+1)/float64(len(d.At))
}

// Quantile returns the number at or below which the share q, in (0, 1), of the respondents
// lie: the estimate, by a straight line within its bucket, and an interval. All
// quantiles one may ask for lie in their intervals at once with probability Level; an
// interval ends at edges of buckets, for a bucket does not say where in it its
// numbers are. Of an open edge bucket only one end is known: a quantile in it, and an
// interval that reaches it, is infinite on the other side.
func (d Distribution) Quantile(q float64) (at, lo, hi float64) {
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
	at = left + (d.edge(j)-left)*within((q-below)/(d.Monotone[j]-below), 1)
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
			at = math.Inf(1)
		case j == 0:
			at = math.Inf(-1)
		}
	}
	return at, lo, hi
}

// Ends returns the shares of the respondents in the first and in the last bucket.
func (d Distribution) Ends() (first, last estimate.Value) {
	k := len(d.At)
	if k == 1 {
		return d.At[0], d.At[0]
	}
	return d.At[0], estimate.Exact(1).Sub(d.At[k-2])
}

// Mean returns the mean over those who hold a bucket of a number clipped to [Low, High] (taken
// to the nearer end where it lies outside), taking each number for the middle of its bucket.
// That, which is no noise, moves the mean of clipped numbers by at most halfBucket. Of the mean of
// the numbers themselves the buckets say nothing where an open edge bucket holds somebody.
func (b Buckets) Mean() (mean estimate.Value, halfBucket float64) {
	if len(b.Counts) < 1 || b.Respondents < 1 && b.Weighted == nil {
		panic("estimate: the mean of no buckets, or over nobody")
	}
	width := (b.High - b.Low) / float64(len(b.Counts))
	var middles, apart []float64
	var cells []estimate.Block
	for j, v := range b.Counts {
		middles, cells = append(middles, b.Low+width*(float64(j)+0.5)), append(cells, estimate.BlockOf(v))
	}
	if b.Others != nil {
		middles, cells = append(middles, 0), append(cells, estimate.BlockOf(*b.Others))
	}
	n, total := b.Within().Mean, float64(b.Respondents)
	if b.Weighted != nil {
		variance := 0.0
		for j, v := range b.Counts {
			mean.Mean += middles[j] * v.Mean / n
		}
		for j, v := range b.Counts {
			variance += (middles[j] - mean.Mean) * (middles[j] - mean.Mean) * v.StdErr * v.StdErr
		}
		mean.StdErr = math.Sqrt(variance) / n
		return mean, width / 2
	}
	mean.Mean = b.Together.Tied(middles, cells, total).Mean / n
	for j := range b.Counts {
		apart = append(apart, middles[j]-mean.Mean)
	}
	if b.Others != nil {
		apart = append(apart, 0)
	}
	mean.StdErr = b.Together.Tied(apart, cells, total).StdErr / n
	return mean, width / 2
}

// kolmogorov returns the x with P(sup |B| <= x) = level for a Brownian bridge B, rounded
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

// within returns the nearest number to x from 0 to n.
func within(x, n float64) float64 { return min(max(x, 0), n) }
