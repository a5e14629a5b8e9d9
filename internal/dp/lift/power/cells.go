package power

import "math"

// Range is what a release says of a number: it lies between two cuts.
type Range struct {
	At   float64 // about the mean of those in it: where these are smooth, variances of such numbers are not too small
	Off  float64 // how far the mean may be from that
	Open bool    // it has no upper end
}

// offBy is the part of a range by which the mean of those in it may be off.
const offBy = 1.0 / 12

// Ranges returns those that ascending cuts make: below the first, between each two, above the last.
func Ranges(cuts []float64) []Range {
	between := func(low, high float64) Range {
		r := Range{At: (low + high) / 2, Off: (high - low) * offBy}
		if low > 0 { // more are near the lower end
			r.At = (high - low) / math.Log(high/low)
		}
		return r
	}
	first, last := cuts[0], cuts[len(cuts)-1]
	width, further := math.Abs(first), math.Abs(last)
	if len(cuts) > 1 {
		width, further = cuts[1]-first, last-cuts[len(cuts)-2]
		if before := cuts[len(cuts)-2]; before > 0 { // as the last two are to each other
			further = last * (last - before) / before
		}
	}
	all := []Range{between(first-width, first)}
	if first > 0 {
		all[0] = Range{At: first / 2, Off: first * offBy}
	}
	for i := range cuts[1:] {
		all = append(all, between(cuts[i], cuts[i+1]))
	}
	end := between(last, last+further)
	end.Open = true
	return append(all, end)
}
