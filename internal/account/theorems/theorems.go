// Package theorems computes printed bounds by their published names, each within the domain that it was proved for.
// Used by internal/account and question/histogram.
package theorems

import (
	"cmp"
	"fmt"
	"math"
)

// A DomainError says that a theorem was asked about parameters that it does not
// cover. It is never turned into a guarantee.
type DomainError struct {
	Theorem   string // by its published name
	Condition string // the condition that fails, with the numbers
	// Formula is what the printed formula gives at these parameters, NaN where
	// it gives nothing. It proves nothing: it is there to reproduce the tables
	// of papers that used a formula outside its domain.
	Formula float64
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("account: %s does not apply: needs %s", e.Theorem, e.Condition)
}

// Theorem names a published statement in the errors of its conditions.
type Theorem string

// Outside returns the error of a failed condition; formula is the printed value.
func (t Theorem) Outside(formula float64, format string, args ...any) error {
	return &DomainError{string(t), fmt.Sprintf(format, args...), formula}
}

// Need returns nil if a condition holds. Conditions are written so that NaN fails.
func (t Theorem) Need(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return t.Outside(math.NaN(), format, args...)
}

// maxTheoremEpsilon keeps e^(2 epsilon) and its reciprocal within a float64. It
// is far above Meaningless, where every bound here has given up.
const maxTheoremEpsilon = 300

func (t Theorem) Epsilon(name string, x float64) error {
	return t.Need(x > 0 && x <= maxTheoremEpsilon, "0 < %s <= %d: it is %v", name, maxTheoremEpsilon, x)
}

func (t Theorem) Open01(name string, x float64) error {
	return t.Need(x > 0 && x < 1, "0 < %s < 1: it is %v", name, x)
}

// MaxCount bounds numbers of respondents and of repetitions: float64 still
// holds their products with one another exactly enough.
const MaxCount = 1 << 40

func (t Theorem) Count(name string, k int) error {
	return t.Need(k >= 1 && k <= MaxCount, "%s from 1 to %d: it is %d", name, MaxCount, k)
}

// Amplification checks what every amplification bound asks for.
func (t Theorem) Amplification(n int, epsilonLocal, delta float64) error {
	return cmp.Or(t.Count("n", n), t.Epsilon("epsilon local", epsilonLocal), t.Open01("delta", delta))
}
