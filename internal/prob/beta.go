package prob

import "math"

// LogRegularizedBeta is the log of the regularized incomplete beta function
// I_x(a, b) for a, b > 0 and x in [0, 1], that is log P(X <= x) for
// X ~ Beta(a, b). Beyond rounding of x itself: relative error in value near
// 1e-14 where I_x is the smaller tail, 1e-13 at a+b = 1e8.
func LogRegularizedBeta(a, b, x float64) float64 {
	switch {
	case !finitePositive(a) || !finitePositive(b) || !probability(x):
		return nan
	case x == 0:
		return negInf
	case x == 1:
		return 0
	}
	y, yLow := complement(x)
	lower, _ := logBetaTails(a, b, x, y, differenceOfProducts(a, y, b, x)+a*yLow)
	return lower
}

// RegularizedBeta is I_x(a, b).
func RegularizedBeta(a, b, x float64) float64 { return math.Exp(LogRegularizedBeta(a, b, x)) }

// logBetaTails are log I_x(a, b) and log I_y(b, a), which sum to one in value,
// for y = 1-x and lambda = a - (a+b)x = ay - bx given to full precision. The
// sign of lambda says on which side of the mean x lies: the far tail is computed
// and the other is its complement.
func logBetaTails(a, b, x, y, lambda float64) (lower, upper float64) {
	if lambda >= 0 {
		lower = min(0, logBetaFarTail(a, b, x, y, lambda))
		return lower, Log1mExp(lower)
	}
	upper = min(0, logBetaFarTail(b, a, y, x, -lambda))
	return Log1mExp(upper), upper
}

// logBetaFarTail is log I_x(a, b) for lambda = a - (a+b)x >= 0 by the continued
// fraction of Didonato and Morris ("Algorithm 708", 1992, formula 9), evaluated
// forwards by Lentz's method. Its terms are positive up to n = b, so that no
// digit is lost. It takes a few steps in the tail and O(sqrt(a+b)) at the mean.
func logBetaFarTail(a, b, x, y, lambda float64) float64 {
	const (
		converged = 0x1p-52
		maxSteps  = 1 << 26
	)
	// x^a y^b / B(a, b) = ab/(a+b) times the binomial term, whose saddle point
	// needs a - (a+b)x = lambda.
	prefix := logBinomialTerm(a, b, x, y, lambda) + math.Log(a*(b/(a+b)))

	f := (1 + lambda) * a / (a + 1)
	c, d := f, 0.0
	for i := 1; i < maxSteps; i++ {
		n := float64(i)
		e := a + 2*n
		g := x / (e - 1)
		alpha := (a + n - 1) * (a + b + n - 1) * g * g * n * (b - n)
		beta := n + n*(b-n)*g + (a+n)/(e+1)*(lambda+1+n*(1+y))
		if alpha == 0 { // b = n: the fraction ends here
			return prefix - math.Log(f)
		}
		d = 1 / (beta + alpha*d)
		c = beta + alpha/c
		step := c * d
		f *= step
		if math.Abs(step-1) <= converged {
			return prefix - math.Log(f)
		}
	}
	return nan
}
