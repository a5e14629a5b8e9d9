package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/sketch"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/replay"
)

// histogramDesign is a Histogram with its numbers filled in.
type histogramDesign struct {
	// draw gives the estimates of all cells from their law, and what was counted
	// where that is one number a cell.
	draw  func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64)
	cell  *estimate.Cell // the law of such a count
	state func(res *HistogramResult)
}

// design calibrates the noise of n respondents over k cells.
func (h Histogram) design(n, k int) (histogramDesign, error) {
	switch h.Encoding {
	case Central:
		return h.curator()
	case DerivedCrowds:
		return h.derivedCrowds(n, k), nil
	}
	s, width, err := h.sketch(k)
	if err != nil {
		return histogramDesign{}, err
	}
	users, slack := n, 0.
	if s != nil {
		// Only respondents in the same sketch row add noise to it, in each repeat. The
		// chance that a row has fewer than users is charged to delta.
		slack = h.Delta / 100
		users = s.RowUsers(n, slack/float64(h.repeats()))
	}
	m, err := h.reports(n, users, slack, width)
	if err != nil {
		return histogramDesign{}, err
	}
	central, exact, err := h.central(m, n, users, slack)
	if err != nil {
		return histogramDesign{}, err
	}
	d := histogramDesign{state: func(res *HistogramResult) {
		res.Delta, res.Method = h.Delta, central.Method
		res.EpsilonCentral, res.EpsilonCentralExact = &central.Epsilon, &exact.Epsilon
		repeats := float64(res.Repeats)
		local := repeats * m.Exposed(m.Tau, h.Adjacency).Epsilon
		one := m.Exposed(1, h.Adjacency).Epsilon
		res.EpsilonLocal, res.EpsilonAlone = &local, &one
		bits := m.Backstop
		if m.Tau == 1 {
			bits = m.Fragment
		} else {
			res.FragmentFlip = m.Fragment.Flip
		}
		res.Keep, res.Flip = bits.Keep, bits.Flip
		res.MessagesPerDevice = repeats * m.Messages(1, m.Tau)
		res.EnvelopesPerDevice = res.Repeats * m.envelopes(h.overflow(exact.Epsilon, n))
		res.BytesPerDevice = res.EnvelopesPerDevice * envelope.X25519.Size(hops+1, fragment.Size(tally.MessageBytes))
	}}
	switch {
	case s != nil:
		d.draw = sketched(s, m, h.repeats(), n)
	default:
		d.draw = oneHot(m, h.repeats(), n)
		if m.Tau == 1 && h.repeats() == 1 {
			d.cell = &estimate.Cell{N: n, Keep: m.Fragment.Keep, Flip: m.Fragment.Flip}
		}
	}
	return d, nil
}

// hops of the shuffler that envelopes are sealed for, beside the analyzer.
const hops = 2

func (h Histogram) repeats() int { return max(1, h.Repeats) }

// overflow is the probability that a device may have more messages than envelopes:
// a hundredth of delta goes to it, (1 + e^epsilon) n of it in all.
func (h Histogram) overflow(epsilon float64, n int) float64 {
	return h.Delta / 100 / ((1 + math.Exp(math.Min(epsilon, 100))) * float64(n))
}

// reports are one device's bits: one-hot reports in h.Fragments fragments. Without
// fragments there is no backstop: it keeps every bit as it is.
type reports struct{ randomize.Fragmented }

func (m reports) envelopes(overflow float64) int {
	if m.Tau == 1 {
		return m.Fragment.SmallestCap(1, overflow)
	}
	return m.SmallestCap(1, m.Tau, overflow)
}

// reports finds the bits that keep the budget where users are in a row of the
// width, all n where there are no rows.
func (h Histogram) reports(n, users int, slack float64, width int) (reports, error) {
	target := account.Target{Users: users, Rounds: h.repeats(), Epsilon: h.Epsilon, Delta: h.Delta - slack}
	bits := randomize.OneHot{K: width}
	switch {
	case h.Local > 0:
		bits = symmetricBits(width, h.Local/float64(h.repeats()))
	case h.Epsilon == 0: // until everyone's limit is heard
		if bits = symmetricBits(width, leastNoise); h.Encoding == Asymmetric {
			bits.Keep = 0.5
		}
	case h.Accounting == account.PaperAccounting:
		// Tables of ESA: Lemma II.6 with lambda = 2n/(1+e^epsilon), then the local
		// epsilon is divided among the repeats.
		lambda, err := account.CheuCorollary47Lambda(n, h.Epsilon, h.Delta)
		if err != nil {
			return reports{}, err
		}
		local := math.Log(2*float64(n)/lambda - 1)
		bits = symmetricBits(width, local/float64(h.repeats()))
	case h.Encoding == Asymmetric:
		e, _, err := account.CalibrateAsymmetricOneHot(target, 0.5, h.Adjacency)
		if err != nil {
			return reports{}, err
		}
		bits.Keep, bits.Flip = e.Keep, e.Flip
	default:
		e, _, err := account.CalibrateOneHot(target, h.Adjacency)
		if err != nil {
			return reports{}, err
		}
		bits = symmetricBits(width, math.Log1p(-e.Flip)-math.Log(e.Flip))
	}
	if h.Fragments <= 1 {
		return whole(h.limited(bits)), nil
	}
	return h.behindBackstop(bits, target)
}

// whole is a report without fragments.
func whole(bits randomize.OneHot) reports {
	return reports{randomize.Fragmented{Backstop: randomize.OneHot{K: bits.K, Keep: 1}, Fragment: bits, Tau: 1}}
}

// leastNoise is the epsilon of a bit with the least flip that the accountant takes.
const leastNoise = 27

// limited has at least the noise that keeps what everyone may learn.
func (h Histogram) limited(bits randomize.OneHot) randomize.OneHot {
	if h.Everyone == 0 {
		return bits
	}
	one := h.Everyone / float64(h.repeats())
	switch {
	case h.Encoding == Asymmetric && h.Adjacency == account.Removal:
		bits.Flip = math.Max(bits.Flip, 0.5*math.Exp(-one)) // ln(keep/flip)
	case h.Encoding == Asymmetric:
		bits.Flip = math.Max(bits.Flip, 1/(1+math.Exp(one))) // ln(keep/flip) + ln((1-flip)/(1-keep))
	default:
		if h.Adjacency == account.Replacement {
			one /= 2
		}
		if one < epsilonOf(bits) {
			bits = symmetricBits(bits.K, one)
		}
	}
	return bits
}

// behindBackstop is report fragments of the bits. Exact accounting may know more of
// fragments than of the backstops that they come from: then the backstop takes more.
func (h Histogram) behindBackstop(bits randomize.OneHot, t account.Target) (reports, error) {
	tear := func(local float64) reports {
		return reports{randomize.Fragmented{Backstop: symmetricBits(bits.K, local), Fragment: symmetricBits(bits.K, account.FragmentEpsilon(local, h.Fragments)), Tau: h.Fragments}}
	}
	local := epsilonOf(bits)
	if h.Local > 0 || h.Epsilon == 0 || h.Accounting == account.PaperAccounting {
		m := tear(h.limitedBackstop(local, tear))
		return m, m.Validate()
	}
	low, high := local, math.Min(randomize.MaxEpsilon, local+math.Log(float64(h.Fragments)))
	for high-low > 1e-4 {
		middle := (low + high) / 2
		if g, err := h.exact(tear(middle), t.Users, t.Delta); err == nil && g.Epsilon <= t.Epsilon {
			low = middle
		} else {
			high = middle
		}
	}
	m := tear(h.limitedBackstop(low, tear))
	return m, m.Validate()
}

// limitedBackstop is the epsilon of a backstop all of whose fragments keep what everyone
// may learn.
func (h Histogram) limitedBackstop(epsilon float64, tear func(epsilon float64) reports) float64 {
	tells := func(epsilon float64) float64 {
		m := tear(epsilon)
		return m.Exposed(m.Tau, h.Adjacency).Epsilon
	}
	if h.Everyone == 0 || tells(epsilon) <= h.Everyone {
		return epsilon
	}
	low, high := 0., epsilon
	for high-low > 1e-12*high {
		if middle := (low + high) / 2; tells(middle) <= h.Everyone {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// epsilonOf is that of a bit that flips both ways alike.
func epsilonOf(bits randomize.OneHot) float64 { return math.Log1p(-bits.Flip) - math.Log(bits.Flip) }

// symmetricBits flip with probability 1/(1+e^epsilon): randomized response of
// epsilon, the removal epsilon of a one-hot report.
func symmetricBits(k int, epsilon float64) randomize.OneHot {
	return randomize.Symmetric(k, epsilon, account.Removal)
}

// central is the guarantee of shuffled reports, as the accounting has it and
// exactly.
func (h Histogram) central(m reports, n, users int, slack float64) (central, exact account.Guarantee, err error) {
	if exact, err = h.exact(m, users, h.Delta-slack); err != nil {
		return central, exact, err
	}
	if exact.Delta += slack; h.Accounting == account.ExactAccounting || users < n || h.repeats() > 1 {
		return exact, exact, nil // ESA has none for rows, nor for repeats
	}
	bits := m.Backstop
	if m.Tau == 1 {
		bits = m.Fragment
	}
	central, err = account.ESALemmaII6(n, 2*float64(n)*bits.Flip, h.Delta)
	central.Adjacency = account.Removal // which changes one bit
	return central, exact, err
}

func (h Histogram) exact(m reports, users int, delta float64) (account.Guarantee, error) {
	if m.Tau == 1 {
		return account.Epsilon(account.Repeat{Event: m.Fragment.Event(users, h.Adjacency), Rounds: h.repeats()}, delta)
	}
	if h.Adjacency == account.Replacement {
		// What shuffled backstops tell bounds what their fragments do.
		return account.Epsilon(m.Backstop.Event(users, h.Adjacency), delta)
	}
	f := account.Fragments{Users: users, Backstop: epsilonOf(m.Backstop), Fragment: epsilonOf(m.Fragment), Tau: m.Tau, Adjacency: h.Adjacency}
	g, err := f.Central(delta)
	if err != nil {
		// Rows of fragments of tiny flips can be beyond the accountant's grid.
		return account.Epsilon(m.Backstop.Event(users, h.Adjacency), delta)
	}
	return g, nil
}

// sketch is the sketch over k cells, nil if the encoding has none, and the width
// of one report.
func (h Histogram) sketch(k int) (sketcher, int, error) {
	const forRows = 0x5e7c
	if h.Encoding != CountMean && h.Encoding != Count {
		return nil, k, nil
	}
	var seed [32]byte
	r := replay.New(h.Seed, forRows)
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	if h.Encoding == Count {
		s, err := sketch.NewCount(h.Hashes, h.Width, seed)
		if err != nil {
			return nil, 0, err
		}
		return s, s.Cells(), nil
	}
	s, err := sketch.NewCountMean(h.Hashes, h.Width, seed)
	if err != nil {
		return nil, 0, err
	}
	return s, s.Cells(), nil
}

// curator sees all counts and adds normal noise. Removal changes one count by
// one, replacement two.
func (h Histogram) curator() (histogramDesign, error) {
	sensitivity := 1.
	if h.Adjacency == account.Replacement {
		sensitivity = math.Sqrt2
	}
	e, g, err := account.CalibrateGaussian(account.Target{Users: 1, Rounds: 1, Epsilon: h.Epsilon, Delta: h.Delta}, sensitivity)
	if err != nil {
		return histogramDesign{}, fmt.Errorf("central noise: %w", err)
	}
	return histogramDesign{
		draw: func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
			out := make([]estimate.Value, len(holders))
			for i, f := range holders {
				out[i] = estimate.Value{Mean: float64(f) + e.Sigma*r.NormFloat64(), StdErr: e.Sigma}
			}
			return out, nil
		},
		state: func(res *HistogramResult) {
			res.Delta, res.Method, res.Sigma = g.Delta, g.Method, e.Sigma
			res.EpsilonCentral, res.EpsilonCentralExact = &g.Epsilon, &g.Epsilon
			res.MessagesPerDevice, res.EnvelopesPerDevice = 1, 1
			res.BytesPerDevice = envelope.X25519.Size(hops+1, fragment.Size(tally.MessageBytes))
		},
	}, nil
}
