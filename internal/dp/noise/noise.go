// Package noise draws integer-valued noise exactly, by comparing integers. Used by internal/dp and
// internal/shuffler/admission.
//
// Every law here is that of its parameters taken as the float64 they are, but for what is stated with each: nothing
// passes through a float on its way from random bits to the number drawn. There are no tables, so a law costs
// nothing to set up, and no constructors: a law is its parameters. Methods panic on parameters that Validate
// refuses. The laws themselves are internal/prob's.
package noise

import (
	"math"

	"github.com/confetti-dp/confetti/internal/rng"
)

// positive reports whether x is a number above zero and below infinity.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// decay returns e^-x for x > 0, never below it and above it as if x were smaller by at
// most 2^-50 min(1, 2x): computing it as a float64 errs by less than the 2^-51 that are
// added. Of e^-x near one the complement is rounded, which keeps the places that
// matter.
func decay(x float64) rng.Threshold {
	if x > math.Ln2 {
		return rng.Prob(math.Exp(-x) * (1 + 0x1p-51))
	}
	return rng.Prob(-math.Expm1(-x) * (1 - 0x1p-51)).Complement()
}
