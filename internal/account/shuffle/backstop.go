package shuffle

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// BehindBackstop is one bit of a respondent that is seen through a backstop: the
// backstop keeps a one with probability Keep and makes a zero one with probability
// Flip, 0 < Flip < Keep < 1, and Seen is everything that is then seen of the backstop's
// output, such as some of its fragments outright and the others among everybody's.
// Neighbours change the bit, either way (replacement).
//
// With K1 and K0 the laws of what is seen of a backstop of one and of zero, others'
// backstops given, what is seen of a bit of one and of zero is
//
//	P = k K1 + (1-k) K0   and   Q = f K1 + (1-f) K0,
//
// so P - l Q = (k - l f) (K1 - l' K0), l' = (l (1-f) - (1-k))/(k - l f), and for l >= 1
//
//	H_l(P||Q) = (k - l f) H_l'(K1||K0), and 0 from l = k/f on.
//
// The other direction is the same with k and f exchanged for 1-f and 1-k. l' >= 1 does
// not depend on the others, so any upper bound on Seen's profile may stand there.
//
// A backstop is drawn once for all that is seen of it. Several bits compose (Repeat:
// each has a backstop of its own); several plans behind one backstop do not: its coins
// are not fresh then, and all that is ever seen of it belongs into Seen.
//
// No lower bound is known: others have backstops too, which nobody sees, and what is seen
// given all of them is more than what is seen (FragmentedOneHot knows one).
type BehindBackstop struct {
	Keep float64       `json:"backstop_keep"`
	Flip float64       `json:"backstop_flip"`
	Seen account.Event `json:"seen"`
}

func (e BehindBackstop) Terms() (account.Guarantee, error) {
	if !(e.Flip >= minFlip && e.Flip < e.Keep && e.Keep <= 1-minFlip) {
		return account.Guarantee{}, fmt.Errorf("account: a backstop that keeps a one with probability %v and makes one with %v: need the first above the second, and both from %v to 1 - %v", e.Keep, e.Flip, minFlip, minFlip)
	}
	if e.Seen == nil {
		return account.Guarantee{}, errors.New("account: nothing is seen of the backstop")
	}
	g, err := e.Seen.Terms()
	if err != nil {
		return account.Guarantee{}, err
	}
	if g.Adjacency != account.Replacement {
		return account.Guarantee{}, fmt.Errorf("account: behind a backstop the neighbours of %T are under %s: give the event of one bit that changes, %s", e.Seen, g.Adjacency, account.Replacement)
	}
	g.Bound, g.Certified = account.Upper, ""
	g.Method = "what is seen of one bit's backstop, through the backstop: " + g.Method
	g.Source = account.Join(g.Source, "docs/accounting.md")
	return g, nil
}

func (e BehindBackstop) bit() bit { return bit{e.Keep, 1 - e.Keep, e.Flip, 1 - e.Flip} }

func (e BehindBackstop) Certificate(o account.Options) string { return o.Certificate(e.Seen) }

// Spread returns that of what is seen, damped as the backstop damps a small loss, and never
// beyond the backstop's own.
func (e BehindBackstop) Spread() float64 {
	return math.Min(e.bit().most(), (e.Keep-e.Flip)*account.Spread(e.Seen))
}

// seen composes what is seen of the backstop, in either direction, on a grid of its own.
func (e BehindBackstop) seen(o account.Options) (ones, zeros *pld.Composition, err error) {
	o.Step = 0
	directions, _, err := o.Directions(e.Seen)
	return directions[0], directions[1], err
}

// Distributions returns one pair that dominates both directions, since those of several bits
// may differ.
func (e BehindBackstop) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is known of what is seen through a backstop, since others' backstops are not seen"}
	}
	ones, zeros, err := e.seen(o)
	if err != nil {
		return nil, err
	}
	b := e.bit()
	h, err := b.through(ones, o)
	if err != nil {
		return nil, err
	}
	if ones != zeros || !b.symmetric() {
		falling, err := b.mirror().through(zeros, o)
		if err != nil {
			return nil, err
		}
		h = pld.Larger(h, falling)
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// through returns the profile of a composition seen through the backstop, at epsilon = 0,
// step, ..., up to where nothing but the neglected is left of it.
func (b bit) through(c *pld.Composition, o account.Options) ([]float64, error) {
	tail := math.Max(o.Neglect/2, profile.MinTail)
	points := int(math.Ceil(b.local() / o.Step)) // from there on the profile is zero
	const block = 1 << 13
	var h, factors, inner []float64
	for ended := false; len(h) < points && !ended; {
		factors, inner = factors[:0], inner[:0]
		for i := range min(block, points-len(h)) {
			f, at := b.behind(float64(len(h)+i) * o.Step)
			factors, inner = append(factors, f), append(inner, at)
		}
		deltas, err := c.Deltas(inner, tail)
		if err != nil {
			return nil, err
		}
		for i, d := range deltas {
			h = append(h, math.Min(1, factors[i]*d*(1+profile.LawError)+tail))
		}
		ended = len(deltas) < len(inner)
	}
	for i := len(h) - 2; i >= 0; i-- {
		h[i] = max(h[i], h[i+1])
	}
	last := tail // what is seen is below that from here on
	if len(h) == points {
		last = 0
	}
	return append(h, last), nil
}

// behind returns where the profile of what is seen of a backstop is asked for the profile of
// the bit at epsilon, and the factor that it is multiplied by there; zero from the
// backstop's own epsilon on. It looks below epsilon by more than what its logarithms round:
// profiles fall.
func (b bit) behind(epsilon float64) (factor, inner float64) {
	x := math.Max(0, epsilon-0x1p-40*(1+epsilon))
	factor = b.margin(x)
	if !(factor > 0) {
		return 0, math.Inf(1)
	}
	return factor, math.Max(0, math.Log((math.Exp(x)*b.stay-b.drop)/factor))
}

// Profile covers one bit, which needs no grid of its own.
func (e BehindBackstop) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	if o.Lower {
		return nil, "", nil
	}
	ones, zeros, err := e.seen(o)
	return behind{e.bit(), ones, zeros}, account.Upper, err
}

// behind is the profile of one bit behind a backstop.
type behind struct {
	bit         bit
	ones, zeros *pld.Composition // of what is seen of a backstop of one against zero, and the reverse
}

func (p behind) Delta(epsilon float64) (float64, error) {
	worst := 0.0
	for _, way := range []struct {
		bit  bit
		seen *pld.Composition
	}{{p.bit, p.ones}, {p.bit.mirror(), p.zeros}} {
		factor, inner := way.bit.behind(epsilon)
		if factor == 0 {
			continue
		}
		d, err := way.seen.Delta(inner)
		if err != nil {
			return 0, err
		}
		worst = math.Max(worst, factor*d)
		if p.ones == p.zeros && p.bit.symmetric() {
			break
		}
	}
	return worst, nil
}

func (p behind) Epsilon(delta float64) (float64, error) { return profile.Invert(p.Delta, delta) }
