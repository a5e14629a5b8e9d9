// Package estimate holds numbers with their standard errors, and refuses to pass one on without. Used by
// internal/dp, internal/learn, internal/release/results and protocol.
package estimate

import (
	"fmt"
	"math"
)

// Value is an estimate: unbiased mean and standard error, in the same unit.
type Value struct {
	Mean   float64 `json:"mean"`
	StdErr float64 `json:"std_err"` // standard deviation of Mean, >= 0
}

// Exact returns a number known without error.
func Exact(x float64) Value { return Value{Mean: x} }

// Interval returns the two-sided normal interval that covers the truth with
// probability level, in (0, 1): Mean -+ z StdErr.
func (v Value) Interval(level float64) (lo, hi float64) {
	half := Quantile(level) * v.StdErr
	return v.Mean - half, v.Mean + half
}

// Quantile returns the z with P(|Z| <= z) = level for a standard normal Z and level
// in (0, 1). It panics outside.
func Quantile(level float64) float64 {
	if !(level > 0 && level < 1) {
		panic(fmt.Sprintf("estimate: level %v outside (0, 1)", level))
	}
	return math.Sqrt2 * math.Erfinv(level)
}

// Scale returns the estimate of c times the quantity.
func (v Value) Scale(c float64) Value {
	return Value{Mean: c * v.Mean, StdErr: math.Abs(c) * v.StdErr}
}

// Add returns the estimate of the sum of two quantities whose errors are independent.
func (v Value) Add(w Value) Value {
	return Value{Mean: v.Mean + w.Mean, StdErr: math.Hypot(v.StdErr, w.StdErr)}
}

// Sub returns the estimate of v less w, whose errors are independent.
func (v Value) Sub(w Value) Value { return v.Add(w.Scale(-1)) }

// String writes the estimate as mean +- standard error.
func (v Value) String() string { return fmt.Sprintf("%.6g +- %.2g", v.Mean, v.StdErr) }
