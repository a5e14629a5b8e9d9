package decode

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Interval returns that of the count, at a level of error: the estimate is normal, and seen only as it passed what it
// needed, and its tail what that needed.
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
	seen, s := f.Count.Mean+f.lent, f.Count.StdErr
	low, high := -s, seen+10*s // below zero is zero
	for range 36 {
		middle := (low + high) / 2
		if f.exceeded(middle, seen) > p {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2
}

// exceeded returns the probability that an estimate of a mean exceeds what is seen, given that it passed. What the tail says
// differs from the estimate by a number that is independent of it.
func (f Found) exceeded(mean, seen float64) float64 {
	const far, pieces = 9.0, 30 // deviations, and pieces of an integral by Simpson
	s := f.Count.StdErr
	from := math.Max(f.Needed, mean-far*s)
	to := from + 2*far*s
	switch {
	case seen <= from:
		return 1
	case seen >= to:
		return 0
	}
	tail := s * math.Sqrt(1/f.tail-1)
	density := func(x float64) float64 {
		passes := prob.LogNormalCDF((x - f.checked) / tail)
		return math.Exp(passes + ((from-mean)*(from-mean)-(x-mean)*(x-mean))/(2*s*s))
	}
	integral := func(a, b float64) (sum float64) {
		step := (b - a) / (2 * pieces)
		for i := range 2*pieces + 1 {
			weight := 2.0 + 2*float64(i%2)
			if i == 0 || i == 2*pieces {
				weight = 1
			}
			sum += weight * density(a+float64(i)*step)
		}
		return sum * step / 3
	}
	below, above := integral(from, seen), integral(seen, to)
	if below+above == 0 {
		return 1
	}
	return above / (below + above)
}
