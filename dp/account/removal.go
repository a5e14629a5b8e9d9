package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account/pld"
)

// OneHot is a shuffled one-hot report torn into one message per coordinate, as
// the observer sees it: the count of ones of every coordinate, each bit of each
// respondent flipped with probability Flip (ESA, Algorithm 1).
//
// Removal exchanges the respondent's report for a draw of the reference law
// (ESA, Definitions II.3 and II.4): randomized response on all zeros. That
// changes one input bit, the coordinates are independent given the data, and
// so the loss is that of one count. Replacement changes two bits, hence two
// counts. The number of coordinates does not matter.
type OneHot struct {
	Users     int       `json:"users"`
	Flip      float64   `json:"flip_probability"`
	Adjacency Adjacency `json:"adjacency"`
	// Keep is the probability that a set bit is sent, and 0 stands for 1-Flip;
	// other values are those of the asymmetric variant.
	Keep float64 `json:"keep_probability,omitempty"`
}

func (e OneHot) event() (Guarantee, error) {
	if _, err := e.bit().event(); err != nil {
		return Guarantee{}, err
	}
	if e.Adjacency != Removal && e.Adjacency != Replacement {
		return Guarantee{}, fmt.Errorf("account: adjacency %q: need %q or %q", e.Adjacency, Removal, Replacement)
	}
	return Guarantee{
		Adjacency: e.Adjacency, Trust: Shuffled, Users: e.Users, Rounds: 1, Bound: Upper,
		Method: "exact law of the count of each coordinate that may change",
		Source: "dominating pairs (Zhu, Dong, Wang 2022); docs/accounting.md",
	}, nil
}

// reduce counts the coordinates whose input changes. Under removal the bit falls
// one way in every round. Of symmetric bits the worst direction of each round is no
// worse, since the worst number of ones among the others mirrors it.
func (e OneHot) reduce() Event {
	switch bit, ok := e.bit().(AsymmetricResponse); {
	case e.Adjacency != Removal:
		return Repeat{e.bit(), 2}
	case ok:
		return removedBit{bit}
	}
	return e.bit()
}

// removedBit is an AsymmetricResponse whose bit is a one in one of the worlds, and a
// zero in the other, in every round.
type removedBit struct{ AsymmetricResponse }

// distributions are those of the bit being there, and of its being gone.
func (e removedBit) distributions(o options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.AsymmetricResponse.distributions(o)
	}
	there, gone := e.AsymmetricResponse.bit().envelopes(cover(e.Users, o), o)
	start := math.Max(there[0], gone[0]) // both are the total variation
	there[0], gone[0] = start, start
	a, err := pld.FromCurves(there, gone, o.Step)
	if err != nil {
		return nil, err
	}
	b, err := pld.FromCurves(gone, there, o.Step)
	return []*pld.Distribution{a, b}, err
}

// Losses: under removal one bit changes, under replacement one falls and another rises.
func (e OneHot) Losses() Losses {
	b := e.answer()
	if e.Adjacency == Removal {
		return Losses{Report: b.most(), Message: b.most(), Bound: Exact}
	}
	return Losses{Report: b.both(), Message: b.most(), Bound: Exact}
}

// Opened: a message shows one bit that changes at most (docs/histograms.md).
func (e OneHot) Opened(rounds int) (rest []Event, alone Event) {
	if e.Adjacency == Replacement {
		rounds *= 2
	}
	return e.bit().(openable).Opened(rounds)
}

// Replaced: the same reports under replacement.
func (e OneHot) Replaced() Event {
	e.Adjacency = Replacement
	return e
}

// answer is how a coordinate is answered.
func (e OneHot) answer() bit { return e.bit().(interface{ bit() bit }).bit() }

// bit is the event of one coordinate.
func (e OneHot) bit() Event {
	if e.Keep == 0 || e.Keep == 1-e.Flip {
		return RandomizedResponse{e.Users, e.Flip}
	}
	return AsymmetricResponse{e.Users, e.Keep, e.Flip}
}
