// Package amplify accounts for amplification by shuffling: whole reports of local randomizers, each private by
// itself and more so among others. Used by internal/dp/randomize, internal/dp/direction, internal/dp/latent and
// question/histogram for their events.
package amplify

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// AnyRandomizer is one shuffled report of each of Users respondents, all by the
// same pure Epsilon-DP randomizer, whatever it is. It is accounted by clones
// (Feldman, McMillan, Talwar 2021), which hold for every randomizer; the
// stronger clones of 2023 do not, see StrongerClones. A lower bound is that of
// the worse of binary and ternary randomized response.
type AnyRandomizer struct {
	Users   int     `json:"users"`
	Epsilon float64 `json:"epsilon_local"`
}

func (e AnyRandomizer) Terms() (account.Guarantee, error) {
	if err := checkShuffled(e.Users, e.Epsilon); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "clones of any randomizer, exact law of their counts",
		Source: "Feldman, McMillan, Talwar 2021, Theorem 3.1",
	}, nil
}

// Below minShuffledEpsilon everything is as good as a clone and the laws lose
// their digits; above maxShuffledEpsilon nothing is.
const (
	minShuffledEpsilon = 1e-6
	maxShuffledEpsilon = 30
)

func checkShuffled(users int, epsilon float64) error {
	if users < 1 || users > account.MaxUsers {
		return fmt.Errorf("account: %d users: need 1 to %d", users, account.MaxUsers)
	}
	if !(epsilon >= minShuffledEpsilon && epsilon <= maxShuffledEpsilon) {
		return fmt.Errorf("account: local epsilon %v: need %v to %d", epsilon, minShuffledEpsilon, maxShuffledEpsilon)
	}
	return nil
}

// pair returns the pair of worlds for the bound that is asked for.
func (e AnyRandomizer) pair(o account.Options) tokens {
	if o.Lower {
		return symbols(e.Users, 3, e.Epsilon)
	}
	return clones2021(countedOn(e.Users), e.Epsilon)
}

func (e AnyRandomizer) binary() shuffle.RandomizedResponse {
	return shuffle.RandomizedResponse{Users: e.Users, Flip: shuffle.FlipOf(e.Epsilon)}
}

// binaryWorse says whether two symbols leak more than three over many rounds: the
// answer decides which lower bound is tighter, not whether it is one.
func (e AnyRandomizer) binaryWorse() bool {
	return e.binary().Spread() > symbols(e.Users, 3, e.Epsilon).spread()
}

func (e AnyRandomizer) Spread() float64 { return e.pair(account.Options{}).spread() }

func (e AnyRandomizer) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	if o.Lower {
		two, _, err := e.binary().Profile(rounds, o)
		if err != nil {
			return nil, "", err
		}
		three, err := e.pair(o).single(e.Epsilon, o)
		return greater{two, three}, account.Lower, err
	}
	c, err := e.pair(o).single(e.Epsilon, o)
	return c, account.Upper, err
}

// greater is the larger of two lower bounds.
type greater [2]profile.Curve

func (g greater) Delta(epsilon float64) (float64, error) {
	a, err := g[0].Delta(epsilon)
	if err != nil {
		return 0, err
	}
	b, err := g[1].Delta(epsilon)
	return math.Max(a, b), err
}

func (g greater) Epsilon(delta float64) (float64, error) {
	a, err := g[0].Epsilon(delta)
	if err != nil {
		return 0, err
	}
	b, err := g[1].Epsilon(delta)
	return math.Max(a, b), err
}

func (e AnyRandomizer) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower && e.binaryWorse() {
		return e.binary().Distributions(o)
	}
	d, err := e.pair(o).distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}

// Losses: the report is the only message.
func (e AnyRandomizer) Losses() account.Losses {
	return account.Losses{Report: e.Epsilon, Message: e.Epsilon, Bound: account.Upper}
}
