package prob

import "math"

// Saddle-point form of the multinomial coefficient (Loader, "Fast and accurate
// computation of binomial probabilities", 2000). Differences of log-gamma cancel
// terms of size n log n and keep nine digits at n = 1e6; here every term is small
// where the probability is large, and nothing cancels.

const halfLogTwoPi = 0.91893853320467274178032973640562 // log(2 pi)/2

// stirlingInteger[n] is stirling(n), from 60-digit arithmetic. At zero it is the
// value that makes 0^0 one in the saddle-point form.
var stirlingInteger = [16]float64{
	-halfLogTwoPi,
	0.08106146679532725822,
	0.041340695955409294094,
	0.027677925684998339149,
	0.020790672103765093112,
	0.016644691189821192163,
	0.013876128823070747999,
	0.011896709945891770095,
	0.010411265261972096497,
	0.0092554621827127329177,
	0.0083305634333628712565,
	0.007573675487951840795,
	0.0069428401072095298657,
	0.0064089941880042070684,
	0.0059513701127588477356,
	0.005554733551962801371,
}

// stirling returns the error of Stirling's formula,
// log Gamma(x+1) - (x + 1/2) log x + x - log(2 pi)/2, for x > 0, to about 1e-16
// absolute (1e-15 for fractional x < 16).
func stirling(x float64) float64 {
	if x < 16 {
		if i := int(x); float64(i) == x {
			return stirlingInteger[i]
		}
		// Gamma(x+2) = (x+1) Gamma(x+1) gives
		// stirling(x) = stirling(x+1) + (x+1/2) log(1+1/x) - 1.
		return stirling(x+1) + ((x+0.5)*math.Log1p(1/x) - 1)
	}
	// B_2k / (2k (2k-1) x^(2k-1)), k = 1..6: the seventh term is 1.4e-18 at x = 16.
	const (
		s1 = 1. / 12
		s2 = 1. / 360
		s3 = 1. / 1260
		s4 = 1. / 1680
		s5 = 1. / 1188
		s6 = 691. / 360360
	)
	y := 1 / (x * x)
	return (s1 - (s2-(s3-(s4-(s5-s6*y)*y)*y)*y)*y) / x
}

// deviance is x log(x/m) + m - x for x >= 0, m > 0, where t = x-m is given to
// full precision: a caller that knows the difference exactly must not lose it in
// the rounding of m, which costs t 2^-53 (2e-11 in the tails of n = 1e8).
// Relative error below 1e-15.
func deviance(x, m, t float64) float64 {
	if x == 0 {
		return m
	}
	v := t / (x + m)
	if math.Abs(v) > 0.5 { // x/m beyond 3 or 1/3: the difference keeps its digits
		return math.FMA(x, math.Log(x/m), -t)
	}
	// With x/m = (1+v)/(1-v), log(x/m) = 2 (v + v^3/3 + v^5/5 + ...) and
	// 2 x v - t = t v, so the deviance is t v + 2 x v (v^2/3 + v^4/5 + ...).
	v2, power, sum := v*v, 1.0, 0.0
	for odd := 3.0; ; odd += 2 {
		power *= v2
		next := sum + power/odd
		if next == sum {
			return t*v + 2*x*v*sum
		}
		sum = next
	}
}

// logBinomialTerm returns the log of Gamma(x+y+1)/(Gamma(x+1) Gamma(y+1)) p^x q^y for
// real x, y > 0 and q = 1-p in (0, 1), given t = x - (x+y)p to full precision.
// Absolute error a few 1e-16 times (1 + the value's size).
func logBinomialTerm(x, y, p, q, t float64) float64 {
	n := x + y
	return stirling(n) - stirling(x) - stirling(y) -
		deviance(x, n*p, t) - deviance(y, n*q, -t) -
		halfLogTwoPi - 0.5*math.Log(x*(y/n))
}
