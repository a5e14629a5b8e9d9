package page

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/release/numerals"
)

// Mark says where on an axis a text stands.
type Mark struct {
	At   float64
	Text string
}

// Beyond these magnitudes, or for a range too small beside its place, differences
// are lost to rounding and no axis can be drawn.
const (
	largest  = 1e200
	narrow   = 1e-6
	smallest = 1e-200
)

// Span returns the range of an axis that holds what lies between two numbers, and its marks.
func Span(low, high float64, log bool) (from, to float64, marks []Mark, err error) {
	size := math.Max(math.Abs(low), math.Abs(high))
	switch {
	case size > largest || log && low < smallest:
		return 0, 0, nil, fmt.Errorf("runs from %g to %g, which cannot be drawn", low, high)
	case log:
		if high < 1.1*low {
			low, high = low/2, high*2
		}
		return low, high, logMarks(low, high), nil
	case size < smallest:
		low, high = -1, 1
	case high-low < narrow*size: // a level line: show it in the middle, with its place
		low, high = low-size/2, high+size/2
	}
	return low, high, linearMarks(low, high), nil
}

// linearMarks labels multiples of 1, 2 or 5 times a power of ten, four to nine of them.
func linearMarks(lo, hi float64) (marks []Mark) {
	exponent := int(math.Floor(math.Log10((hi - lo) / 4)))
	step := math.Pow10(exponent)
	for _, digit := range []float64{5, 2} {
		if digit*step <= (hi-lo)/4 {
			step *= digit
			break
		}
	}
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		label := numerals.FormatNumber(k * step)
		if -9 <= exponent && exponent <= 0 && k != 0 {
			label = numerals.FormatDecimals(k*step, -exponent)
		}
		marks = append(marks, Mark{k * step, label})
	}
	return marks
}

// logMarks labels powers of ten; 1, 2, 5 where the range holds too few of those;
// and every few decades where it holds too many. What goes on beyond the last power at
// either end has five times or a fifth of it there, so that it can be read off.
func logMarks(lo, hi float64) (marks []Mark) {
	from, to := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	step, digits := 1+(to-from)/8, []float64{1}
	if to-from <= 2 {
		digits = []float64{1, 2, 5}
	}
	for e := from; e <= to; e += step {
		for _, d := range digits {
			if v := d * math.Pow10(e); lo <= v && v <= hi {
				marks = append(marks, Mark{v, numerals.FormatNumber(v)})
			}
		}
	}
	if len(digits) == 1 && step == 1 && len(marks) > 0 {
		first, last := marks[0].At, marks[len(marks)-1].At
		if v := 5 * last; v <= hi {
			marks = append(marks, Mark{v, numerals.FormatNumber(v)})
		}
		if v := first / 5; v >= lo {
			marks = append([]Mark{{v, numerals.FormatNumber(v)}}, marks...)
		}
	}
	return marks
}
