package central

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Laplace is a sum that a trusted curator releases with Laplace noise of the
// given Scale (density e^(-|z|/Scale)/(2 Scale)); replacing a record moves it by
// at most Sensitivity in the one-norm.
type Laplace struct {
	Scale       float64 `json:"scale"`
	Sensitivity float64 `json:"sensitivity"`
}

func (e Laplace) Terms() (account.Guarantee, error) {
	if m := e.epsilon(); !(e.Scale > 0 && e.Sensitivity > 0) || math.IsInf(e.Scale, 1) || !(m >= 1e-9 && m <= 100) {
		return account.Guarantee{}, fmt.Errorf("account: Laplace scale %v, sensitivity %v: need positive numbers whose quotient is from 1e-9 to 100", e.Scale, e.Sensitivity)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Central, Rounds: 1, Bound: account.Exact,
		Method: "Laplace mechanism", Source: "Dwork, McSherry, Nissim, Smith 2006",
	}, nil
}

// epsilon returns the pure guarantee of one release.
func (e Laplace) epsilon() float64 { return e.Sensitivity / e.Scale }

// hockey returns 1 - e^((epsilon-m)/2), m = Sensitivity/Scale: the set where the loss
// exceeds epsilon is a half line.
func (e Laplace) hockey(epsilon float64) float64 {
	return math.Max(0, -math.Expm1((epsilon-e.epsilon())/2))
}

func (e Laplace) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	return laplaceCurve(e), account.Exact, nil
}

type laplaceCurve Laplace

func (c laplaceCurve) Delta(epsilon float64) (float64, error) { return Laplace(c).hockey(epsilon), nil }

func (c laplaceCurve) Epsilon(delta float64) (float64, error) {
	return math.Max(0, Laplace(c).epsilon()+2*math.Log1p(-delta)), nil
}

// Renyi returns the closed form ln(a/(2a-1) e^((a-1)m) + (a-1)/(2a-1) e^(-a m))/(a-1)
// (Mironov 2017, Proposition 6).
func (e Laplace) Renyi(a float64) float64 {
	m := e.epsilon()
	return m + math.Log(a/(2*a-1)+(a-1)/(2*a-1)*math.Exp((1-2*a)*m))/(a-1)
}

func (e Laplace) Spread() float64 { return e.epsilon() }

func (e Laplace) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound of its composition"}
	}
	h := profile.Sample(e.hockey, o.Step, o.Neglect)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}
