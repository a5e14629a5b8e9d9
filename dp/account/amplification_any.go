package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account/pld"
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

func (e AnyRandomizer) event() (Guarantee, error) {
	if err := checkShuffled(e.Users, e.Epsilon); err != nil {
		return Guarantee{}, err
	}
	return Guarantee{
		Adjacency: Replacement, Trust: Shuffled, Users: e.Users, Rounds: 1, Bound: Upper,
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
	if users < 1 || users > maxUsers {
		return fmt.Errorf("account: %d users: need 1 to %d", users, maxUsers)
	}
	if !(epsilon >= minShuffledEpsilon && epsilon <= maxShuffledEpsilon) {
		return fmt.Errorf("account: local epsilon %v: need %v to %d", epsilon, minShuffledEpsilon, maxShuffledEpsilon)
	}
	return nil
}

// pair is the pair of worlds for the bound that is asked for.
func (e AnyRandomizer) pair(o options) tokens {
	if o.Lower {
		return symbols(e.Users, 3, e.Epsilon)
	}
	return clones2021(e.Users, e.Epsilon)
}

func (e AnyRandomizer) binary() RandomizedResponse {
	return RandomizedResponse{Users: e.Users, Flip: flipOf(e.Epsilon)}
}

// binaryWorse says whether two symbols leak more than three over many rounds: the
// answer decides which lower bound is tighter, not whether it is one.
func (e AnyRandomizer) binaryWorse() bool {
	return e.binary().spread() > symbols(e.Users, 3, e.Epsilon).spread()
}

func (e AnyRandomizer) spread() float64 { return e.pair(options{}).spread() }

func (e AnyRandomizer) profile(rounds int, o options) (curve, Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	if o.Lower {
		two, _, err := e.binary().profile(rounds, o)
		if err != nil {
			return nil, "", err
		}
		three, err := e.pair(o).single(e.Epsilon, o)
		return greater{two, three}, Lower, err
	}
	c, err := e.pair(o).single(e.Epsilon, o)
	return c, Upper, err
}

// greater is the larger of two lower bounds.
type greater [2]curve

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

func (e AnyRandomizer) distributions(o options) ([]*pld.Distribution, error) {
	if o.Lower && e.binaryWorse() {
		return e.binary().distributions(o)
	}
	d, err := e.pair(o).distribution(e.Epsilon, o)
	return []*pld.Distribution{d}, err
}

// StrongerClones is one shuffled report of each of n respondents by an
// epsilon0-DP randomizer R with (e^epsilon0+1) R(x)(z) >= R(x0)(z) + R(x1)(z)
// for all inputs and outputs, such as k-ary randomized response (Feldman,
// McMillan, Talwar 2023 as corrected by its errata: the first version claimed
// every randomizer). Upper bound, replacement. For others use AnyRandomizer.
func StrongerClones(n int, epsilon0, delta float64) (Guarantee, error) {
	return clonesEpsilon(n, epsilon0, delta, clones2023, "stronger clones, exact law of their counts",
		"Feldman, McMillan, Talwar 2023, with its errata")
}

// Clones is the same for every epsilon0-DP randomizer (Feldman, McMillan,
// Talwar 2021, numeric): Epsilon of AnyRandomizer.
func Clones(n int, epsilon0, delta float64) (Guarantee, error) {
	return Epsilon(AnyRandomizer{Users: n, Epsilon: epsilon0}, delta)
}

func clonesEpsilon(n int, epsilon0, delta float64, pair func(int, float64) tokens, method, source string) (Guarantee, error) {
	if err := checkShuffled(n, epsilon0); err != nil {
		return Guarantee{}, err
	}
	if err := theorem(method).open01("delta", delta); err != nil {
		return Guarantee{}, err
	}
	c, err := pair(n, epsilon0).single(epsilon0, options{Neglect: delta * neglect})
	if err != nil {
		return Guarantee{}, err
	}
	epsilon, err := c.Epsilon(delta)
	return Guarantee{
		Epsilon: epsilon, Delta: delta,
		Adjacency: Replacement, Trust: Shuffled, Users: n, Rounds: 1, Bound: Upper,
		Method: method, Source: source,
	}, err
}

// Losses: the report is the only message.
func (e AnyRandomizer) Losses() Losses {
	return Losses{Report: e.Epsilon, Message: e.Epsilon, Bound: Upper}
}
