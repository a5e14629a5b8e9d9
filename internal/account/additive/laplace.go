package additive

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// DiscreteLaplace is an integer sum released with noise of law P(z)
// proportional to e^(-Noise |z|); replacing a record moves it by at most
// Sensitivity. It is central, and what the users of 3NB make together.
type DiscreteLaplace struct {
	Noise       float64 `json:"noise"`
	Sensitivity int     `json:"sensitivity"`
	// Adjacency is Removal where neighbours have a record more or less, which moves it as far; empty: Replacement.
	Adjacency account.Adjacency `json:"adjacency,omitempty"`
}

func (e DiscreteLaplace) Terms() (account.Guarantee, error) {
	if !(e.Noise >= 1e-9 && e.Noise <= 100) {
		return account.Guarantee{}, fmt.Errorf("account: discrete Laplace noise %v: need 1e-9 to 100", e.Noise)
	}
	if e.Sensitivity < 1 || e.Sensitivity > maxShift || float64(e.Sensitivity)*e.Noise > 100 {
		return account.Guarantee{}, fmt.Errorf("account: sensitivity %d at noise %v: need 1 to %d, and a product up to 100", e.Sensitivity, e.Noise, maxShift)
	}
	return account.Guarantee{
		Adjacency: cmp.Or(e.Adjacency, account.Replacement), Trust: account.Central, Rounds: 1, Bound: account.Exact,
		Method: "discrete Laplace mechanism", Source: "Ghosh, Roughgarden, Sundararajan 2009",
	}, nil
}

const maxShift = 1 << 20

// RMSE returns the standard deviation of the noise.
func (e DiscreteLaplace) RMSE() float64 {
	return math.Sqrt(2*math.Exp(-e.Noise)) / -math.Expm1(-e.Noise)
}

// Profile: with unit sensitivity the loss is +Noise or -Noise, as that of
// randomized response, so its k-fold composition is that of Kairouz, Oh and
// Viswanath. Otherwise one release is a sum of Sensitivity terms.
func (e DiscreteLaplace) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if e.Sensitivity == 1 {
		k, err := profile.NewOptimal(e.Noise, 0, rounds)
		return k, account.Exact, err
	}
	if rounds != 1 {
		return nil, "", nil
	}
	atoms := e.atoms()
	return profile.Falling(func(epsilon float64) float64 {
		sum := 0.0
		for _, a := range atoms {
			if a.Loss > epsilon {
				sum += a.Mass * -math.Expm1(epsilon-a.Loss)
			}
		}
		return sum
	}), account.Exact, nil
}

func (e DiscreteLaplace) Spread() float64 { return e.Noise * float64(e.Sensitivity) }

// atoms returns the losses Noise (|o| - |o-s|) of an output o = s + z.
func (e DiscreteLaplace) atoms() []pld.Atom {
	s, a := e.Sensitivity, math.Exp(-e.Noise)
	whole := e.Noise * float64(s)
	atoms := []pld.Atom{{Loss: whole, Mass: 1 / (1 + a)}, {Loss: -whole, Mass: math.Exp(-whole) / (1 + a)}}
	for o := 1; o < s; o++ {
		atoms = append(atoms, pld.Atom{
			Loss: e.Noise * float64(2*o-s),
			Mass: math.Tanh(e.Noise/2) * math.Exp(-e.Noise*float64(s-o)),
		})
	}
	return atoms
}

func (e DiscreteLaplace) Distributions(o account.Options) ([]*pld.Distribution, error) {
	build := pld.FromAtoms
	if o.Lower {
		build = pld.LowerFromAtoms
	}
	d, err := build(e.atoms(), 0, o.Step)
	return []*pld.Distribution{d}, err
}

// LaplaceNoise returns the largest parameter of a discrete Laplace in every round that
// meets the target: also the largest epsilon of a round of any pure mechanism.
func LaplaceNoise(t calibrate.Target) (float64, error) {
	return profile.Largest(1e-9, account.Meaningless+1, t.Epsilon, func(epsilon0 float64) (float64, error) {
		return profile.KairouzOhViswanath(epsilon0, 0, t.Rounds, t.Delta)
	})
}
