// Package randomize holds the mechanisms by which a device answers a question
// with one of a few symbols. Each is one type with both its ends: what the device
// does, its exact law, and what the analyzer concludes.
package randomize

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
)

// MaxEpsilon is the largest epsilon that a mechanism here accepts. Its lies, of
// probability above 2^-73, are still drawn exactly; far beyond, rounding would
// decide whether there are any. What lies above account.Meaningless protects
// nobody, and serves comparisons.
const MaxEpsilon = 50

// MinEpsilon is the least epsilon that mechanisms are calibrated to: below, rounding
// would be a large part of it.
const MinEpsilon = 1e-6

// KRR is K-ary randomized response on the symbols 0 to K-1 (Warner 1965 for K = 2;
// the label round of KDE, section 3.3). With probability
//
//	lambda = K / (e^Epsilon + K - 1)
//
// the report is a uniform symbol, otherwise it is the truth, so that the truth is
// e^Epsilon times as likely as each lie.
type KRR struct {
	K       int     // symbols, >= 2
	Epsilon float64 // local, in (0, MaxEpsilon]
}

// Validate says what is wrong with the parameters.
func (m KRR) Validate() error {
	if m.K < 2 {
		return fmt.Errorf("randomize: randomized response over %d symbols: give at least 2", m.K)
	}
	if !(m.Epsilon > 0 && m.Epsilon <= MaxEpsilon) {
		return fmt.Errorf("randomize: epsilon %v: give a number above 0 and at most %d", m.Epsilon, MaxEpsilon)
	}
	return nil
}

func (m KRR) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// uniform is lambda, the probability of a uniform symbol.
func (m KRR) uniform() float64 { return float64(m.K) / (math.Expm1(m.Epsilon) + float64(m.K)) }

// kept is 1 - lambda, without cancellation.
func (m KRR) kept() float64 { return math.Expm1(m.Epsilon) / (math.Expm1(m.Epsilon) + float64(m.K)) }

// Randomize is the report of a device that holds x, in [0, K).
//
// Rounding is against the mechanism: lambda is enlarged by 2^-50 of itself, more
// than the three roundings of 2^-53 or so in computing it, and then drawn exactly, as
// is the uniform symbol. Since the ratio of truth to lie is 1 + K (1/lambda - 1), the
// epsilon carried out is at most the stated one and less by at most K 2^-49.
func (m KRR) Randomize(r *rand.Rand, x int) int {
	m.must()
	if x < 0 || x >= m.K {
		panic("randomize: symbol outside [0, K)")
	}
	if rng.Bernoulli(r, rng.Prob(math.Min(1, m.uniform()*(1+0x1p-50)))) {
		return r.IntN(m.K)
	}
	return x
}

// Prob is the probability of the report y when the device holds x.
func (m KRR) Prob(y, x int) float64 {
	m.must()
	if y < 0 || y >= m.K || x < 0 || x >= m.K {
		panic("randomize: symbol outside [0, K)")
	}
	lie := m.uniform() / float64(m.K)
	if y == x {
		return math.Exp(m.Epsilon) * lie
	}
	return lie
}

// Inverse is the inverse of the matrix Prob, which has one value on the diagonal
// and another everywhere else: with Q = (1-lambda) I + (lambda/K) 1 1^T,
//
//	Q^-1 = (I - (lambda/K) 1 1^T) / (1-lambda).
func (m KRR) Inverse() (diagonal, other float64) {
	m.must()
	other = -m.uniform() / float64(m.K) / m.kept()
	return 1/m.kept() + other, other
}

// Debias multiplies v, one entry per reported symbol, by Inverse. It turns sums
// over the devices that reported each symbol into unbiased sums over the devices
// that hold it, whatever is summed, as long as it does not depend on the report.
func (m KRR) Debias(v []float64) []float64 {
	if len(v) != m.K {
		panic(fmt.Sprintf("randomize: %d entries for %d symbols", len(v), m.K))
	}
	var sum float64
	for _, x := range v {
		sum += x
	}
	diagonal, other := m.Inverse()
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = (diagonal-other)*x + other*sum
	}
	return out
}

// Estimate turns the counts of reports into how many devices hold each symbol,
// unbiased.
//
// Of the t devices that hold a symbol each reports it with probability a, of the
// others with probability b, so the count c has variance t a(1-a) + (n-t) b(1-b).
// Putting the unbiased (c - n b)/(a - b) for t gives (n-c) a b + c (1-a)(1-b), an
// unbiased estimate of that variance which is never negative.
func (m KRR) Estimate(counts []uint64) []estimate.Value {
	if len(counts) != m.K {
		panic(fmt.Sprintf("randomize: %d counts for %d symbols", len(counts), m.K))
	}
	var n float64
	for _, c := range counts {
		n += float64(c)
	}
	a, b := m.Prob(0, 0), m.Prob(1, 0)
	lies := float64(m.K-1) * b // 1 - a
	out := make([]estimate.Value, m.K)
	for i, c := range counts {
		c := float64(c)
		out[i] = estimate.Value{
			Mean:   (c - n*b) / m.kept(),
			StdErr: math.Sqrt((n-c)*a*b+c*lies*(1-b)) / m.kept(),
		}
	}
	return out
}

// Local is what a device is promised against everybody else.
func (m KRR) Local() account.Guarantee {
	m.must()
	return account.Guarantee{
		Epsilon: m.Epsilon, Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1,
		Bound: account.Exact, Method: fmt.Sprintf("%d-ary randomized response", m.K), Source: "ratio of its two probabilities",
	}
}
