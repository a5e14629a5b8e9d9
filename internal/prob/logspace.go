package prob

import "math"

// LogAdd returns log(e^a + e^b). Minus infinity stands for zero.
func LogAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if b == negInf || a == math.Inf(1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// LogSub returns log(e^a - e^b). It is NaN if a < b: a negative number has no logarithm.
func LogSub(a, b float64) float64 {
	if b == negInf {
		return a
	}
	return a + log1mExp(b-a)
}

// log1mExp returns log(1 - e^x) for x <= 0, and NaN above.
func log1mExp(x float64) float64 {
	// Above -ln 2 the difference 1-e^x is small and expm1 keeps its digits;
	// below, e^x is small and log1p does.
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}
