package profile

import "math"

// Raised returns a closed form rounded up: each is a few dozen operations without
// cancellation on arguments exact to an ulp, which err by less than 1e-13.
func Raised(x float64) float64 { return x * (1 + 1e-13) }

// AddUp returns a sum of non-negative numbers that is never below the true one.
// Zero is exact: a delta of 0 stays 0.
func AddUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return Above(a + b)
}

// Above returns the next float64 above a positive x; 0 is exact and stays 0.
func Above(x float64) float64 {
	if x == 0 {
		return 0
	}
	return Up(x)
}

// Up returns the next float64 above x.
func Up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
