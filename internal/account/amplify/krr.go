package amplify

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// KaryResponse is k-ary response, shuffled: each of Users
// respondents reports their symbol with probability e^Epsilon/(e^Epsilon+K-1),
// another at random otherwise, and the observer sees the histogram. Two symbols
// are RandomizedResponse, exactly; for more the upper bound is that of
// FavouredResponse and the lower bound that of the data sets whose others all
// hold a third symbol, which is close. tokens.single computes both.
type KaryResponse struct {
	Users   int     `json:"users"`
	K       int     `json:"symbols"`
	Epsilon float64 `json:"epsilon_local"`
}

func (e KaryResponse) check() error {
	if e.K < 2 || e.K > account.MaxUsers {
		return fmt.Errorf("account: %d symbols: need 2 to %d", e.K, account.MaxUsers)
	}
	return checkShuffled(e.Users, e.Epsilon)
}

func (e KaryResponse) Terms() (account.Guarantee, error) {
	if err := e.check(); err != nil {
		return account.Guarantee{}, err
	}
	if e.K == 2 {
		return e.binary().Terms()
	}
	return e.favoured().Terms()
}

// Local returns the guarantee of one report by itself: Epsilon, exactly, since the
// true symbol and another attain the ratio. Local is pure: delta is zero.
func (e KaryResponse) Local() (account.Guarantee, error) {
	if err := e.check(); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Epsilon: e.Epsilon, Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Exact,
		Method: "k-ary response", Source: "Kairouz, Oh, Viswanath 2014",
	}, nil
}

func (e KaryResponse) binary() shuffle.RandomizedResponse {
	return shuffle.RandomizedResponse{Users: e.Users, Flip: shuffle.FlipOf(e.Epsilon)}
}

func (e KaryResponse) pair(o account.Options) tokens {
	if o.Lower {
		return symbols(e.Users, e.K, e.Epsilon)
	}
	return e.favoured().pair()
}

// favoured returns the same mechanism, of which every symbol favours itself.
func (e KaryResponse) favoured() FavouredResponse {
	return FavouredResponse{Users: e.Users, Share: 1 / float64(e.K), Epsilon: e.Epsilon}
}

func (e KaryResponse) Spread() float64 {
	if e.K == 2 {
		return e.binary().Spread()
	}
	return e.pair(account.Options{}).spread()
}

func (e KaryResponse) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	switch {
	case e.K == 2:
		return e.binary().Profile(rounds, o)
	case rounds != 1:
		return nil, "", nil
	}
	bound := account.Upper
	if o.Lower {
		bound = account.Lower
	}
	c, err := e.pair(o).single(e.Epsilon, o)
	return c, bound, err
}

func (e KaryResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if e.K == 2 {
		return e.binary().Distributions(o)
	}
	d, err := e.pair(o).distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}

// Losses: the report is the only message.
func (e KaryResponse) Losses() account.Losses {
	return account.Losses{Report: e.Epsilon, Message: e.Epsilon, Bound: account.Exact}
}
