package decode

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Interval returns that of the count, at a level of error: the estimate is normal, and seen only as it passed what it
// needed.
func (f Found) Interval(alpha float64) (low, high float64) {
	return math.Max(0, f.at(alpha/2)-f.lent), math.Max(0, f.at(1-alpha/2)-f.lent)
}

// IntervalAtOnce returns an interval that holds whoever else shares a beginning of the string. They only add: so the
// low end is the least that what follows any beginning says, and nothing is taken off the high end.
func (f Found) IntervalAtOnce(alpha float64) (low, high float64) {
	low, high = f.Interval(alpha)
	high = math.Max(high, f.at(1-alpha/2))
	z := -prob.NormalQuantile(alpha / 2)
	for _, v := range f.after {
		low = math.Min(low, math.Max(0, v.Mean-z*v.StdErr))
	}
	return low, high
}

// at returns the mean of the estimate from which what is seen is exceeded with a probability.
func (f Found) at(p float64) float64 {
	seen := f.Count.Mean + f.lent
	low, high := seen-60*f.Count.StdErr, seen+60*f.Count.StdErr
	for range 60 {
		middle := (low + high) / 2
		log := prob.LogNormalSurvival((seen-middle)/f.Count.StdErr) - prob.LogNormalSurvival((f.Needed-middle)/f.Count.StdErr)
		if log > math.Log(p) {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2
}
