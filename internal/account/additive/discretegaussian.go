package additive

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// DiscreteGaussian is an integer sum that a trusted curator releases with noise
// of law P(z) proportional to e^(-z^2/(2 Sigma^2)) on the integers; replacing a
// record moves it by at most Sensitivity.
type DiscreteGaussian struct {
	Sigma       float64 `json:"sigma"`
	Sensitivity int     `json:"sensitivity"`
	// Adjacency is Removal where neighbours have a record more or less, which moves it as far; empty: Replacement.
	Adjacency account.Adjacency `json:"adjacency,omitempty"`
}

// maxDiscreteSigma keeps a window of the law within some 50 MB. Beyond, the
// continuous Gaussian differs by less than rounding.
const maxDiscreteSigma = 1e5

func (e DiscreteGaussian) Terms() (account.Guarantee, error) {
	if !(e.Sigma >= 0.1 && e.Sigma <= maxDiscreteSigma) {
		return account.Guarantee{}, fmt.Errorf("account: discrete Gaussian sigma %v: need 0.1 to %v", e.Sigma, float64(maxDiscreteSigma))
	}
	if e.Sensitivity < 1 || float64(e.Sensitivity) > 30*e.Sigma {
		return account.Guarantee{}, fmt.Errorf("account: sensitivity %d at sigma %v: need 1 to 30 sigma", e.Sensitivity, e.Sigma)
	}
	return account.Guarantee{
		Adjacency: cmp.Or(e.Adjacency, account.Replacement), Trust: account.Central, Rounds: 1, Bound: account.Upper,
		Method: "discrete Gaussian, exact law", Source: "Canonne, Kamath, Steinke 2020",
	}, nil
}

func (e DiscreteGaussian) mu() float64 { return float64(e.Sensitivity) / e.Sigma }

// atoms returns the losses (2xs - s^2)/(2 Sigma^2) at outputs x = s + z, and what a
// window leaves out. The reverse direction has the same law, by x -> s - x.
func (e DiscreteGaussian) atoms(neglect float64) (atoms []pld.Atom, rest float64) {
	// P(|Z| > w) <= 2 e^(-w^2/(2 sigma^2)): Z is sub-Gaussian with variance
	// proxy sigma^2 (Canonne, Kamath, Steinke 2020, Corollary 17).
	w := int(math.Ceil(e.Sigma * math.Sqrt(-2*math.Log(math.Max(neglect, profile.MinTail)/2))))
	sum := 0.0
	atoms = make([]pld.Atom, 0, 2*w+1)
	s, variance := float64(e.Sensitivity), e.Sigma*e.Sigma
	for z := -w; z <= w; z++ {
		x := float64(z)
		p := math.Exp(-x * x / (2 * variance))
		sum += p
		atoms = append(atoms, pld.Atom{Loss: (x*s + s*s/2) / variance, Mass: p})
	}
	for i := range atoms {
		atoms[i].Mass /= sum // the window's sum is at most the whole: rounded up
	}
	return atoms, 2 * math.Exp(-float64(w)*float64(w)/(2*variance))
}

func (e DiscreteGaussian) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	atoms, rest := e.atoms(o.Neglect)
	bound := account.Upper
	if o.Lower {
		// Without the charge, and with the masses scaled back.
		bound = account.Lower
		for i := range atoms {
			atoms[i].Mass *= 1 - rest
		}
		rest = 0
	}
	return profile.Falling(func(epsilon float64) float64 {
		sum := rest
		for i := len(atoms) - 1; i >= 0 && atoms[i].Loss > epsilon; i-- {
			sum += atoms[i].Mass * -math.Expm1(epsilon-atoms[i].Loss)
		}
		return math.Min(1, sum)
	}), bound, nil
}

func (e DiscreteGaussian) Spread() float64 { return e.mu() }

func (e DiscreteGaussian) Renyi(order float64) float64 { return order * e.mu() * e.mu() / 2 }

func (e DiscreteGaussian) Distributions(o account.Options) ([]*pld.Distribution, error) {
	atoms, rest := e.atoms(o.Neglect)
	if !o.Lower {
		d, err := pld.FromAtoms(atoms, rest, o.Step)
		return []*pld.Distribution{d}, err
	}
	for i := range atoms {
		atoms[i].Mass *= 1 - rest
	}
	d, err := pld.LowerFromAtoms(atoms, 0, o.Step)
	return []*pld.Distribution{d}, err
}
