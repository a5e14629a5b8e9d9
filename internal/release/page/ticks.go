package page

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// slanted is how many letters of a category are drawn where names are slanted: more
// would run off a narrow drawing or take up half its height.
const slanted = 16

// Ticks chooses the ranges and the labelled marks of both axes, once the data are in.
func Ticks(p *plot.Plot, f release.Figure) error {
	if f.Kind == release.Bars {
		marks := make(plot.ConstantTicks, len(f.Categories))
		for i, c := range f.Categories {
			marks[i] = plot.Tick{Value: float64(i), Label: c}
			if name := []rune(c); p.X.Tick.Label.Rotation != 0 && len(name) > slanted {
				marks[i].Label = string(name[:slanted-1]) + "…"
			}
		}
		p.X.Tick.Marker = marks
		p.X.Tick.LineStyle.Color = color.Transparent // of no width, the names would touch the axis
		p.X.Min, p.X.Max = -0.5, float64(len(f.Categories))-0.5
	} else if err := span(&p.X, f.X.Log); err != nil {
		return fmt.Errorf("page: figure %s: x %w", f.Name, err)
	}
	if err := span(&p.Y, f.Y.Log); err != nil {
		return fmt.Errorf("page: figure %s: y %w", f.Name, err)
	}
	if f.Kind == release.Bars && p.Y.Max > 0 {
		p.Y.Max *= 1.03
	}
	return nil
}

// Beyond these magnitudes, or for a range too small beside its place, differences
// are lost to rounding and no axis can be drawn.
const (
	largest  = 1e200
	narrow   = 1e-6
	smallest = 1e-200
)

func span(a *plot.Axis, log bool) error {
	size := math.Max(math.Abs(a.Min), math.Abs(a.Max))
	switch {
	case size > largest || log && a.Min < smallest:
		return fmt.Errorf("runs from %g to %g, which cannot be drawn", a.Min, a.Max)
	case log:
		if a.Max < 1.1*a.Min {
			a.Min, a.Max = a.Min/2, a.Max*2
		}
		a.Tick.Marker = logMarks(a.Min, a.Max)
		return nil
	case size < smallest:
		a.Min, a.Max = -1, 1
	case a.Max-a.Min < narrow*size: // a level line: show it in the middle, with its place
		a.Min, a.Max = a.Min-size/2, a.Max+size/2
	}
	a.Tick.Marker = linearMarks(a.Min, a.Max)
	return nil
}

// linearMarks labels multiples of 1, 2 or 5 times a power of ten, four to nine of them.
func linearMarks(lo, hi float64) plot.ConstantTicks {
	exponent := int(math.Floor(math.Log10((hi - lo) / 4)))
	step := math.Pow10(exponent)
	for _, digit := range []float64{5, 2} {
		if digit*step <= (hi-lo)/4 {
			step *= digit
			break
		}
	}
	var marks plot.ConstantTicks
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		label := numerals.FormatNumber(k * step)
		if -9 <= exponent && exponent <= 0 && k != 0 {
			label = numerals.FormatDecimals(k*step, -exponent)
		}
		marks = append(marks, plot.Tick{Value: k * step, Label: label})
	}
	return marks
}

// logMarks labels powers of ten; 1, 2, 5 where the range holds too few of those;
// and every few decades where it holds too many. What goes on beyond the last power at
// either end has five times or a fifth of it there, so that it can be read off.
func logMarks(lo, hi float64) plot.ConstantTicks {
	from, to := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	step, digits := 1+(to-from)/8, []float64{1}
	if to-from <= 2 {
		digits = []float64{1, 2, 5}
	}
	var marks plot.ConstantTicks
	for e := from; e <= to; e += step {
		for _, d := range digits {
			if v := d * math.Pow10(e); lo <= v && v <= hi {
				marks = append(marks, plot.Tick{Value: v, Label: numerals.FormatNumber(v)})
			}
		}
	}
	if len(digits) == 1 && step == 1 && len(marks) > 0 {
		first, last := marks[0].Value, marks[len(marks)-1].Value
		if v := 5 * last; v <= hi {
			marks = append(marks, plot.Tick{Value: v, Label: numerals.FormatNumber(v)})
		}
		if v := first / 5; v >= lo {
			marks = append(plot.ConstantTicks{{Value: v, Label: numerals.FormatNumber(v)}}, marks...)
		}
	}
	return marks
}
