package histogram

import (
	"math"
	"sort"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// moments are those of a number of messages of one device in one cell.
type moments struct{ mean, variance float64 }

// thin returns the number of messages of a device that is asked with probability share.
func (m moments) thin(share float64) moments {
	mean := share * m.mean
	return moments{mean, share*(m.variance+m.mean*m.mean) - mean*mean}
}

// perDevice is the law of what one device adds to the count of a cell that it
// holds, and of another.
type perDevice struct {
	held, other       moments
	logHeld, logOther func(theta float64) float64 // ln E e^(theta N)
}

// estimate returns how many of n devices hold a cell, unbiased, with the deviation of
// the number of holders nearest to that.
func (p perDevice) estimate(count, n float64) estimate.Value {
	holders := (count - n*p.other.mean) / (p.held.mean - p.other.mean)
	return estimate.Value{Mean: holders, StdErr: p.deviation(max(0, min(n, holders)), n)}
}

func (p perDevice) deviation(holders, n float64) float64 {
	return math.Sqrt(holders*p.held.variance+(n-holders)*p.other.variance) / (p.held.mean - p.other.mean)
}

// count returns that which an estimate was made from, among n devices.
func (p perDevice) count(mean float64, n int) float64 {
	return math.Round(mean*(p.held.mean-p.other.mean) + float64(n)*p.other.mean)
}

// chernoff bounds from above ln P(count or more) where so many of n hold the cell, or
// ln P(count or less): Chernoff's bound, whose exponent is convex in theta.
func (p perDevice) chernoff(holders, n int, count float64, less bool) float64 {
	h, others := float64(holders), float64(n-holders)
	bound := func(theta float64) float64 { return h*p.logHeld(theta) + others*p.logOther(theta) - theta*count }
	low, high := 0., 64.
	if less {
		low, high = -64, 0
	}
	for range 80 {
		if a, b := low+(high-low)/3, high-(high-low)/3; bound(a) <= bound(b) {
			high = b
		} else {
			low = a
		}
	}
	return math.Min(0, bound(low+(high-low)/2))
}

// null returns the bound for a cell that nobody of n holds, given its estimate.
func (p perDevice) null(n int) func(mean float64) float64 {
	return func(mean float64) float64 { return p.chernoff(0, n, p.count(mean, n), false) }
}

// ends holds the number of holders among n with probability at least 1-alpha, given the
// estimate: it leaves out the numbers under which a count this large, or this small, has
// probability at most alpha/2. Counts rise with their holders.
func (p perDevice) ends(n int) func(mean, alpha float64) [2]float64 {
	return func(mean, alpha float64) [2]float64 {
		count, rare := p.count(mean, n), math.Log(alpha/2)
		low := sort.Search(n, func(h int) bool { return p.chernoff(h, n, count, false) > rare })
		high := sort.Search(n, func(h int) bool { return p.chernoff(h+1, n, count, true) <= rare })
		return [2]float64{float64(low), float64(max(low, high))}
	}
}
