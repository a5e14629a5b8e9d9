package prob

import "math"

// Sum adds float64s with Neumaier's compensation: its error is about one rounding
// of the result plus n 2^-106 of the sum of absolute values, in any order of the
// terms. The zero value is an empty sum.
type Sum struct{ high, low float64 }

// Add adds x.
func (s *Sum) Add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

// Value returns the sum so far. Once an infinity or a NaN was added it is that of the
// plain sum.
func (s *Sum) Value() float64 {
	if math.IsInf(s.high, 0) || math.IsNaN(s.high) {
		return s.high
	}
	return s.high + s.low
}

// SumOf returns the compensated sum of xs.
func SumOf(xs []float64) float64 {
	var s Sum
	for _, x := range xs {
		s.Add(x)
	}
	return s.Value()
}
