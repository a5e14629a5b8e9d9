// Package randomize reports which cells a device holds, by k-ary response, bits, subsets or hashes with local privacy.
// Used by question/histogram, internal/question/label, internal/dp/sketch and internal/dp/latent.
//
// Each mechanism is one type: what the device does, its exact law, and what the analyzer concludes. What it sends
// are channels, numbers below Channels(), a message each; what a release costs is account's matter. Methods panic on
// parameters that Validate refuses.
package randomize

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// MaxEpsilon is the largest epsilon that a mechanism here accepts. Its lies, of
// probability above 2^-73, are still drawn exactly; far beyond, rounding would
// decide whether there are any. What lies above account.Meaningless protects
// nobody, and serves comparisons.
const MaxEpsilon = 50

// minEpsilon is the least epsilon that mechanisms are calibrated to: below, rounding
// would be a large part of it.
const minEpsilon = 1e-6

// KRR is k-ary response on the symbols 0 to K-1 (Warner 1965 for K = 2;
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

// kept returns 1 - lambda, without cancellation.
func (m KRR) kept() float64 { return math.Expm1(m.Epsilon) / (math.Expm1(m.Epsilon) + float64(m.K)) }

// Randomize returns the report of a device that holds x, in [0, K).
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

// Prob returns the probability of the report y when the device holds x.
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

// Inverse returns the inverse of the matrix Prob, which has one value on the diagonal
// and another everywhere else: with Q = (1-lambda) I + (lambda/K) 1 1^T,
//
//	Q^-1 = (I - (lambda/K) 1 1^T) / (1-lambda).
func (m KRR) Inverse() (diagonal, other float64) {
	m.must()
	other = -m.uniform() / float64(m.K) / m.kept()
	return 1/m.kept() + other, other
}

// Channels returns the number of different messages: one for each symbol.
func (m KRR) Channels() int { return m.K }

func (m KRR) support() support {
	m.must()
	a, b := m.Prob(0, 0), m.Prob(1, 0)
	return support{hold: a, miss: float64(m.K-1) * b, other: b, gap: m.kept()}
}

// DrawCounts draws the analyzer's counts of reports from their exact joint law when
// holders[x] devices hold x. holders and out have K entries.
func (m KRR) DrawCounts(r *rand.Rand, holders []int, out []uint64) {
	m.must()
	devices(holders, m.K)
	checkLength("counts", len(out), m.K)
	lies := 0
	for x, t := range holders {
		lying := prob.DrawBinomial(r, t, m.uniform())
		lies += lying
		out[x] = uint64(t - lying)
	}
	scatter(r, lies, out)
}

// Estimate estimates from the counts of all devices that reported.
func (m KRR) Estimate(counts []uint64) []estimate.Value {
	n, out := 0, make([]estimate.Value, m.K)
	for _, c := range counts {
		n += int(c)
	}
	m.EstimateAll(counts, n, out)
	return out
}

// EstimateAll estimates how many of n devices hold each symbol, unbiased, from the counts of
// reports; counts and out have K entries.
func (m KRR) EstimateAll(counts []uint64, n int, out []estimate.Value) {
	m.support().estimateAll(counts, n, m.K, out)
}

// Variance returns that of the estimate of a symbol that holders of n devices hold.
func (m KRR) Variance(holders, n int) float64 { return m.support().variance(holders, n) }

// RMSE returns the root of the mean over symbols of the estimates' variances, where all of n devices
// hold one symbol.
func (m KRR) RMSE(n int) float64 {
	k := float64(m.K)
	return math.Sqrt((m.Variance(n, n) + (k-1)*m.Variance(0, n)) / k)
}

// Event returns what the accountant is told of the shuffled reports of so many users: package amplify says what they
// cost.
func (m KRR) Event(users int) account.Event {
	return amplify.KaryResponse{Users: users, K: m.K, Epsilon: m.Epsilon}
}

// Covering returns an event that bounds that of KRR over these symbols or more: of more symbols
// each favours a smaller share.
func (m KRR) Covering(users int) account.Event {
	return favour{m.Epsilon, 1 / float64(m.K)}.covering(users)
}

// Local returns what a device is promised against everybody else.
func (m KRR) Local(adj account.Adjacency) account.Guarantee {
	m.must()
	return favour{m.Epsilon, 1 / float64(m.K)}.local(adj, fmt.Sprintf("%d-ary response", m.K))
}
