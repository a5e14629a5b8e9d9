package account

import (
	"cmp"
	"fmt"
	"math"
)

// SomeFragments is an observer of a stated number of one respondent's report
// fragments, together, and of nothing else of that respondent.
const SomeFragments Trust = "some fragments"

// Fragments is one bit torn into Tau fragments behind a backstop (ESA, Algorithm
// 2): the backstop randomizes the bit once at Backstop, each fragment randomizes
// the backstop's output at Fragment, and each travels through an instance of its
// own. Both are randomized response. Neighbours change the bit: that is a
// replaced respondent who has one bit, or a removed one whose report is one-hot
// (ESA, Definition II.4). A replaced one-hot report changes two bits.
type Fragments struct {
	Users     int       `json:"users"`
	Backstop  float64   `json:"epsilon_backstop"`
	Fragment  float64   `json:"epsilon_fragment"`
	Tau       int       `json:"tau"`
	Adjacency Adjacency `json:"adjacency"` // of the backstop's guarantee
}

func (f Fragments) check() error {
	t := theorem("report fragmentation")
	if f.Adjacency != Replacement && f.Adjacency != Removal {
		return fmt.Errorf("account: adjacency %q of a backstop: want %q or %q", f.Adjacency, Replacement, Removal)
	}
	return cmp.Or(t.count("users", f.Users), t.epsilon("epsilon of the backstop", f.Backstop),
		t.epsilon("epsilon of a fragment", f.Fragment), t.count("tau", f.Tau))
}

// Exposed is the pure guarantee against an observer who sees any `seen` of the
// fragments of a respondent (ESA, Theorem IV.1). It is exact: randomized
// response attains it. All tau of them is the local guarantee.
func (f Fragments) Exposed(seen int) (Guarantee, error) {
	if err := f.check(); err != nil {
		return Guarantee{}, err
	}
	if seen < 1 || seen > f.Tau {
		return Guarantee{}, fmt.Errorf("account: %d fragments seen of %d: want 1 to %d", seen, f.Tau, f.Tau)
	}
	trust := SomeFragments
	switch seen {
	case f.Tau:
		trust = Local
	case 1:
		trust = OneFragment
	}
	return Guarantee{
		Epsilon:   chained(f.Backstop, float64(seen)*f.Fragment),
		Adjacency: f.Adjacency, Trust: trust, Users: 1, Rounds: 1, Bound: Exact,
		Method: fmt.Sprintf("%d of %d fragments behind a backstop", seen, f.Tau),
		Source: "ESA, Theorem IV.1",
	}, nil
}

// Central is the guarantee for all instances together, shuffled: the smaller of
//
//   - randomized response of the backstops, since the fragments of everyone are
//     a function of the multiset of backstops and fresh coins, and
//   - tau rounds of randomized response at Fragment, since a backstop is a map
//     of each respondent's own bit, which joint convexity averages over.
//
// Each is the exact accountant's. The adjacency is that of one input bit that
// changes: Removal for one-hot reports, whose reference law is a report of zeros.
func (f Fragments) Central(delta float64) (Guarantee, error) {
	if err := f.check(); err != nil {
		return Guarantee{}, err
	}
	backstops, err := Epsilon(RandomizedResponse{Users: f.Users, Flip: flipOf(f.Backstop)}, delta)
	if err != nil {
		return Guarantee{}, err
	}
	best := backstops
	best.Method = "fragments as a function of shuffled backstops: " + best.Method
	if f.Tau <= maxRounds {
		rows, err := Epsilon(Repeat{RandomizedResponse{Users: f.Users, Flip: flipOf(f.Fragment)}, f.Tau}, delta)
		if err != nil {
			return Guarantee{}, err
		}
		if rows.Epsilon < best.Epsilon {
			best = rows
			best.Method = fmt.Sprintf("%d rows of fragments composed: %s", f.Tau, rows.Method)
		}
	}
	best.Rounds = f.Tau
	best.Adjacency = f.Adjacency
	best.Bound = Upper
	best.Source = "ESA, Appendix B; " + best.Source
	return best, nil
}

// flipOf is the flip probability of epsilon-DP randomized response, rounded down:
// the accountant never credits noise that is not there.
func flipOf(epsilon float64) float64 {
	e := math.Exp(-epsilon)
	return math.Nextafter(e/(1+e), 0)
}
