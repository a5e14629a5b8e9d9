package amplify

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// FavouredResponse is one shuffled report of each of Users respondents, by a
// mechanism in which every value favours the same Share of all reports: each of
// these is e^Epsilon times as likely as each of the rest. K-ary response favours
// one of K symbols, local hashing to G symbols a G-th of the reports, a subset of
// W of K cells W/K, Hadamard response and the sign of a random direction a half.
// The observer sees all reports. Replacement. The upper bound is that of all such
// mechanisms; a lower one is known with Third.
type FavouredResponse struct {
	Users int     `json:"users"`
	Share float64 `json:"share"`
	// Apart is the share of the reports that one of two values favours and the
	// other does not, or more; of all pairs of values the largest. 0 stands for the
	// largest there can be, the lesser of Share and 1-Share.
	Apart   float64 `json:"apart,omitempty"`
	Epsilon float64 `json:"epsilon_local"`
	// Third is the share of the reports that a third value favours of those that one of
	// two values does and the other does not, of either one alike: k-ary response 0. It is
	// a property of three values that there are, and stands for the data set whose others
	// all hold the third; without, no lower bound is known.
	Third *float64 `json:"third,omitempty"`
}

func (e FavouredResponse) check() error {
	if !(e.Share > 0 && e.Share < 1) {
		return fmt.Errorf("account: a share %v of the reports is favoured: need a number between 0 and 1", e.Share)
	}
	if !(e.Apart >= 0 && e.Apart <= math.Min(e.Share, 1-e.Share)) {
		return fmt.Errorf("account: a share %v of the reports is favoured by one value and not by the other: need 0 to %v", e.Apart, math.Min(e.Share, 1-e.Share))
	}
	if t := e.Third; t != nil && !(*t >= 0 && *t <= math.Min(e.apart(), e.Share/2)) {
		return fmt.Errorf("account: a share %v of the reports is favoured by one of two values and by a third one: need 0 to %v", *t, math.Min(e.apart(), e.Share/2))
	}
	return checkShuffled(e.Users, e.Epsilon)
}

func (e FavouredResponse) Terms() (account.Guarantee, error) {
	if err := e.check(); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact blanket: law of the reports that do not depend on anybody's value",
		Source: "Balle, Bell, Gascon, Nissim 2019; docs/accounting.md",
	}, nil
}

// pair returns the blanket's. R(x) = gamma U + (1-gamma) S_x for every x, where U is
// uniform on all reports and gamma = 1/(1 + Share (e^Epsilon - 1)): a respondent
// sends U's with probability gamma, and else a report that no more than shows x.
// Of U's reports the values x0 and x1 favour a share Apart each alone (tokens A
// and B), some both (heavy blanks), the others neither (plain ones).
func (e FavouredResponse) pair() tokens {
	apart, gamma := e.apart(), e.gamma()
	t := tokens{n: countedOn(e.Users), rate: gamma * apart, x: math.Exp(e.Epsilon), y: 1, weight: 1}
	if rest := 1 - 2*apart; rest > 0 {
		t.blank = math.Min(1, gamma*rest/(1-2*apart*gamma))
		t.both = math.Min(1, math.Max(0, (e.Share-apart)/rest))
	}
	return t
}

func (e FavouredResponse) gamma() float64 { return 1 / (1 + e.Share*math.Expm1(e.Epsilon)) }

func (e FavouredResponse) apart() float64 {
	if e.Apart == 0 {
		return math.Min(e.Share, 1-e.Share)
	}
	return e.Apart
}

// third returns the pair of worlds whose others all hold the third value, as those see it who
// count no more than the reports that either value favours alone.
func (e FavouredResponse) third() tokens {
	alone := e.gamma() * e.apart() // probability that x1 gives to what x0 favours alone
	rate := alone + e.gamma()**e.Third*math.Expm1(e.Epsilon)
	return visible(e.Users, rate, alone*math.Exp(e.Epsilon)/rate, alone/rate)
}

func (e FavouredResponse) Spread() float64 { return e.pair().spread() }

func (e FavouredResponse) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	switch {
	case rounds != 1 || o.Lower && e.Third == nil:
		return nil, "", nil
	case o.Lower:
		c, err := e.third().single(e.Epsilon, o)
		return c, account.Lower, err
	}
	c, err := e.pair().single(e.Epsilon, o)
	return c, account.Upper, err
}

func (e FavouredResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	pair := e.pair()
	if o.Lower {
		if e.Third == nil {
			return nil, &account.Unsupported{Event: e, Reason: "no lower bound is known"}
		}
		pair = e.third()
	}
	d, err := pair.distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}

// Losses: the report is the only message.
func (e FavouredResponse) Losses() account.Losses {
	return account.Losses{Report: e.Epsilon, Message: e.Epsilon, Bound: account.Exact}
}
