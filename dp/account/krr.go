package account

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account/pld"
)

// KaryResponse is K-ary randomized response, shuffled: each of Users
// respondents reports their symbol with probability e^Epsilon/(e^Epsilon+K-1),
// another at random otherwise, and the observer sees the histogram. Two symbols
// are RandomizedResponse, exactly; for more the upper bound is that of
// FavouredResponse and the lower bound that of the data sets whose others all
// hold a third symbol, which is close.
type KaryResponse struct {
	Users   int     `json:"users"`
	K       int     `json:"symbols"`
	Epsilon float64 `json:"epsilon_local"`
}

func (e KaryResponse) check() error {
	if e.K < 2 || e.K > maxUsers {
		return fmt.Errorf("account: %d symbols: need 2 to %d", e.K, maxUsers)
	}
	return checkShuffled(e.Users, e.Epsilon)
}

func (e KaryResponse) event() (Guarantee, error) {
	if err := e.check(); err != nil {
		return Guarantee{}, err
	}
	if e.K == 2 {
		return e.binary().event()
	}
	return e.favoured().event()
}

// Local is the guarantee of one report by itself: Epsilon, exactly, since the
// true symbol and another attain the ratio. Local is pure: delta is zero.
func (e KaryResponse) Local() (Guarantee, error) {
	if err := e.check(); err != nil {
		return Guarantee{}, err
	}
	return Guarantee{
		Epsilon: e.Epsilon, Adjacency: Replacement, Trust: Local, Users: 1, Rounds: 1, Bound: Exact,
		Method: "k-ary randomized response", Source: "Kairouz, Oh, Viswanath 2014",
	}, nil
}

func (e KaryResponse) binary() RandomizedResponse {
	return RandomizedResponse{Users: e.Users, Flip: flipOf(e.Epsilon)}
}

func (e KaryResponse) pair(o options) tokens {
	if o.Lower {
		return symbols(e.Users, e.K, e.Epsilon)
	}
	return e.favoured().pair()
}

// favoured is the same mechanism, of which every symbol favours itself.
func (e KaryResponse) favoured() FavouredResponse {
	return FavouredResponse{Users: e.Users, Share: 1 / float64(e.K), Epsilon: e.Epsilon}
}

func (e KaryResponse) spread() float64 {
	if e.K == 2 {
		return e.binary().spread()
	}
	return e.pair(options{}).spread()
}

func (e KaryResponse) profile(rounds int, o options) (curve, Bound, error) {
	switch {
	case e.K == 2:
		return e.binary().profile(rounds, o)
	case rounds != 1:
		return nil, "", nil
	}
	bound := Upper
	if o.Lower {
		bound = Lower
	}
	c, err := e.pair(o).single(e.Epsilon, o)
	return c, bound, err
}

func (e KaryResponse) distributions(o options) ([]*pld.Distribution, error) {
	if e.K == 2 {
		return e.binary().distributions(o)
	}
	d, err := e.pair(o).distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}

// Losses: the report is the only message.
func (e KaryResponse) Losses() Losses {
	return Losses{Report: e.Epsilon, Message: e.Epsilon, Bound: Exact}
}
