package randomize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Fragmented tears a one-hot report into Tau report fragments behind a backstop (ESA,
// Algorithm 2): a device randomizes its bits once, keeps the result, and sends Tau
// randomizations of that. Who sees t of the fragments learns what Exposed says, and
// however often the device repeats them, never more than the backstop tells.
//
// A report fragment is a noisy copy of the whole report. A fragment alone is a part of what is sent: its
// payload, in one envelope (internal/dp/fragment).
type Fragmented struct {
	Backstop OneHot // drawn once for a value and kept
	Fragment OneHot // applied to the backstop for each fragment; as many cells
	Tau      int    // fragments, in [1, 2^20]
}

// maxFragments keeps counts of fragments of 2^31 devices within an int.
const maxFragments = 1 << 20

// Validate says what is wrong with the parameters.
func (m Fragmented) Validate() error {
	if err := m.Backstop.Validate(); err != nil {
		return fmt.Errorf("%w (backstop)", err)
	}
	if err := m.Fragment.Validate(); err != nil {
		return fmt.Errorf("%w (fragment)", err)
	}
	if m.Backstop.K != m.Fragment.K {
		return fmt.Errorf("randomize: fragments of %d cells behind a backstop of %d: give as many", m.Fragment.K, m.Backstop.K)
	}
	if m.Tau < 1 || m.Tau > maxFragments {
		return fmt.Errorf("randomize: %d report fragments: give 1 to %d", m.Tau, maxFragments)
	}
	return nil
}

func (m Fragmented) must() {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
}

// FragmentedSender is a Fragmented made ready to randomize.
type FragmentedSender struct{ backstop, fragment *OneHotSender }

// Sender makes ready what does not depend on the data.
func (m Fragmented) Sender() *FragmentedSender {
	m.must()
	return &FragmentedSender{backstop: m.Backstop.Sender(), fragment: m.Fragment.Sender()}
}

// Backstop draws the backstop of a device that sets the bits of set: the cells whose
// bits came out as ones, in increasing order. It is the device's secret, to be kept as
// long as the value is.
func (s *FragmentedSender) Backstop(r *rand.Rand, set []uint32) []uint32 {
	kept := []uint32{}
	s.backstop.Randomize(r, set, func(cell uint32) { kept = append(kept, cell) })
	return kept
}

// Fragment emits the cells that one more fragment of a backstop sends, in increasing
// order.
func (s *FragmentedSender) Fragment(r *rand.Rand, backstop []uint32, emit func(cell uint32)) {
	s.fragment.Randomize(r, backstop, emit)
}

// DrawCounts draws the analyzer's counts of all cells over all Tau fragments from their
// exact joint law when holders[cell] of n devices set each cell. holders and out have as
// many entries as there are cells.
func (m Fragmented) DrawCounts(r *rand.Rand, holders []int, n int, out []uint64) {
	m.must()
	m.Backstop.DrawCounts(r, holders, n, out)
	m.DrawFragments(r, out, n, m.Tau, out)
}

// DrawFragments draws the counts over some of the fragments of n devices, given how many
// of their backstops set each cell: Binomial(rows b, Keep) + Binomial(rows (n-b), Flip) of
// the fragment. The counts of different fragments are independent given the backstops.
// backstops and out may be one slice.
func (m Fragmented) DrawFragments(r *rand.Rand, backstops []uint64, n, rows int, out []uint64) {
	m.mustRows(rows)
	checkLength("backstops", len(backstops), m.Backstop.K)
	checkLength("counts", len(out), m.Backstop.K)
	for cell, b := range backstops {
		checkHolders(int(b), n)
		out[cell] = uint64(prob.DrawBinomial(r, rows*int(b), m.Fragment.Keep) +
			prob.DrawBinomial(r, rows*(n-int(b)), m.Fragment.Flip))
	}
}

// Prob returns the probability that a fragment sends the bit of a cell that the device sets
// or does not.
func (m Fragmented) Prob(set bool) float64 {
	m.must()
	kept := m.kept(set)
	return kept*m.Fragment.Keep + (1-kept)*m.Fragment.Flip
}

// kept returns the probability that the backstop sets the bit.
func (m Fragmented) kept(set bool) float64 {
	if set {
		return m.Backstop.Keep
	}
	return m.Backstop.Flip
}

// one returns the variance of the number of ones in a cell over so many fragments of one
// device: that of the fragments given the backstop, and that of the backstop, which
// they share.
func (m Fragmented) one(set bool, rows int) float64 {
	b, f, t := m.kept(set), m.Fragment, float64(rows)
	spread := t * (f.Keep - f.Flip)
	return t*(b*f.Keep*(1-f.Keep)+(1-b)*f.Flip*(1-f.Flip)) + b*(1-b)*spread*spread
}

// fragmentEstimate holds what the estimates of all cells have in common.
type fragmentEstimate struct {
	n, noise, gap float64 // devices, expected ones of a cell that nobody holds, ones a holder adds
	hold, other   float64 // variances of a device that holds the cell and of one that does not
}

func (m Fragmented) estimator(n, rows int) fragmentEstimate {
	m.mustRows(rows)
	b, f := m.Backstop, m.Fragment
	return fragmentEstimate{
		n: float64(n), noise: float64(n) * float64(rows) * m.Prob(false),
		gap:  float64(rows) * (b.Keep - b.Flip) * (f.Keep - f.Flip),
		hold: m.one(true, rows), other: m.one(false, rows),
	}
}

func (e fragmentEstimate) variance(holders float64) float64 {
	return holders*e.hold + (e.n-holders)*e.other
}

// Variance returns that of the estimate of a cell that holders of n devices set, from the
// given number of fragments of each.
func (m Fragmented) Variance(holders, n, rows int) float64 {
	checkHolders(holders, n)
	e := m.estimator(n, rows)
	return e.variance(float64(holders)) / (e.gap * e.gap)
}

// Exposed returns what a device that sets one bit is promised against who sees any `seen` of
// its Tau fragments, and nothing else (ESA, Theorem IV.1; Corollary A.2 for bits that do not flip alike).
// All of them is the local guarantee; with a kept backstop no number of repetitions exceeds
// Backstop.Local.
//
// The likelihood of the ones among the fragments of a bit grows with their number, so the
// extreme ratios are those of all ones and of none. Removal changes one bit, replacement
// two, one each way.
func (m Fragmented) Exposed(seen int, adj account.Adjacency) account.Guarantee {
	m.mustRows(seen)
	b, f, t := m.Backstop, m.Fragment, float64(seen)
	// With rho the ratio of the likelihoods, under a zero and a one of the backstop, of
	// all ones, a device that sets the bit sends them (Keep + (1-Keep) rho)/(Flip + (1-Flip) rho)
	// times as likely as one that does not: one plus (Keep-Flip)(1-rho) over that denominator.
	// No ones likewise.
	sent, missing := t*math.Log(f.Flip/f.Keep), t*math.Log((1-f.Keep)/(1-f.Flip))
	sent = math.Log1p(-(b.Keep - b.Flip) * math.Expm1(sent) / (b.Flip + (1-b.Flip)*math.Exp(sent)))
	missing = math.Log1p(-(b.Keep - b.Flip) * math.Expm1(missing) / (1 - b.Keep + b.Keep*math.Exp(missing)))
	epsilon := math.Max(sent, missing)
	if checkAdjacency(adj); adj == account.Replacement && b.K > 1 {
		epsilon = sent + missing
	}
	g := local(raised(epsilon), adj, fmt.Sprintf("%d of %d report fragments behind a backstop", seen, m.Tau), "ESA, Theorem IV.1")
	if seen < m.Tau {
		g.Trust = shuffle.FragmentsAlone
	}
	return g
}

// Event returns what the accountant is told of a device that sets one bit, of whose Tau
// fragments the observer sees `seen`, from none to all, outright, and the others among
// those of so many devices.
func (m Fragmented) Event(users, seen int, adj account.Adjacency) shuffle.FragmentedOneHot {
	m.must()
	return shuffle.FragmentedOneHot{
		Users: users, BackstopKeep: m.Backstop.Keep, BackstopFlip: m.Backstop.Flip,
		Keep: m.Fragment.Keep, Flip: m.Fragment.Flip, Tau: m.Tau, Seen: seen, Adjacency: adj,
	}
}

func (m Fragmented) mustRows(rows int) {
	if m.must(); rows < 1 || rows > m.Tau {
		panic(fmt.Sprintf("randomize: %d of %d report fragments", rows, m.Tau))
	}
}

// Messages returns the mean number of messages, over so many fragments, of a device that sets
// so many bits.
func (m Fragmented) Messages(set, rows int) float64 {
	m.mustRows(rows)
	m.Backstop.mustSet(set)
	return float64(rows) * (float64(set)*m.Prob(true) + float64(m.Backstop.K-set)*m.Prob(false))
}

// OverflowProb bounds from above the probability that a device that sets at most so many
// bits sends more than cap messages over so many fragments.
//
// The cells are independent, so the law has the generating function that is the product
// of theirs, G(z), and P(more than cap) <= G(z)/z^(cap+1) for all z >= 1 (Chernoff). The
// best z is found numerically; any would be safe. The bound exceeds the truth by a factor
// of about ten where it matters, a few per cent of the envelopes.
func (m Fragmented) OverflowProb(set, rows, cap int) float64 {
	m.mustRows(rows)
	m.Backstop.mustSet(set)
	bound := func(theta float64) float64 { // log of the bound at z = e^theta
		return float64(set)*m.logGenerate(true, rows, theta) +
			float64(m.Backstop.K-set)*m.logGenerate(false, rows, theta) - float64(cap+1)*theta
	}
	lo, hi := 0., 64.
	for range 80 { // the bound is convex: thirds shrink towards its least
		if a, b := lo+(hi-lo)/3, hi-(hi-lo)/3; bound(a) <= bound(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return math.Min(1, math.Exp(bound(lo))*(1+1e-9))
}

// logGenerate returns ln E[e^(theta N)] for the number N of ones of one cell of one device.
func (m Fragmented) logGenerate(set bool, rows int, theta float64) float64 {
	kept, up, t := m.kept(set), math.Expm1(theta), float64(rows)
	ifKept := math.Expm1(t * math.Log1p(m.Fragment.Keep*up))
	ifNot := math.Expm1(t * math.Log1p(m.Fragment.Flip*up))
	if math.IsInf(ifKept, 1) || math.IsInf(ifNot, 1) {
		return math.Inf(1)
	}
	return math.Log1p(kept*ifKept + (1-kept)*ifNot)
}

// SmallestCap returns the least number of envelopes that OverflowProb says is exceeded with
// probability at most target, in (0, 1).
func (m Fragmented) SmallestCap(set, rows int, target float64) int {
	checkTarget(target)
	return sort.Search(rows*m.Backstop.K, func(cap int) bool { return m.OverflowProb(set, rows, cap) <= target })
}
