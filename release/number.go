package release

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FormatNumber prints x with four significant digits at most, whole numbers in
// full with a grouping comma, and powers of ten outside [1e-4, 1e15).
func FormatNumber(x float64) string {
	a := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case a >= 1e15 || a < 1e-4:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'g', 3, 64), "e")
		e, _ := strconv.Atoi(exponent)
		power := "10" + superscript(e)
		switch mantissa {
		case "1":
			return power
		case "-1":
			return "−" + power
		}
		return minus(mantissa) + "×" + power
	case a >= 1000 || x == math.Trunc(x):
		return minus(group(strconv.FormatFloat(x, 'f', 0, 64)))
	}
	return minus(strconv.FormatFloat(x, 'g', 4, 64))
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

func group(s string) string {
	sign, s := s[:len(s)-len(strings.TrimPrefix(s, "-"))], strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

// FormatDecimals prints x with the given number of decimals, grouped.
func FormatDecimals(x float64, n int) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(x, 'f', n, 64), ".")
	if fraction != "" {
		fraction = "." + fraction
	}
	return minus(group(whole) + fraction)
}

// amount prints x in its unit; an error, where there is one, decides how many
// decimals are worth printing: two digits of the error.
func amount(x, stdErr float64, unit string) string {
	scaled, suffix := x, ""
	switch unit {
	case Share:
		if stdErr == 0 {
			return FormatDecimals(100*x, 1) + "%"
		}
		scaled, stdErr, suffix = 100*x, 100*stdErr, "%"
	case Bytes:
		return scale(x, 1000, "B", "kB", "MB", "GB", "TB")
	case Seconds:
		return scale(x*1e6, 1000, "µs", "ms", "s")
	case Count, "":
	default:
		suffix = " " + unit
	}
	if stdErr > 0 && math.Abs(scaled) < 1e15 && stdErr > 1e-9 {
		return FormatDecimals(scaled, max(0, 1-int(math.Floor(math.Log10(stdErr))))) + suffix
	}
	if unit == Count && math.Abs(scaled) < 1e15 {
		return FormatDecimals(scaled, 0)
	}
	return FormatNumber(scaled) + suffix
}

// scale prints x in the largest unit it reaches, in three digits.
func scale(x, step float64, units ...string) string {
	i := 0
	for math.Abs(x) >= step*0.9995 && i < len(units)-1 {
		x /= step
		i++
	}
	if x == math.Trunc(x) || math.Abs(x) >= step {
		return FormatNumber(x) + " " + units[i]
	}
	return minus(strconv.FormatFloat(x, 'g', 3, 64)) + " " + units[i]
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
	return fmt.Sprintf("%s interval %s%s", Percent(m.Level), between(m.Low, m.High, m.Unit), atOnce(m.Among))
}

// atOnce says that an interval is one of several that hold together.
func atOnce(among int) string {
	if among < 2 {
		return ""
	}
	return fmt.Sprintf(", all %s at once", FormatNumber(float64(among)))
}

// Percent prints a level of confidence.
func Percent(level float64) string { return FormatNumber(100*level) + "%" }

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
