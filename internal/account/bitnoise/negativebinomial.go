package bitnoise

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// NegativeBinomialSum is the single-noise sum of bits: each of Users respondents sends
// its bit in unary with NB(Shape/Users, Prob) further messages, all alike, so that the
// observer sees the sum plus X ~ NB(Shape, Prob), P(k) = C(k+r-1, k) (1-p)^r p^k.
// Neighbours replace one bit (replacement).
//
// With the other bits taken away 1+X is compared with X, which at j messages have
// ratio P(j-1)/P(j) = j/((j-1+r) p), and nothing at j = 0.
type NegativeBinomialSum struct {
	Users int     `json:"users"`
	Shape float64 `json:"shape"`
	Prob  float64 `json:"probability"`
}

func (e NegativeBinomialSum) Terms() (account.Guarantee, error) {
	switch {
	case e.Users < 1 || e.Users > account.MaxUsers:
		return account.Guarantee{}, fmt.Errorf("account: %d users: need 1 to %d", e.Users, account.MaxUsers)
	case !(e.Shape >= 1e-6 && e.Shape <= 1e12):
		return account.Guarantee{}, fmt.Errorf("account: negative binomial shape %v: need 1e-6 to 1e12", e.Shape)
	case !(e.Prob >= 1e-6 && e.Prob < 1):
		return account.Guarantee{}, fmt.Errorf("account: negative binomial probability %v: need 1e-6 <= p < 1", e.Prob)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "negative binomial mechanism, exact law, worst direction in each round", Source: "Ghazi, Kumar, Manurangsi, Pagh 2020, Section 4",
	}, nil
}

// RMSE returns the deviation of the noise, sqrt(r p)/(1-p).
func (e NegativeBinomialSum) RMSE() float64 { return math.Sqrt(e.Shape*e.Prob) / (1 - e.Prob) }

// MessagesPerUser returns the mean number of messages beyond the input.
func (e NegativeBinomialSum) MessagesPerUser() float64 {
	return e.Shape * e.Prob / (1 - e.Prob) / float64(e.Users)
}

func (e NegativeBinomialSum) Spread() float64 { return math.Min(1, 1/e.RMSE()) }

// laws returns the atoms of 1+X against X and of X against 1+X, each with what lies
// outside the window as infinite mass.
func (e NegativeBinomialSum) laws(neglect float64) (fall, rise []pld.Atom, fallInf, riseInf float64, err error) {
	w, err := prob.NegativeBinomialWindow(e.Shape, e.Prob, math.Max(neglect/4, profile.MinTail))
	if err != nil {
		return nil, nil, 0, 0, &account.Unsupported{Event: e, Reason: err.Error()}
	}
	if len(w.P) > maxFlood {
		return nil, nil, 0, 0, &account.Unsupported{Event: e, Reason: fmt.Sprintf("a noise of %d values is too wide to compose", len(w.P))}
	}
	ratio := func(j int) float64 { return math.Log(float64(j) / ((float64(j-1) + e.Shape) * e.Prob)) }
	fallInf, riseInf = w.Below+w.Above, w.Below+w.Above
	for i, p := range w.P {
		j := w.Lo + i
		fall = append(fall, pld.Atom{Loss: ratio(j + 1), Mass: p})
		if j == 0 {
			riseInf += p // impossible with the bit at 1
		} else {
			rise = append(rise, pld.Atom{Loss: -ratio(j), Mass: p})
		}
	}
	return fall, rise, fallInf, riseInf, nil
}

// Distributions returns the envelope of both directions: a record may raise the bit in some
// rounds and lower it in others. For a lower bound each direction holds throughout.
func (e NegativeBinomialSum) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		fall, rise, _, _, err := e.laws(o.Neglect)
		if err != nil {
			return nil, err
		}
		a, err := pld.LowerFromAtoms(fall, 0, o.Step)
		if err != nil {
			return nil, err
		}
		b, err := pld.LowerFromAtoms(rise, 0, o.Step)
		return []*pld.Distribution{a, b}, err
	}
	h, err := e.worst(o)
	if err != nil {
		return nil, err
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// worst returns the profile of the worse direction at every level.
func (e NegativeBinomialSum) worst(o account.Options) ([]float64, error) {
	fall, rise, fallInf, riseInf, err := e.laws(o.Neglect)
	if err != nil {
		return nil, err
	}
	falling, err := pld.Profile(fall, math.Min(1, fallInf), o.Step, o.Neglect)
	if err != nil {
		return nil, err
	}
	rising, err := pld.Profile(rise, math.Min(1, riseInf), o.Step, o.Neglect)
	if err != nil {
		return nil, err
	}
	return pld.Larger(falling, rising), nil
}
