package shuffle

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// movedBit is two counts of one round, with AsymmetricResponse's bits: a respondent leaves
// the one, whose bit falls, and enters the other, whose bit rises. Both bits never fall.
//
// Let A dominate every count whose bit falls, and B every one whose bit rises: the largest
// hockey sticks of either kind over the numbers of ones among the others. Given the data the
// counts are independent, so A and B together, composed, dominate both. Exchanging the two
// worlds exchanges the counts: one pair serves both directions, and every round
// (docs/accounting-bits.md, 4). Nothing is asked of who else is counted: respondents who hold
// several cells may be in both counts.
type movedBit struct{ one AsymmetricResponse }

func (e movedBit) Terms() (account.Guarantee, error) { return e.one.Terms() }

func (e movedBit) Certificate(o account.Options) string { return e.one.Certificate(o) }

func (e movedBit) Spread() float64 {
	return math.Min(e.one.bit().both(), math.Sqrt2*e.one.Spread())
}

func (e movedBit) Distributions(o account.Options) ([]*pld.Distribution, error) {
	b, users := e.one.bit(), e.one.Users
	if o.Lower {
		ones := 0 // nobody else is in either count, or all are in the one that is left
		if b.keep*b.drop < b.flip*b.stay {
			ones = users - 1
		}
		return b.moved(users, ones, 0, o)
	}
	// What both envelopes neglect stays below where the profile of both ends.
	part := o
	part.Neglect = o.Neglect / 4
	there, gone := b.envelopes(b.cover(users, o), part)
	falls, rises, err := directed(there, gone, o.Step)
	if err != nil {
		return nil, err
	}
	h, err := b.exchanged(falls, rises, o.Step, math.Max(o.Neglect/2, 8*profile.MinTail))
	if err != nil {
		return nil, err
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// Losses: one bit falls and another rises.
func (e movedBit) Losses() account.Losses {
	b := e.one.bit()
	return account.Losses{Report: b.both(), Message: b.most(), Bound: account.Exact}
}

// directed returns the losses of a bit that falls and of one that rises, of which these are the
// profiles.
func directed(there, gone []float64, step float64) (falls, rises *pld.Distribution, err error) {
	there, gone = slices.Clone(there), slices.Clone(gone)
	start := math.Max(there[0], gone[0]) // both are the total variation
	there[0], gone[0] = start, start
	if falls, err = pld.FromCurves(there, gone, step); err != nil {
		return nil, nil, err
	}
	rises, err = pld.FromCurves(gone, there, step)
	return falls, rises, err
}

// exchanged returns the profile of such bits together at epsilon = 0, step, ..., rounded up, up to
// where nothing but the neglected is left of it.
func (b bit) exchanged(falls, rises *pld.Distribution, step, tail float64) ([]float64, error) {
	var c pld.Composition
	for _, d := range []*pld.Distribution{falls, rises} {
		if err := c.Add(d, 1); err != nil {
			return nil, err
		}
	}
	h, ended, err := c.Profile(int(math.Ceil(b.both()/step)), step, tail)
	if err != nil {
		return nil, err
	}
	for i := range h {
		h[i] = math.Min(1, h[i]*(1+profile.LawError)+tail)
	}
	last := 0.0 // beyond both local epsilons
	if ended {
		last = tail
	}
	h = append(h, last)
	for i := len(h) - 2; i >= 0; i-- {
		h[i] = math.Max(h[i], h[i+1])
	}
	return h, nil
}

// moved returns the pair of data sets in which so many others hold what the respondent leaves and
// so many what it enters, in either direction, as a lower bound.
func (b bit) moved(users, left, entered int, o account.Options) ([]*pld.Distribution, error) {
	leaving, returning := b.atoms(users, left, o)
	departing, entering := b.atoms(users, entered, o)
	one, err := lowerSum(leaving, entering, o.Step)
	if err != nil {
		return nil, err
	}
	reverse, err := lowerSum(returning, departing, o.Step)
	return []*pld.Distribution{one, reverse}, err
}

// lowerSum returns the loss of two independent counts, rounded down.
func lowerSum(a, b []pld.Atom, step float64) (*pld.Distribution, error) {
	x, err := pld.LowerFromAtoms(a, 0, step)
	if err != nil {
		return nil, err
	}
	y, err := pld.LowerFromAtoms(b, 0, step)
	if err != nil {
		return nil, err
	}
	return pld.Sum(x, y)
}
