package terminal

import (
	"fmt"
	"math"
)

// Wide prints a number for people: at most four digits that matter.
func Wide(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "none"
	case x >= 1000 && x < 1e7:
		return Thousands(int(math.Round(x)))
	}
	return fmt.Sprintf("%.4g", x)
}

// Thousands groups the digits of a whole number.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
