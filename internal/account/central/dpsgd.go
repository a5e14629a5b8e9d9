package central

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// SubsampledGaussian is one step of DP-SGD: each record takes part with
// probability Sampling, independently (Poisson sampling), and normal noise of
// NoiseMultiplier times the clipping norm is added. Neighbours add or remove
// one record: removal with "absent" as the reference.
type SubsampledGaussian struct {
	Sampling        float64 `json:"sampling"`
	NoiseMultiplier float64 `json:"noise_multiplier"`
}

func (e SubsampledGaussian) Terms() (account.Guarantee, error) {
	if !(e.Sampling > 0 && e.Sampling <= 1) {
		return account.Guarantee{}, fmt.Errorf("account: sampling probability %v: need 0 < q <= 1", e.Sampling)
	}
	if !(e.NoiseMultiplier >= 0.05 && e.NoiseMultiplier <= 1e6) {
		return account.Guarantee{}, fmt.Errorf("account: noise multiplier %v: need 0.05 to 1e6", e.NoiseMultiplier)
	}
	return account.Guarantee{
		Adjacency: account.Removal, Trust: account.Central, Rounds: 1, Bound: account.Upper,
		Method: "Poisson-subsampled Gaussian, both directions",
		Source: "Zhu, Dong, Wang 2022",
	}, nil
}

func (e SubsampledGaussian) Spread() float64 {
	// The chi-squared distance of the mixture from its centre is q^2 (e^(1/s^2)-1);
	// beyond a unit loss it says little.
	q, s := e.Sampling, e.NoiseMultiplier
	return math.Min(math.Max(q*math.Sqrt(math.Expm1(math.Min(100, 1/(s*s)))), q/s), 1/s)
}

// Distributions: a record is in all rounds or in none, so the direction holds
// throughout. With D the hockey stick of the Gaussian itself, both follow from
// it: (1-q) N0 + q N1 against N0 is q D(ln(1 + (e^epsilon-1)/q)), and N0 against
// the mixture is (1 - e^epsilon (1-q)) D(ln(q e^epsilon / (1 - e^epsilon (1-q)))),
// nothing once e^epsilon (1-q) reaches one.
func (e SubsampledGaussian) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is implemented"}
	}
	d, q := profile.Normal(1/e.NoiseMultiplier), e.Sampling
	remove := profile.Sample(func(epsilon float64) float64 {
		return q * d.Hockey(math.Log1p(math.Expm1(epsilon)/q))
	}, o.Step, o.Neglect)
	add := profile.Sample(func(epsilon float64) float64 {
		left := q*math.Exp(epsilon) - math.Expm1(epsilon) // 1 - e^epsilon (1-q)
		if !(left > 0) {
			return 0
		}
		return left * d.Hockey(epsilon+math.Log(q/left))
	}, o.Step, o.Neglect)
	// The same total variation, up to rounding.
	add[0] = math.Max(add[0], remove[0])
	remove[0] = add[0]
	a, err := pld.FromCurves(remove, add, o.Step)
	if err != nil {
		return nil, err
	}
	b, err := pld.FromCurves(add, remove, o.Step)
	return []*pld.Distribution{a, b}, err
}

// Renyi returns that of the removing direction, which is the larger for every order
// above one (Mironov, Talwar, Zhang 2019, Theorem 5).
func (e SubsampledGaussian) Renyi(order float64) float64 {
	return subsampled(e.Sampling, e.NoiseMultiplier, order)
}
