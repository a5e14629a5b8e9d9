package flags

import (
	"math"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

// Positive refuses what is no quantity of which there is some, but not without end.
func Positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return terminal.Usagef("--%s is %v: give a number above 0", name, x)
	}
	return nil
}

// Probability refuses what is not strictly between 0 and 1.
func Probability(name string, x float64) error {
	if !(x > 0 && x < 1) {
		return terminal.Usagef("--%s is %v: give a number between 0 and 1", name, x)
	}
	return nil
}
