package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/recent"
	"github.com/confetti-dp/confetti/internal/prob"
)

// thinned bounds the sum over rows of the squared gaps that are left of a respondent
// who answers a row as one of m, but for the chance Rare. With u the number of honest
// answers expected, m ~ Bin(Honest, q), Y = max(m, u)^2/Honest^2, A = E Y and K the
// squared gap of the whole vector,
//
//	(1+s) A K,   s = min over lambda > 0 of (K ln E e^(lambda (Y/A - 1)) + ln(1/Rare))/(lambda K).
func (e SecretRows) thinned() float64 { return recentThinned.Find(e, e.thin) }

var recentThinned recent.Results[SecretRows, float64]

func (e SecretRows) thin() float64 {
	whole := math.Min(e.SquaredGap, float64(e.Rows))
	if e.all() {
		return whole
	}
	c := crowded{e.Honest, e.expected(), e.share()}
	mean := c.mean()
	return profile.Raised((1 + c.slack(mean, whole, e.Rare)) * mean * whole)
}

// crowded is the law of Y = max(m, least)^2/n^2, m ~ Bin(n, q).
type crowded struct {
	n, least int
	q        float64
}

// crowdedError is what the sums below may err by, relatively, with a margin: their
// terms come from a recurrence of as many steps as there are terms.
const crowdedError = 1e-9

// mean is A = E Y, from above.
func (c crowded) mean() float64 {
	log := c.logMean(0, func(m float64) float64 { return 2 * math.Log(m/float64(c.n)) })
	return math.Exp(log) * (1 + crowdedError)
}

// slack is s at the best of some lambdas, each of which is sound. Lambda is kept
// where the terms of the sum, as a function of m, are log-concave: the binomial's
// logarithm has second differences of at most -4/(n+2), the exponent's are 2 lambda/(n^2 A).
func (c crowded) slack(mean, whole, rare float64) float64 {
	n := float64(c.n)
	at := func(lambda float64) float64 {
		scale := lambda / (mean * n * n)
		log := c.logMean(scale, func(float64) float64 { return 0 })
		return (whole*(log-lambda+crowdedError) - math.Log(rare)) / (lambda * whole)
	}
	most := math.Log(2 * n * n * mean / (n + 2) * (1 - 1e-6))
	// That of a normal law of Y/A, then a descent in ln lambda.
	variance := 2 * (1 - c.q) / (c.q * n)
	best := math.Min(most, math.Log(-2*math.Log(rare)/(whole*variance))/2)
	least := at(math.Exp(best))
	for step := 0.4; step > 0.01; step /= 2 {
		for _, to := range []float64{best - step, best + step} {
			if s := at(math.Exp(math.Min(most, to))); s < least {
				best, least = math.Min(most, to), s
			}
		}
	}
	return least * (1 + crowdedError)
}

// mostCrowded bounds the terms of logMean. A window of the binomial has some twenty sqrt(n).
const mostCrowded = 1 << 20

// logMean returns ln E e^(scale m'^2 + weight(m')), m' = max(m, least), from above up to
// crowdedError; weight is a concave function. Terms are added upwards from least. They fall ever
// faster from one to the next, so that a geometric series with the last ratio is above what is
// left: they end where that is nothing beside the sum. Where they do not within mostCrowded, which
// a lambda near its largest can bring about, nothing is proved, and the result is infinite.
func (c crowded) logMean(scale float64, weight func(m float64) float64) float64 {
	exponent := func(m float64) float64 { return scale*m*m + weight(m) }
	least := float64(c.least)
	below := prob.LogBinomialCDF(c.least-1, c.n, c.q) + exponent(least)
	first := prob.LogBinomialPMF(c.least, c.n, c.q) + exponent(least)
	odds := c.q / (1 - c.q)
	sum, log := 1.0, 0.0 // relative to the first term
	m := c.least
	defer func() { prob.Count(m - c.least) }()
	for ; m < c.n; m++ {
		if m-c.least > mostCrowded {
			return math.Inf(1)
		}
		x := float64(m)
		ratio := math.Log(float64(c.n-m)/(x+1)*odds) + exponent(x+1) - exponent(x)
		log += ratio
		term := math.Exp(log)
		sum += term
		if left := term / math.Expm1(-ratio); ratio < 0 && left < 1e-18*sum {
			sum += left
			break
		}
	}
	return prob.LogAdd(below, first+math.Log(sum))
}
