package shuffle

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
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
	Users     int               `json:"users"`
	Flip      float64           `json:"flip_probability"`
	Adjacency account.Adjacency `json:"adjacency"`
	// Keep is the probability that a set bit is sent, and 0 stands for 1-Flip;
	// other values are those of the asymmetric variant.
	Keep float64 `json:"keep_probability,omitempty"`
}

func (e OneHot) Terms() (account.Guarantee, error) {
	if _, err := e.bit().Terms(); err != nil {
		return account.Guarantee{}, err
	}
	if e.Adjacency != account.Removal && e.Adjacency != account.Replacement {
		return account.Guarantee{}, fmt.Errorf("account: adjacency %q: need %q or %q", e.Adjacency, account.Removal, account.Replacement)
	}
	return account.Guarantee{
		Adjacency: e.Adjacency, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact law of the count of each coordinate that may change",
		Source: "dominating pairs (Zhu, Dong, Wang 2022); docs/accounting.md",
	}, nil
}

// Reduce counts the coordinates whose input changes. Under removal the bit falls
// one way in every round. Of symmetric bits the worst direction of each round is no
// worse, since the worst number of ones among the others mirrors it.
func (e OneHot) Reduce() account.Event {
	switch bit, ok := e.bit().(AsymmetricResponse); {
	case e.Adjacency != account.Removal:
		return account.Repeat{Event: e.bit(), Rounds: 2}
	case ok:
		return removedBit{bit}
	}
	return e.bit()
}

// removedBit is an AsymmetricResponse whose bit is a one in one of the worlds, and a
// zero in the other, in every round.
type removedBit struct{ AsymmetricResponse }

// Distributions are those of the bit being there, and of its being gone.
func (e removedBit) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.AsymmetricResponse.Distributions(o)
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
func (e OneHot) Losses() account.Losses {
	b := e.answer()
	if e.Adjacency == account.Removal {
		return account.Losses{Report: b.most(), Message: b.most(), Bound: account.Exact}
	}
	return account.Losses{Report: b.both(), Message: b.most(), Bound: account.Exact}
}

// Opened: a message shows one bit that changes at most (docs/histograms.md).
func (e OneHot) Opened(rounds int) (rest []account.Event, alone account.Event) {
	if e.Adjacency == account.Replacement {
		rounds *= 2
	}
	return e.bit().Opened(rounds)
}

// Replaced: the same reports under replacement.
func (e OneHot) Replaced() account.Event {
	e.Adjacency = account.Replacement
	return e
}

// answer is how a coordinate is answered.
func (e OneHot) answer() bit { return e.bit().bit() }

// A coordinate is the event of one coordinate's bit.
type coordinate interface {
	account.Event
	bit() bit
	Opened(rounds int) (rest []account.Event, alone account.Event)
}

func (e OneHot) bit() coordinate {
	if e.Keep == 0 || e.Keep == 1-e.Flip {
		return RandomizedResponse{e.Users, e.Flip}
	}
	return AsymmetricResponse{e.Users, e.Keep, e.Flip}
}
