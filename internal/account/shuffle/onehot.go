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
// one way in every round; under replacement one falls and another rises. Of symmetric bits
// the worst direction of each is no worse, since the worst number of ones among the others
// mirrors it.
func (e OneHot) Reduce() account.Event {
	bit, ok := e.bit().(AsymmetricResponse)
	switch replaced := e.Adjacency == account.Replacement; {
	case ok && replaced:
		return movedBit{bit}
	case ok:
		return removedBit{bit}
	case replaced:
		return account.Repeat{Event: e.bit(), Rounds: 2}
	}
	return e.bit()
}

// removedBit is an AsymmetricResponse whose bit is a one in one of the worlds, and a
// zero in the other, in every round.
type removedBit struct{ AsymmetricResponse }

// Distributions returns those of the bit being there, and of its being gone.
func (e removedBit) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.AsymmetricResponse.Distributions(o)
	}
	there, gone := e.AsymmetricResponse.bit().envelopes(e.AsymmetricResponse.bit().cover(e.Users, o), o)
	falls, rises, err := directed(there, gone, o.Step)
	return []*pld.Distribution{falls, rises}, err
}

// Losses: under removal one bit changes, under replacement one falls and another rises.
func (e OneHot) Losses() account.Losses {
	b := e.answer()
	if e.Adjacency == account.Removal {
		return account.Losses{Report: b.most(), Message: b.most(), Bound: account.Exact}
	}
	return account.Losses{Report: b.both(), Message: b.most(), Bound: account.Exact}
}

// Opened: a message shows one bit that changes at most (docs/histograms-privacy.md). Under
// replacement that is one that falls or one that rises, and the other stays shuffled.
func (e OneHot) Opened(rounds int) (rest []account.Event, alone account.Event) {
	if e.Adjacency == account.Removal {
		one := e
		one.Users = 1
		return less(e, rounds), one
	}
	rest, alone = e.bit().Opened(2)
	return append(rest, less(e, rounds)...), alone
}

// Replaced: the same reports under replacement.
func (e OneHot) Replaced() account.Event {
	e.Adjacency = account.Replacement
	return e
}

// answer returns how a coordinate is answered.
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
	bit := AsymmetricResponse{e.Users, e.Keep, e.Flip}
	if math.Abs(1-e.Keep-e.Flip) <= rounding {
		return nearlySymmetric{bit}
	}
	return bit
}

// less returns so many rounds of an event but for one; nil where none is left.
func less(e account.Event, rounds int) []account.Event {
	if rounds < 2 {
		return nil
	}
	return []account.Event{account.Repeat{Event: e, Rounds: rounds - 1}}
}
