package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account/pld"
)

// FavouredResponse is one shuffled report of each of Users respondents, by a
// mechanism in which every value favours the same Share of all reports: each of
// these is e^Epsilon times as likely as each of the rest. K-ary response favours
// one of K symbols, local hashing to G symbols a G-th of the reports, a subset of
// W of K cells W/K, Hadamard response and the sign of a random direction a half.
// The observer sees all reports. Upper bound, replacement.
type FavouredResponse struct {
	Users int     `json:"users"`
	Share float64 `json:"share"`
	// Apart is the share of the reports that one of two values favours and the
	// other does not, or more; of all pairs of values the largest. 0 stands for the
	// largest there can be, the lesser of Share and 1-Share.
	Apart   float64 `json:"apart,omitempty"`
	Epsilon float64 `json:"epsilon_local"`
}

func (e FavouredResponse) check() error {
	if !(e.Share > 0 && e.Share < 1) {
		return fmt.Errorf("account: a share %v of the reports is favoured: need a number between 0 and 1", e.Share)
	}
	if !(e.Apart >= 0 && e.Apart <= math.Min(e.Share, 1-e.Share)) {
		return fmt.Errorf("account: a share %v of the reports is favoured by one value and not by the other: need 0 to %v", e.Apart, math.Min(e.Share, 1-e.Share))
	}
	return checkShuffled(e.Users, e.Epsilon)
}

func (e FavouredResponse) event() (Guarantee, error) {
	if err := e.check(); err != nil {
		return Guarantee{}, err
	}
	return Guarantee{
		Adjacency: Replacement, Trust: Shuffled, Users: e.Users, Rounds: 1, Bound: Upper,
		Method: "exact blanket: law of the reports that do not depend on anybody's value",
		Source: "Balle, Bell, Gascon, Nissim 2019; docs/accounting.md",
	}, nil
}

// pair is the blanket's. R(x) = gamma U + (1-gamma) S_x for every x, where U is
// uniform on all reports and gamma = 1/(1 + Share (e^Epsilon - 1)): a respondent
// sends U's with probability gamma, and else a report that no more than shows x.
// Of U's reports the values x0 and x1 favour a share Apart each alone (tokens A
// and B), some both (heavy blanks), the others neither (plain ones).
func (e FavouredResponse) pair() tokens {
	apart := e.Apart
	if apart == 0 {
		apart = math.Min(e.Share, 1-e.Share)
	}
	gamma := 1 / (1 + e.Share*math.Expm1(e.Epsilon))
	t := tokens{n: e.Users, rate: gamma * apart, x: math.Exp(e.Epsilon), y: 1, weight: 1}
	if rest := 1 - 2*apart; rest > 0 {
		t.blank = math.Min(1, gamma*rest/(1-2*apart*gamma))
		t.both = math.Min(1, math.Max(0, (e.Share-apart)/rest))
	}
	return t
}

func (e FavouredResponse) spread() float64 { return e.pair().spread() }

func (e FavouredResponse) profile(rounds int, o options) (curve, Bound, error) {
	if rounds != 1 || o.Lower {
		return nil, "", nil
	}
	c, err := e.pair().single(e.Epsilon, o)
	return c, Upper, err
}

func (e FavouredResponse) distributions(o options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &Unsupported{e, "no lower bound is known"}
	}
	d, err := e.pair().distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}
