package account

import (
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

// theorem names a published statement in the errors of its conditions.
type theorem string

// outside is the error of a failed condition; formula is the printed value.
func (t theorem) outside(formula float64, format string, args ...any) error {
	return &DomainError{string(t), fmt.Sprintf(format, args...), formula}
}

// need is nil if a condition holds. Conditions are written so that NaN fails.
func (t theorem) need(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return t.outside(math.NaN(), format, args...)
}

// maxTheoremEpsilon keeps e^(2 epsilon) and its reciprocal within a float64. It
// is far above Meaningless, where every bound here has given up.
const maxTheoremEpsilon = 300

func (t theorem) epsilon(name string, x float64) error {
	return t.need(x > 0 && x <= maxTheoremEpsilon, "0 < %s <= %d: it is %v", name, maxTheoremEpsilon, x)
}

func (t theorem) open01(name string, x float64) error {
	return t.need(x > 0 && x < 1, "0 < %s < 1: it is %v", name, x)
}

// maxCount bounds numbers of respondents and of repetitions: float64 still
// holds their products with one another exactly enough.
const maxCount = 1 << 40

func (t theorem) count(name string, k int) error {
	return t.need(k >= 1 && k <= maxCount, "%s from 1 to %d: it is %d", name, maxCount, k)
}

// raised is a closed form rounded up: each is a few dozen operations without
// cancellation on arguments exact to an ulp, which err by less than 1e-13.
func raised(x float64) float64 { return x * (1 + 1e-13) }
