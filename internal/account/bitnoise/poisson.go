package bitnoise

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/prob"
)

// PoissonSum is the single-message noisy sum of bits: each of Users respondents
// sends its bit in unary with Poisson(Mean/Users) further messages, all alike,
// so that the observer sees the sum plus Poisson(Mean). Neighbours replace one
// bit (replacement).
type PoissonSum struct {
	Users int     `json:"users"`
	Mean  float64 `json:"mean"`
}

// maxPoissonMean is where a window of the law still fits memory.
const maxPoissonMean = 1e12

func (e PoissonSum) Terms() (account.Guarantee, error) {
	if e.Users < 1 || e.Users > account.MaxUsers {
		return account.Guarantee{}, fmt.Errorf("account: %d users: need 1 to %d", e.Users, account.MaxUsers)
	}
	if !(e.Mean >= 1e-9 && e.Mean <= maxPoissonMean) {
		return account.Guarantee{}, fmt.Errorf("account: Poisson mean %v: need 1e-9 to %v", e.Mean, float64(maxPoissonMean))
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "Poisson mechanism, exact law", Source: "Ghazi, Kumar, Manurangsi, Pagh 2020, Section 4",
	}, nil
}

// RMSE returns sqrt(Mean).
func (e PoissonSum) RMSE() float64 { return math.Sqrt(e.Mean) }

// MessagesPerUser returns the mean number of messages beyond the input.
func (e PoissonSum) MessagesPerUser() float64 { return e.Mean / float64(e.Users) }

// hockey returns the larger of both directions, X being Poisson(Mean), l = e^epsilon.
//
// 1+X against X: the ratio j/Mean grows with the count j, so the set is j >= t =
// floor(l Mean) + 1, and delta = P(X = t-1) - (l-1) P(X >= t).
// X against 1+X: the ratio Mean/j falls, infinite at 0, so the set is j <= u =
// ceil(Mean/l) - 1, and delta = P(X = u) - (l-1) P(X <= u-1).
func (e PoissonSum) hockey(epsilon float64) float64 {
	l, minus := math.Exp(epsilon), math.Expm1(epsilon)
	worst := 0.0
	if edge := math.Floor(l * e.Mean); edge < 1<<52 {
		t := int(edge) + 1
		worst = math.Exp(prob.LogPoissonPMF(t-1, e.Mean)) - minus*math.Exp(prob.LogPoissonSurvival(t-1, e.Mean))
	}
	u := max(0, int(math.Ceil(e.Mean/l))-1) // zero also where l overflows
	rising := math.Exp(prob.LogPoissonPMF(u, e.Mean))
	if u > 0 {
		rising -= minus * math.Exp(prob.LogPoissonCDF(u-1, e.Mean))
	}
	return math.Max(worst, rising)
}

func (e PoissonSum) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	side, bound := 1+profile.LawError, account.Upper
	if o.Lower {
		side, bound = 1-profile.LawError, account.Lower
	}
	return profile.Falling(func(epsilon float64) float64 { return math.Min(1, e.hockey(epsilon)*side) }), bound, nil
}

func (e PoissonSum) Spread() float64 { return 1 / math.Sqrt(e.Mean) }

// Distributions returns the envelope of both directions: a record may raise the bit
// in some rounds and lower it in others.
func (e PoissonSum) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.rising(o)
	}
	// Where only the outcome 0 is left, which the larger world cannot have, the
	// profile stays: that is mass at infinity.
	o.Neglect = math.Max(o.Neglect, math.Exp(-e.Mean)*(1+2*profile.LawError))
	h := profile.Sample(func(epsilon float64) float64 { return math.Min(1, e.hockey(epsilon)*(1+profile.LawError)) }, o.Step, o.Neglect)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// rising returns the one direction 1+X against X in every round.
func (e PoissonSum) rising(o account.Options) ([]*pld.Distribution, error) {
	w, err := prob.PoissonWindow(e.Mean, math.Max(o.Neglect, profile.MinTail))
	if err != nil {
		return nil, err
	}
	atoms := make([]pld.Atom, len(w.P))
	for i, p := range w.P {
		atoms[i] = pld.Atom{Loss: math.Log(float64(w.Lo+i+1) / e.Mean), Mass: p}
	}
	d, err := pld.LowerFromAtoms(atoms, 0, o.Step)
	return []*pld.Distribution{d}, err
}

// PoissonMean returns the least mean, to 1e-6 of itself, with which `rounds` Poisson
// sums of users are (epsilon, delta)-DP by the exact accountant. The result
// itself is checked.
func PoissonMean(users, rounds int, epsilon, delta float64) (PoissonSum, error) {
	t := theorems.Theorem("Poisson mechanism")
	if err := cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta), t.Count("users", users), t.Count("rounds", rounds)); err != nil {
		return PoissonSum{}, err
	}
	enough := func(mean float64) bool {
		g, err := account.Epsilon(account.Repeat{Event: PoissonSum{users, mean}, Rounds: rounds}, delta)
		return err == nil && profile.Keeps(g.Epsilon, epsilon)
	}
	high := 1.0
	for !enough(high) {
		if high *= 4; high > maxPoissonMean {
			return PoissonSum{}, t.Outside(math.NaN(), "a Poisson mean up to %v for epsilon %v, delta %v, %d rounds", float64(maxPoissonMean), epsilon, delta, rounds)
		}
	}
	low := high / 4
	if high == 1 {
		low = 1e-9
	}
	for high-low > 1e-6*high {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return PoissonSum{users, high}, nil
}
