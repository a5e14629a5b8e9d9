// Package bitnoise accounts for bit sums whose devices send noise as further messages. Used by internal/dp/bitsum for
// the events of its protocols, by question/density to calibrate them, and by commands that price them.
package bitnoise

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// ThreeNB is the sum of bits with correlated negative binomial noise (Ghazi,
// Kumar, Manurangsi, Pagh 2020; KDE, Appendix A.2). Of n users each sends
// x+z1+z3 messages +1 and z2+z3 messages -1 with z1, z2 ~ NB(1/n, e^-Noise) and
// z3 ~ NB(FloodShape/n, FloodProb), where NB(r, p) has P(k) = C(k+r-1, k)
// (1-p)^r p^k. The observer sees both counts; n does not enter the loss.
// Neighbours replace one bit.
type ThreeNB struct {
	Users      int     `json:"users,omitempty"` // n, if it is to be stated
	Noise      float64 `json:"noise"`
	FloodShape float64 `json:"flood_shape"`
	FloodProb  float64 `json:"flood_probability"`
}

func (e ThreeNB) Terms() (account.Guarantee, error) {
	switch {
	case e.Users < 0 || e.Users > account.MaxUsers:
		return account.Guarantee{}, fmt.Errorf("account: %d users: need at most %d", e.Users, account.MaxUsers)
	case !(e.Noise >= 1e-6 && e.Noise <= 50):
		return account.Guarantee{}, fmt.Errorf("account: noise parameter %v: need 1e-6 to 50", e.Noise)
	case !(e.FloodShape > 0 && e.FloodShape <= 1e6):
		return account.Guarantee{}, fmt.Errorf("account: flood shape %v: need 0 < r <= 1e6", e.FloodShape)
	case !(e.FloodProb > 0 && e.FloodProb < 1):
		return account.Guarantee{}, fmt.Errorf("account: flood probability %v: need 0 < p < 1", e.FloodProb)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact law of both message counts, worst direction in each round",
		Source: "docs/accounting.md",
	}, nil
}

// RMSE returns that of the difference of the counts, a discrete Laplace of parameter
// Noise: sqrt(2 e^-Noise)/(1-e^-Noise).
func (e ThreeNB) RMSE() float64 { return additive.DiscreteLaplace{Noise: e.Noise}.RMSE() }

// MessagesPerUser returns the mean number of messages beyond the input: of all users together
// 2 e^-Noise/(1-e^-Noise) + 2 r p/(1-p).
func (e ThreeNB) MessagesPerUser() float64 {
	return (2/math.Expm1(e.Noise) + 2*e.FloodShape*e.FloodProb/(1-e.FloodProb)) / float64(e.Users)
}

// Let the counts be (a, b) with the sum's other inputs taken away, and
//
//	H(m) = sum over c <= m of e^(-2 Noise (m-c)) NB(c; r, p) = e^(-2 Noise) H(m-1) + NB(m).
//
// With the bit at 0, P(a, b) = (1-e^-Noise)^2 e^(-Noise |a-b|) H(min(a, b)); with
// it at 1, a is one higher: Q(a, b) = P(a-1, b). Where a <= b their ratio is
// e^Noise H(a)/H(a-1) whatever b is, of total mass (1-e^-Noise) H(a) under P;
// where a > b it is e^-Noise, of total mass e^-Noise/(1+e^-Noise). These are all
// the atoms of the loss.

// laws returns the atoms for the bit falling (P against Q) and rising (Q against P),
// with what lies outside the flood's window as infinite mass: leaving mass out
// of H lowers P and Q alike, so charging what P lost keeps every hockey stick.
// Of the falling direction a = 0 is infinite too: impossible with the bit at 1.
func (e ThreeNB) laws(neglect float64) (fall, rise law, err error) {
	flood, err := prob.NegativeBinomialWindow(e.FloodShape, e.FloodProb, neglect/4)
	if err != nil {
		return law{}, law{}, &account.Unsupported{Event: e, Reason: err.Error()}
	}
	// The window, and the e^(-2 Noise a) that H falls by beyond it.
	if width := float64(len(flood.P)) - math.Log(neglect)/(2*e.Noise); width > maxFlood {
		return law{}, law{}, &account.Unsupported{Event: e, Reason: fmt.Sprintf("a flood of %.3g values is too wide to compose", width)}
	}
	keep := math.Exp(-2 * e.Noise)
	share := -math.Expm1(-e.Noise) // 1-e^-Noise
	lump := 1 / (1 + math.Exp(-e.Noise))
	fall.atoms = append(make([]pld.Atom, 0, len(flood.P)*5/4), pld.Atom{Loss: -e.Noise, Mass: 1 - lump})
	rise.atoms = append(make([]pld.Atom, 0, len(flood.P)*5/4), pld.Atom{Loss: e.Noise, Mass: lump})
	h := 0.0
	for a := flood.Lo; ; a++ {
		before := h
		h = keep*before + flood.At(a)
		p, q := share*h, share*math.Exp(-e.Noise)*before
		if before == 0 {
			fall.impossible = p
		} else {
			loss := e.Noise + math.Log(h/before)
			fall.atoms = append(fall.atoms, pld.Atom{Loss: loss, Mass: p})
			rise.atoms = append(rise.atoms, pld.Atom{Loss: -loss, Mass: q})
		}
		// Beyond the window H falls by keep a step.
		if rest := share * h * keep / (1 - keep); a >= flood.Hi() && rest <= neglect/4 {
			outside := rest + flood.Below + flood.Above
			fall.infinite = fall.impossible + outside
			rise.infinite = outside
			return fall, rise, nil
		}
	}
}

// law is a discrete privacy loss.
type law struct {
	atoms      []pld.Atom
	impossible float64 // mass of infinite loss
	infinite   float64 // the same, with what was left out
}

// maxFlood is the largest window that is worth a composition: 0.2 s.
const maxFlood = 1 << 22

// Spread: but for the flood, the loss is +-Noise.
func (e ThreeNB) Spread() float64 { return e.Noise }

func (e ThreeNB) Lattice() float64 { return e.Noise }

// Distributions gives one law that dominates both directions: a bit may fall in
// one round and rise in another, and the two profiles differ.
func (e ThreeNB) Distributions(o account.Options) ([]*pld.Distribution, error) {
	fall, rise, err := e.laws(o.Neglect)
	if err != nil {
		return nil, err
	}
	if o.Lower {
		a, err := pld.LowerFromAtoms(fall.atoms, fall.impossible, o.Step)
		if err != nil {
			return nil, err
		}
		b, err := pld.LowerFromAtoms(rise.atoms, rise.impossible, o.Step)
		return []*pld.Distribution{a, b}, err
	}
	falling, err := pld.Profile(fall.atoms, fall.infinite, o.Step, o.Neglect)
	if err != nil {
		return nil, err
	}
	rising, err := pld.Profile(rise.atoms, rise.infinite, o.Step, o.Neglect)
	if err != nil {
		return nil, err
	}
	h := pld.Larger(falling, rising)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// Profile covers one release in closed form, for floods that are log-concave (r
// >= 1) and not much thinner than the noise (p >= e^-Noise): then H(a)/H(a-1)
// falls with a towards at least p, so the best set is {a <= a*}, and the rising
// direction, with its loss of at most Noise, never exceeds the falling one.
func (e ThreeNB) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 || e.FloodShape < 1 || e.FloodProb < math.Exp(-e.Noise) {
		return nil, "", nil
	}
	return singleNB{e}, account.Exact, nil
}

type singleNB struct{ ThreeNB }

// at is H(a), H(a-1) and S(a-1) = sum of H below a, all divided by NB(a).
func (s singleNB) at(a int) (here, before, sum float64) {
	keep := math.Exp(-2 * s.Noise)
	term := 1.0
	for c := a; c > 0 && term > 1e-18*before; c-- {
		// times keep NB(c-1)/NB(c)
		term *= keep * float64(c) / ((float64(c-1) + s.FloodShape) * s.FloodProb)
		before += term / keep
	}
	here = 1 + keep*before
	// Summing H's recurrence up to m: S(m) = keep (S(m) - H(m)) + P(flood <= m).
	below := math.Exp(prob.LogNegativeBinomialCDF(a-1, s.FloodShape, s.FloodProb) - s.log(a))
	return here, before, (below - keep*before) / (1 - keep)
}

func (s singleNB) log(a int) float64 {
	return prob.LogNegativeBinomialPMF(a, s.FloodShape, s.FloodProb)
}

// Delta returns (1-e^-Noise) max over a of H(a) - (c-1) S(a-1), c = e^(epsilon-Noise),
// at the last a where H(a) > c H(a-1); without end if p >= c.
func (s singleNB) Delta(epsilon float64) (float64, error) {
	c := math.Exp(epsilon - s.Noise)
	if s.FloodProb >= c {
		return -math.Expm1(epsilon-s.Noise) / (1 + math.Exp(-s.Noise)), nil
	}
	low, high := 0, 1
	grows := func(a int) bool {
		here, before, _ := s.at(a)
		return here > c*before
	}
	for grows(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; grows(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	here, _, sum := s.at(low)
	return profile.Up(-math.Expm1(-s.Noise) * (here - math.Expm1(epsilon-s.Noise)*sum) * math.Exp(s.log(low))), nil
}

// Epsilon inverts Delta by bisection and returns the safe end.
func (s singleNB) Epsilon(delta float64) (float64, error) {
	return profile.Invert(s.Delta, delta)
}

// Losses: nothing is promised.
func (e ThreeNB) Losses() account.Losses {
	return account.Losses{Reason: "a device's own messages show its bit nearly always; only the messages of others hide it"}
}
