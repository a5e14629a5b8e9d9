package randomize

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// SubsetSelection answers with a set of W of the K cells, one message each. A set that
// holds the device's cell is e^Epsilon times as likely as one that does not (Ye and Barg
// 2018; Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao 2016). For W = 1 it is KRR.
type SubsetSelection struct {
	K       int     // cells, in [2, MaxCells]
	W       int     // cells in a report, in [1, K)
	Epsilon float64 // local, under replacement, in [minEpsilon, MaxEpsilon]
}

// SubsetSize returns the W of least variance for cells that few devices hold: the integer
// nearest K/(e^epsilon + 1), in [1, K).
func SubsetSize(k int, epsilon float64) int {
	return max(1, min(k-1, int(math.Round(float64(k)/(math.Exp(epsilon)+1)))))
}

// Validate says what is wrong with the parameters.
func (m SubsetSelection) Validate() error {
	if m.K < 2 || m.K > MaxCells {
		return fmt.Errorf("randomize: subset selection over %d cells: give 2 to %d", m.K, MaxCells)
	}
	if m.W < 1 || m.W >= m.K {
		return fmt.Errorf("randomize: subsets of %d of %d cells: give at least one and not all", m.W, m.K)
	}
	return validEpsilon(m.Epsilon)
}

func (m SubsetSelection) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// favour returns how a set favours the device's cell; it holds a given one with probability W/K.
func (m SubsetSelection) favour() favour {
	return favour{m.Epsilon, float64(m.W) / float64(m.K)}
}

// support returns how likely a report holds a cell. With Z K = W e^epsilon + K - W it holds the device's with
// probability W e^epsilon/(Z K); a set without it is one of W of the other K-1 cells,
// a set with it one of W-1.
func (m SubsetSelection) support() support {
	k, w := float64(m.K), float64(m.W)
	zk := k + w*math.Expm1(m.Epsilon)
	hold, miss := w*math.Exp(m.Epsilon)/zk, (k-w)/zk
	return support{
		hold: hold, miss: miss,
		other: (hold*(w-1) + miss*w) / (k - 1),
		gap:   w * (k - w) / (k - 1) * math.Expm1(m.Epsilon) / zk,
	}
}

// Randomize emits the cells of a device's report, distinct, in an order that depends on
// the data: it is for the fragments to hide. The device holds x, in [0, K).
//
// Rounding is against the mechanism: the probability of a set without x is enlarged by
// 2^-50 of itself, which only lowers e^epsilon, and then drawn exactly, as is the rest.
func (m SubsetSelection) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	m.must()
	checkCell(x, m.K)
	m.report(r, x, m.without(), make(map[int]bool, m.W), emit)
}

// without returns the probability of a set without the device's cell, as it is drawn.
func (m SubsetSelection) without() rng.Threshold {
	return rng.Prob(math.Min(1, m.support().miss*(1+0x1p-50)))
}

// report draws one report; there is an empty map, filled in the course.
func (m SubsetSelection) report(r *rand.Rand, x int, without rng.Threshold, there map[int]bool, emit func(channel uint32)) {
	others := m.W
	if !rng.Bernoulli(r, without) {
		emit(uint32(x))
		others--
	}
	// A uniform set of the K-1 others (Floyd): each step adds one of the first j+1, or
	// the last of them if that is there already.
	for j := m.K - 1 - others; j < m.K-1; j++ {
		cell := r.IntN(j + 1)
		if there[cell] {
			cell = j
		}
		there[cell] = true
		if cell >= x {
			cell++
		}
		emit(uint32(cell))
	}
}

// Channels returns the number of different messages: one for each cell.
func (m SubsetSelection) Channels() int { return m.K }

// LogProb returns the logarithm of the probability of a report, any one set of W cells, that
// holds the device's cell or does not: (e^epsilon or 1) / (Z C(K, W)).
func (m SubsetSelection) LogProb(holds bool) float64 {
	m.must()
	// ln C(K, W) by way of the central probability of Binomial(K, W/K), which keeps its digits.
	k, share := float64(m.K), float64(m.W)/float64(m.K)
	sets := prob.LogBinomialPMF(m.W, m.K, share) - float64(m.W)*math.Log(share) - (k-float64(m.W))*math.Log1p(-share)
	log := -m.favour().logZ() - sets
	if holds {
		log += m.Epsilon
	}
	return log
}

// DrawCounts draws the analyzer's counts of all cells from their exact joint law when
// holders[x] devices hold x, device by device: the cells of one report are correlated.
// holders and out have K entries.
func (m SubsetSelection) DrawCounts(r *rand.Rand, holders []int, out []uint64) {
	m.must()
	devices(holders, m.K)
	checkLength("counts", len(out), m.K)
	clear(out)
	without, there := m.without(), make(map[int]bool, m.W)
	for x, t := range holders {
		for range t {
			m.report(r, x, without, there, func(channel uint32) { out[channel]++ })
			clear(there)
		}
	}
}

// EstimateAll estimates how many of n devices hold each cell, unbiased; counts and out have K
// entries.
func (m SubsetSelection) EstimateAll(counts []uint64, n int, out []estimate.Value) {
	m.must()
	m.support().estimateAll(counts, n, m.K, out)
}

// Variance returns that of the estimate of a cell that holders of n devices hold.
func (m SubsetSelection) Variance(holders, n int) float64 {
	m.must()
	return m.support().variance(holders, n)
}

// Event returns what the accountant is told of the shuffled sets of so many users: of two cells
// a set holds the first and not the second with probability W (K-W)/(K (K-1)). That the
// messages of a set travel apart hides more.
func (m SubsetSelection) Event(users int) account.Event {
	k, w := float64(m.K), float64(m.W)
	return m.favour().third(users, m.K, w*(k-w)/(k*(k-1)), w*(w-1)*(k-w)/(k*(k-1)*math.Max(1, k-2)))
}

// Covering returns an event that bounds that of SubsetSelection of W out of these cells or more: of
// more cells a set holds a smaller share.
func (m SubsetSelection) Covering(users int) account.Event { return m.favour().covering(users) }

// Local returns what a device is promised against everybody else.
func (m SubsetSelection) Local(adj account.Adjacency) account.Guarantee {
	m.must()
	return m.favour().local(adj, fmt.Sprintf("subset selection of %d of %d", m.W, m.K))
}
