// Package numerals prints numbers for people. Used by release and by internal/release/page, by internal/release/results
// for notes, and by internal/service/console.
package numerals

import (
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

// Scale prints x in the largest unit it reaches, in three digits.
func Scale(x, step float64, units ...string) string {
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

// Percent prints a level of confidence.
func Percent(level float64) string { return FormatNumber(100*level) + "%" }

// Digits prints x in as many decimals as an error makes worth printing, two digits of it; without an error as
// FormatNumber does.
func Digits(x, stdErr float64) string {
	if stdErr > 1e-9 && math.Abs(x) < 1e15 {
		return FormatDecimals(x, max(0, 1-int(math.Floor(math.Log10(stdErr)))))
	}
	return FormatNumber(x)
}

// Between prints the ends of an interval. A quarter of its width decides the decimals, as a standard error would;
// whole numbers have none.
func Between(low, high float64) (from, to string) {
	if low == math.Trunc(low) && high == math.Trunc(high) {
		return FormatNumber(low), FormatNumber(high)
	}
	return Digits(low, (high-low)/4), Digits(high, (high-low)/4)
}

// Count prints how many of something there are, with the noun that goes with the number.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
