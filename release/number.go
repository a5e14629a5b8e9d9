package release

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/release/numerals"
)

// amount prints x in its unit; an error, where there is one, decides how many
// decimals are worth printing: two digits of the error.
func amount(x, stdErr float64, unit string) string {
	scaled, suffix := x, ""
	switch unit {
	case Share:
		if stdErr == 0 {
			return numerals.FormatDecimals(100*x, 1) + "%"
		}
		scaled, stdErr, suffix = 100*x, 100*stdErr, "%"
	case Bytes:
		return numerals.Scale(x, 1000, "B", "kB", "MB", "GB", "TB")
	case Seconds:
		return numerals.Scale(x*1e6, 1000, "µs", "ms", "s")
	case Count, "":
	default:
		suffix = " " + unit
	}
	if unit == Count && !(stdErr > 1e-9) && math.Abs(scaled) < 1e15 {
		return numerals.FormatDecimals(scaled, 0)
	}
	return numerals.Digits(scaled, stdErr) + suffix
}

// plusMinus prints a number with its standard error.
func plusMinus(x, stdErr float64, unit string) string {
	s := amount(x, stdErr, unit)
	if stdErr > 0 {
		s += " ± " + amount(stdErr, stdErr, unit)
	}
	return s
}

// between prints an interval. A quarter of its width decides the decimals, as a
// standard error would; whole numbers have none.
func between(low, high float64, unit string) string {
	if unit != Share && low == math.Trunc(low) && high == math.Trunc(high) {
		return amount(low, 0, unit) + " to " + amount(high, 0, unit)
	}
	return amount(low, (high-low)/4, unit) + " to " + amount(high, (high-low)/4, unit)
}

// Interval prints the interval of a metric, "" if it has none.
func (m Metric) Interval() string {
	if m.Level == 0 {
		return ""
	}
	return fmt.Sprintf("%s interval %s%s", numerals.Percent(m.Level), between(m.Low, m.High, m.Unit), atOnce(m.Among))
}

// atOnce says that an interval is one of several that hold together.
func atOnce(among int) string {
	if among < 2 {
		return ""
	}
	return fmt.Sprintf(", all %s at once", numerals.FormatNumber(float64(among)))
}

// String prints the metric without its error, in as many digits as that leaves.
func (m Metric) String() string { return amount(m.Value, m.error(), m.Unit) }

// error returns what decides the digits.
func (m Metric) error() float64 {
	if m.Level > 0 {
		return (m.High - m.Low) / 4
	}
	return m.StdErr
}

// FormatTruth prints what a simulation knows of the metric, "" where it knows nothing.
func (m Metric) FormatTruth() string { return truth(m.Truth, m.error(), m.Unit) }

// truth prints a known number beside an estimate.
func truth(x *float64, stdErr float64, unit string) string {
	if x == nil {
		return ""
	}
	if unit != Share && *x == math.Trunc(*x) {
		stdErr = 0 // a whole number has no decimals
	}
	return "truth " + amount(*x, stdErr, unit)
}
