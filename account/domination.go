package account

import (
	"fmt"
	"math"
	"reflect"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/recent"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Domination certifies what is seen of a mechanism, whatever others hold and
// whatever was seen before, by a simpler view that tells at least as much: with
// probability Tail it tells everything, and otherwise it is a unit normal whose mean
// is 0 in one world and Shift in the other. This holds whichever of two neighbours is
// which: for every epsilon, below zero too, the hockey stick in either direction is at
// most Tail + (1-Tail) K(epsilon), K that of the normals.
//
// It is read off the mechanism. An epsilon and a delta do not tell it: the Gaussian
// that has both is smaller than many a mechanism that has them (docs/accounting-filters.md).
type Domination struct {
	Shift     float64   `json:"shift"` // mu, at least 0
	Tail      float64   `json:"tail"`  // tau, in [0, 1]
	Adjacency Adjacency `json:"adjacency"`
}

// dominationError is what hockey sticks of normals and quantiles may err by,
// relatively, with a margin.
const dominationError = 1e-9

// Dominate certifies an event at a tail in (0, 1). The smaller the tail, the larger
// the shift. What was certified lately is remembered: each of many devices of one program asks for the same.
func Dominate(e Event, tail float64) (Domination, error) {
	if !plain(reflect.ValueOf(e)) { // several events together among others
		return workOut(e, tail)
	}
	found := recentDominations.Find(asked{e, tail}, func() (c told) {
		c.d, c.err = workOut(e, tail)
		return c
	})
	return found.d, found.err
}

// asked names all that a domination depends on.
type asked struct {
	event Event
	tail  float64
}

// told keeps a domination, or the error in its place.
type told struct {
	d   Domination
	err error
}

var recentDominations recent.Results[asked, told]

// workOut works a domination out.
func workOut(e Event, tail float64) (Domination, error) {
	g, err := statement(e)
	if err != nil {
		return Domination{}, err
	}
	if !(tail > 0 && tail < 1) {
		return Domination{}, fmt.Errorf("account: tail %v: need 0 < tail < 1", tail)
	}
	own, rest := ownGaussians(e)
	share := tail / float64(len(own)+min(1, len(rest))) * (1 - dominationError)
	var parts []Domination
	for _, v := range own {
		d, ok := v.event.(dominator).Dominated(v.rounds, share)
		if !ok {
			if d, err = dominated(Repeat{v.event, v.rounds}, share); err != nil {
				return Domination{}, err
			}
		}
		parts = append(parts, d)
	}
	if len(rest) > 0 {
		var left All
		for _, u := range rest {
			left.Events = append(left.Events, Repeat{u.event, u.rounds})
		}
		d, err := dominated(left, share)
		if err != nil {
			return Domination{}, err
		}
		d.Adjacency = g.Adjacency
		parts = append(parts, d)
	}
	return Together(parts...)
}

// ownGaussians parts what has a Gaussian of its own from the others.
func ownGaussians(e Event) (own, rest []use) {
	for _, u := range merge(flatten(e, 1)) {
		if _, ok := u.event.(dominator); ok {
			own = append(own, u)
		} else {
			rest = append(rest, u)
		}
	}
	return own, rest
}

// and adds another mechanism on the same respondents, which may have been chosen
// after the first was seen: squares of shifts add, and so do tails.
func (d Domination) and(other Domination) Domination {
	d.Shift = profile.Raised(math.Hypot(d.Shift, other.Shift))
	d.Tail = math.Min(1, profile.AddUp(d.Tail, other.Tail))
	return d
}

// Together adds up dominations of the same neighbours.
func Together(ds ...Domination) (Domination, error) {
	if len(ds) == 0 {
		return Domination{}, fmt.Errorf("account: nothing to add up")
	}
	sum := ds[0]
	for _, d := range ds[1:] {
		if d.Adjacency != sum.Adjacency {
			return Domination{}, fmt.Errorf("account: cannot add up dominations of %s and of %s: convert one first", sum.Adjacency, d.Adjacency)
		}
		sum = sum.and(d)
	}
	return sum, nil
}

// dominatePure certifies whatever is epsilon-DP with delta 0. Its trade-off is at
// worst that of randomized response, whose corner the Gaussian's convex curve
// touches: no smaller shift would do for all such mechanisms.
func dominatePure(epsilon float64, a Adjacency) Domination {
	return DominateKary(epsilon, 2, a)
}

// DominateKary certifies randomized response over k symbols with ratio e^epsilon,
// seen by itself: of two symbols one has probability e^epsilon/(e^epsilon+k-1) in
// one world and 1/(e^epsilon+k-1) in the other, and the corner of its trade-off is
// there.
func DominateKary(epsilon float64, k int, a Adjacency) Domination {
	if !(epsilon >= 0) || k < 2 {
		panic("account: a domination of no randomized response")
	}
	others := float64(k - 1)
	// ln of both probabilities, and their quantiles.
	likely := -math.Log1p(others * math.Exp(-epsilon))
	rare := likely - epsilon
	shift := prob.NormalLogQuantile(likely) - prob.NormalLogQuantile(rare)
	if bound := 2 * math.Sqrt(2*epsilon); !(shift <= bound) { // Phi(-x) <= e^(-x^2/2)/2, where the quantiles overflow
		shift = bound
	}
	return Domination{Shift: math.Max(0, shift) * (1 + dominationError), Adjacency: a}
}

// DominateKnown certifies a mechanism of which nothing is known but that it is
// (epsilon, delta)-DP: with probability delta it may tell everything, and is
// epsilon-DP otherwise.
func DominateKnown(epsilon, delta float64, a Adjacency) Domination {
	d := dominatePure(epsilon, a)
	d.Tail = delta
	return d
}

// Twice returns the domination under replacement that follows from one under removal
// alone: of two removals in a row the second acts on what the first let through.
// With G(y) = Phi(Phi^-1(y) + Shift), Shift doubles and Tail becomes
//
//	Tail + G(Tail)/(2 Phi(-Shift)).
//
// Where the mechanism is at hand, DominateReplaced is smaller.
func (d Domination) Twice() Domination {
	d.Adjacency = Replacement
	if d.Tail > 0 {
		d.Tail = math.Min(1, (d.Tail+gaussPower(d.Tail, d.Shift)/(2*normalCDF(-d.Shift)))*(1+dominationError))
	}
	d.Shift = profile.Raised(2 * d.Shift)
	return d
}

// Under states the domination for other neighbours, as Guarantee.Under does.
func (d Domination) Under(a Adjacency) (Domination, error) {
	switch {
	case d.Adjacency == a:
	case d.Adjacency == Replacement && (a == Removal || a == Label):
		d.Adjacency = a
	case d.Adjacency == Removal && a == Replacement:
		return d.Twice(), nil
	case d.Adjacency == Removal && a == Label:
		return d.Twice().Under(Label)
	default:
		return Domination{}, fmt.Errorf("account: %s adjacency cannot be stated as %s", d.Adjacency, a)
	}
	return d, nil
}

// gaussPower returns G(y): of a test that is wrong with probability y in one world, the
// largest probability to be right in the other.
func gaussPower(y, shift float64) float64 { return normalCDF(prob.NormalQuantile(y) + shift) }

func normalCDF(z float64) float64 { return math.Exp(prob.LogNormalCDF(z)) }

// Spoilt returns the domination of a mechanism whose outcome, in either world, is another
// one than accounted for with probability at most chance: reports that outgrow their
// envelopes. Its Tail is
//
//	Tail + (chance + G(chance))/Phi(-Shift/2).
//
// (1 + e^epsilon) chance, which is added to a delta, speaks of one epsilon only.
func (d Domination) Spoilt(chance float64) Domination {
	if chance > 0 {
		d.Tail = math.Min(1, (d.Tail+(chance+gaussPower(math.Min(1, chance), d.Shift))/normalCDF(-d.Shift/2))*(1+dominationError))
	}
	return d
}

// Failing returns the domination of a mechanism that, with the given probability and in
// both worlds alike, is not the one accounted for.
func (d Domination) Failing(chance float64) Domination {
	d.Tail = math.Min(1, profile.AddUp(d.Tail, chance))
	return d
}

// DominateReplaced certifies, for replacement, an event that may speak of removal:
// of one-hot reports by the two bits that a replaced report changes, of anything
// else by Twice.
func DominateReplaced(e Event, tail float64) (Domination, error) {
	if replaced, ok := replacing(e); ok {
		return Dominate(replaced, tail)
	}
	d, err := Dominate(e, tail)
	if err != nil {
		return Domination{}, err
	}
	return d.Twice(), nil
}

// replacing returns the event of the same reports under replacement; not ok where it is
// not known.
func replacing(e Event) (Event, bool) {
	switch e := e.(type) {
	case replaceable:
		return e.Replaced(), true
	case Repeat:
		inner, ok := replacing(e.Event)
		return Repeat{inner, e.Rounds}, ok
	case All:
		all := All{make([]Event, len(e.Events))}
		for i, x := range e.Events {
			inner, ok := replacing(x)
			if !ok {
				return nil, false
			}
			all.Events[i] = inner
		}
		return all, true
	case nil:
		return nil, false
	}
	g, err := e.Terms()
	return e, err == nil && g.Adjacency == Replacement
}

// dominated certifies any event by its profile h, the larger of both directions, at
// epsilons from 0. With l = e^epsilon, h and K are convex in l. So on a cell between
// two epsilons h lies below its chord, and where K is closest to the chord its slope,
// -Phi(-shift/2 - epsilon/shift), is the chord's: one comparison covers the cell.
// Beyond the last cell h is at most the tail. Epsilons below 0 follow by reversal,
// which takes h(-e) = 1 - e^-e + e^-e h(e) to the same of K. The cells are of one width, so that
// few convolutions tell all their heights, and one search finds the shift of all.
func dominated(e Event, tail float64) (Domination, error) {
	g, err := statement(e)
	if err != nil {
		return Domination{}, err
	}
	const tailPart = 1e-7                       // of the tail, that the profile may neglect
	for _, whole := range []bool{true, false} { // a grid of losses may round more up than the tail
		var c profile.Curve
		if c, err = (Options{Neglect: tail * tailPart / float64(g.Rounds), Whole: whole}).curve(e, &g); err != nil {
			return Domination{}, err
		}
		var shift float64
		if shift, err = (underGauss{profile: c, tail: tail * (1 - dominationError)}).shift(); err == nil {
			return Domination{Shift: shift * (1 + dominationError), Tail: tail, Adjacency: g.Adjacency}, nil
		}
	}
	return Domination{}, fmt.Errorf("account: no Gaussian of tail %v dominates the event: %w", tail, err)
}
