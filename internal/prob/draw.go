package prob

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// DrawBinomial draws from Binomial(n, p) in constant time, n >= 0 (exact up to 2^53)
// and p in [0, 1]. It is for simulations: its decisions pass through float64, so its
// law is right to about 1e-13 and has a grain of 2^-53. Noise that somebody relies upon
// is internal/dp/noise's. It panics outside the domain.
//
// By the symmetry of p and 1-p the smaller of the two is drawn: below a mean of ten by
// walking through the law from zero, else by transformed rejection (Hörmann 1993,
// algorithm BTRS).
func DrawBinomial(r *rand.Rand, n int, p float64) int {
	switch {
	case n < 0 || !probability(p):
		panic(fmt.Sprintf("prob: no binomial has %d trials of probability %v", n, p))
	case n == 0 || p == 0:
		return 0
	case p > 0.5:
		return n - DrawBinomial(r, n, 1-p) // 1-p is exact
	case float64(n)*p < 10:
		return walkBinomial(r, n, p)
	}
	return rejectBinomial(r, n, p)
}

// walkBinomial subtracts P(0), P(1), ... from a uniform number until nothing is left.
func walkBinomial(r *rand.Rand, n int, p float64) int {
	// A mean below ten leaves 2^-90 above 64: what rounding carries there is drawn again.
	const far = 64
	odds := p / (1 - p)
	none := math.Exp(float64(n) * math.Log1p(-p))
	for {
		u, term := r.Float64(), none
		for k := 0; k <= min(n, far); k++ {
			if u < term {
				return k
			}
			u -= term
			term *= odds * float64(n-k) / float64(k+1)
		}
	}
}

// rejectBinomial maps a uniform u in (-1/2, 1/2) to k = (2a/(1/2-|u|) + b) u + c and
// accepts it with probability f(k)/f(mode) (a/(1/2-|u|)^2 + b)/alpha, the density of k
// undone. Where |u| <= 0.43 that is at least certainty, so that most draws need no
// logarithm. The constants are Hörmann's; TestRejectionIsSound checks the two bounds.
func rejectBinomial(r *rand.Rand, n int, p float64) int {
	t := newTransform(n, p)
	mode := math.NaN()
	for {
		u, v := r.Float64()-0.5, r.Float64()
		within := 0.5 - math.Abs(u)
		x := math.Floor((2*t.a/within+t.b)*u + t.c)
		if !(x >= 0 && x <= float64(n)) {
			continue
		}
		k := int(x)
		if within >= 0.07 && v <= t.certain {
			return k
		}
		if math.IsNaN(mode) {
			mode = LogBinomialPMF(int(float64(n+1)*p), n, p)
		}
		if v*t.alpha/(t.a/(within*within)+t.b) <= math.Exp(LogBinomialPMF(k, n, p)-mode) {
			return k
		}
	}
}

// transform holds Hörmann's constants for one law.
type transform struct{ a, b, c, alpha, certain float64 }

func newTransform(n int, p float64) transform {
	deviation := math.Sqrt(float64(n) * p * (1 - p))
	b := 1.15 + 2.53*deviation
	return transform{
		a: -0.0873 + 0.0248*b + 0.01*p, b: b, c: float64(n)*p + 0.5,
		alpha: (2.83 + 5.1/b) * deviation, certain: 0.92 - 4.2/b,
	}
}
