package randomize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// MaxCells is the largest domain: a cell travels as 32 bits.
const MaxCells = 1 << 31

// OneHot is randomized response on each of K bits, one for each cell of a domain, of
// which a device sets those that it holds: one for a value, several for a set. Only
// the bits that come out as ones are sent, a message each (ESA, Algorithm 1).
//
// The reference law of removal (ESA, Definition II.4) is that of a device that sets no
// bit.
type OneHot struct {
	K    int     // cells, in [1, MaxCells]
	Keep float64 // probability that a set bit is sent, in (Flip, 1]
	Flip float64 // probability that another bit is sent, in [0, Keep); zero protects nothing
}

// Symmetric is k-RAPPOR of the given local epsilon for a device that sets one bit: set
// bits and others flip alike (ESA, Algorithm 1). Under removal each bit is randomized
// response of epsilon; under replacement, which changes two bits, of epsilon/2.
//
// Flip is rounded up and Keep down, so that the epsilon carried out is never above the
// stated one; it is below by at most 2^-47 + 2^-52/Flip.
func Symmetric(k int, epsilon float64, adj account.Adjacency) OneHot {
	checkEpsilon(epsilon)
	if checkAdjacency(adj); adj == account.Replacement {
		epsilon /= 2
	}
	flip := flipped(epsilon)
	lost := 1 - (1 - flip) // a multiple of 2^-53
	if lost < flip {
		lost += 0x1p-53
	}
	m := OneHot{K: k, Keep: 1 - lost, Flip: flip}
	m.must()
	return m
}

// flipped returns 1/(e^epsilon + 1), rounded up by more than the roundings in computing it.
func flipped(epsilon float64) float64 {
	e := math.Exp(-epsilon)
	return e / (1 + e) * (1 + 0x1p-50)
}

// Validate says what is wrong with the parameters.
func (m OneHot) Validate() error {
	if m.K < 1 || m.K > MaxCells {
		return fmt.Errorf("randomize: one-hot over %d cells: give 1 to %d", m.K, MaxCells)
	}
	if !(m.Flip >= 0 && m.Flip < m.Keep && m.Keep <= 1) {
		return fmt.Errorf("randomize: one-hot that sends set bits with probability %v and others with %v: give 0 <= other < set <= 1", m.Keep, m.Flip)
	}
	return nil
}

func (m OneHot) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// OneHotSender is a OneHot made ready to randomize.
type OneHotSender struct {
	cells int
	keep  rng.Threshold
	lies  rng.Skipper
}

// Sender makes ready what does not depend on the data.
func (m OneHot) Sender() *OneHotSender {
	m.must()
	return &OneHotSender{cells: m.K, keep: rng.Prob(m.Keep), lies: rng.NewSkipper(rng.Prob(m.Flip))}
}

// Randomize emits the cells that are sent, in increasing order, when a device sets the
// bits of set: distinct cells, none for the reference law. Its time is proportional to
// the cells set and sent, not to the domain.
//
// Bits of probability 2^-75 and above are drawn with exactly the float64 that Keep and
// Flip are. Skipping the others is off by rng.Skipper.Rounding in total variation, below
// 2^-90 for all cells together.
func (s *OneHotSender) Randomize(r *rand.Rand, set []uint32, emit func(cell uint32)) {
	if !slices.IsSorted(set) {
		set = slices.Clone(set)
		slices.Sort(set)
	}
	if n := len(set); n > 0 && int(set[n-1]) >= s.cells {
		panic("randomize: cell outside the domain")
	}
	next := 0 // of the set bits
	pass := func(below int) {
		for ; next < len(set) && int(set[next]) < below; next++ {
			if next > 0 && set[next] == set[next-1] {
				panic("randomize: a cell is set twice")
			}
			if rng.Bernoulli(r, s.keep) {
				emit(set[next])
			}
		}
	}
	for cell := range s.lies.Successes(r, s.cells) {
		pass(cell)
		if next == len(set) || int(set[next]) != cell { // a set bit does not lie
			emit(uint32(cell))
		}
	}
	pass(s.cells)
}

// Messages returns the mean number of messages of a device that sets so many bits.
func (m OneHot) Messages(set int) float64 {
	m.mustSet(set)
	return float64(set)*m.Keep + float64(m.K-set)*m.Flip
}

// OverflowProb bounds from above the probability that a device that sets at most so many
// bits sends more than cap messages: Binomial(set, Keep) + Binomial(K-set, Flip), which
// grows with set. It exceeds the truth by a billionth of itself.
func (m OneHot) OverflowProb(set, cap int) float64 {
	m.mustSet(set)
	var sum prob.Sum
	for kept := range set + 1 {
		sum.Add(math.Exp(prob.LogBinomialPMF(kept, set, m.Keep) + prob.LogBinomialSurvival(cap-kept, m.K-set, m.Flip)))
	}
	return math.Min(1, sum.Value()*(1+1e-9))
}

// SmallestCap returns the least number of envelopes that OverflowProb says is exceeded with
// probability at most target, in (0, 1).
func (m OneHot) SmallestCap(set int, target float64) int {
	checkTarget(target)
	return sort.Search(m.K, func(cap int) bool { return m.OverflowProb(set, cap) <= target })
}

func (m OneHot) mustSet(set int) {
	m.must()
	if set < 0 || set > m.K {
		panic(fmt.Sprintf("randomize: %d bits set of %d", set, m.K))
	}
}

// DrawCounts draws the analyzer's counts of all cells from their exact joint law when
// holders[cell] of n devices set each cell: the bits of a device are independent given
// its data, so cell by cell Binomial(holders, Keep) + Binomial(n-holders, Flip).
// holders and out have K entries.
func (m OneHot) DrawCounts(r *rand.Rand, holders []int, n int, out []uint64) {
	m.must()
	checkLength("holders", len(holders), m.K)
	checkLength("counts", len(out), m.K)
	for cell, t := range holders {
		out[cell] = uint64(m.drawCount(r, t, n))
	}
}

func (m OneHot) drawCount(r *rand.Rand, holders, n int) int {
	checkHolders(holders, n)
	return prob.DrawBinomial(r, holders, m.Keep) + prob.DrawBinomial(r, n-holders, m.Flip)
}

func (m OneHot) support() support {
	return support{hold: m.Keep, miss: 1 - m.Keep, other: m.Flip, gap: m.Keep - m.Flip}
}

// Estimate returns how many of n devices set a cell, unbiased, from the number of messages
// for it (ESA, section III, in counts).
func (m OneHot) Estimate(ones uint64, n int) estimate.Value {
	m.must()
	return m.support().estimate(ones, n)
}

// EstimateAll estimates every cell; counts and out have K entries.
func (m OneHot) EstimateAll(counts []uint64, n int, out []estimate.Value) {
	m.must()
	m.support().estimateAll(counts, n, m.K, out)
}

// Variance returns that of the estimate of a cell that holders of n devices set.
func (m OneHot) Variance(holders, n int) float64 {
	m.must()
	return m.support().variance(holders, n)
}

// LocalSet returns what a device that sets at most so many bits, in [1, K], is promised
// against everybody else. A set bit that is sent is Keep/Flip times as likely as
// without, one that is not (1-Keep)/(1-Flip) times. Removal changes all of the device's
// bits one way; replacement those of two disjoint sets, as far as the domain has room.
func (m OneHot) LocalSet(most int, adj account.Adjacency) account.Guarantee {
	if m.mustSet(most); most < 1 {
		panic("randomize: a promise to devices that set no bit")
	}
	sent, missing := m.losses()
	epsilon := float64(most) * math.Max(sent, missing)
	if checkAdjacency(adj); adj == account.Replacement && most < m.K {
		epsilon += float64(min(most, m.K-most)) * math.Min(sent, missing)
	}
	return local(raised(epsilon), adj, "one-hot randomized response", "ESA, Theorem III.1; product of its bits' ratios")
}

// losses returns ln of how much likelier a set bit makes a message, and another bit its absence.
func (m OneHot) losses() (sent, missing float64) {
	return math.Log(m.Keep / m.Flip), math.Log((1 - m.Flip) / (1 - m.Keep))
}

// Event returns what the accountant is told of one-hot reports of single values, shuffled
// message by message. Where Keep is 1-Flip but for rounding, it is symmetric randomized
// response with the smaller of the two flips, of which more flips are post-processing.
func (m OneHot) Event(users int, adj account.Adjacency) shuffle.OneHot {
	m.must()
	if flip := math.Min(m.Flip, 1-m.Keep); math.Abs(1-m.Keep-m.Flip) <= 0x1p-52 {
		return shuffle.OneHot{Users: users, Flip: flip, Adjacency: adj}
	}
	return shuffle.OneHot{Users: users, Flip: m.Flip, Keep: m.Keep, Adjacency: adj}
}
