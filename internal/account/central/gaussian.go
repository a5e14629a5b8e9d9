// Package central accounts for continuous noise that a trusted curator adds to sums and to gradients, which no plan
// asks for. Used by commands that price it, by the analyzer's ledger for its bound of what is left, and by baselines
// of the lab.
package central

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Gaussian is a sum that a trusted curator releases with normal noise of
// standard deviation Sigma; replacing a record moves it by at most Sensitivity
// in the two-norm.
type Gaussian struct {
	Sigma       float64 `json:"sigma"`
	Sensitivity float64 `json:"sensitivity"`
}

func (e Gaussian) Terms() (account.Guarantee, error) {
	if !(e.Sigma > 0 && e.Sensitivity > 0) || math.IsInf(e.Sigma, 1) || math.IsInf(e.Sensitivity, 1) || !(e.mu() >= 1e-100 && e.mu() <= 1e2) {
		return account.Guarantee{}, fmt.Errorf("account: sigma %v, sensitivity %v: need positive numbers with sensitivity at most 100 sigma", e.Sigma, e.Sensitivity)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Central, Rounds: 1, Bound: account.Exact,
		Method: "analytic Gaussian", Source: "Balle and Wang 2018, Theorem 8",
	}, nil
}

// mu returns the distance of the two worlds in deviations. Independent rounds are
// one Gaussian in more dimensions: their mu adds in squares.
func (e Gaussian) mu() float64 { return e.Sensitivity / e.Sigma }

func (e Gaussian) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	return profile.Normal(e.mu() * math.Sqrt(float64(rounds))), account.Exact, nil
}

func (e Gaussian) Renyi(order float64) float64 { return order * e.mu() * e.mu() / 2 }

func (e Gaussian) Spread() float64 { return e.mu() }

func (e Gaussian) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound of its composition with other mechanisms"}
	}
	h := profile.Sample(profile.Normal(e.mu()).Hockey, o.Step, o.Neglect)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}
