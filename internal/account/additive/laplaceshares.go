package additive

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// LaplaceShares is an integer sum, revealed by itself, with noise of which the observer
// does not know Shares times what a discrete Laplace of parameter Noise is: the difference
// of two NB(Shares, e^-Noise). Replacing a record moves the sum by at most 1. One is a
// discrete Laplace, two the sum of two of them, a half what is left of one to whoever drew
// the other half, and less than one what is left where respondents share it and some are
// silent.
type LaplaceShares struct {
	Noise  float64 `json:"noise"`
	Shares float64 `json:"shares"` // from 2^-20 to 8
}

// The least noise and the most shares keep a law within fifty thousand numbers.
const (
	leastShareNoise = 0x1p-9
	leastShares     = 0x1p-20
	mostShares      = 8
)

func (e LaplaceShares) Terms() (account.Guarantee, error) {
	if !(e.Noise >= leastShareNoise && e.Noise <= 100) || !(e.Shares >= leastShares && e.Shares <= mostShares) {
		return account.Guarantee{}, fmt.Errorf("account: %v shares of discrete Laplace noise %v: need %v to %v, of %v to 100", e.Shares, e.Noise, float64(leastShares), float64(mostShares), float64(leastShareNoise))
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: Aggregated, Rounds: 1, Bound: account.Upper,
		Method: "law of a part of discrete Laplace noise", Source: "divisibility: Goryczka and Xiong 2015",
	}, nil
}

func (e LaplaceShares) Spread() float64 { return e.Noise }

// Distributions has one law, as the noise is symmetric: the loss ln(P(z)/P(z+1)) of outputs z.
// That both probabilities may be off by a share is charged, as for DistributedGaussian.
func (e LaplaceShares) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	neglect := math.Max(o.Neglect, profile.MinTail)
	w := int(math.Ceil((10+8*max(0, e.Shares-1)-math.Log(neglect))/e.Noise)) + 16
	log, off := prob.LogLaplaceShares(e.Noise, e.Shares, w+1)
	fall := prob.LaplaceSharesFall(e.Noise, e.Shares, w+1)
	if !(fall < 1) {
		return nil, &account.Unsupported{Event: e, Reason: "its tail falls too slowly"}
	}
	rest := 2 * math.Exp(log[w+1]) * (1 + off) / (1 - fall)
	atoms := make([]pld.Atom, 0, 2*w+1)
	mass := 0.0
	for z := -w; z <= w; z++ {
		here, there := log[max(z, -z)], log[max(z+1, -z-1)]
		p := math.Exp(here)
		mass += p
		atoms = append(atoms, pld.Atom{Loss: here - there + 2*off, Mass: p * (1 + off)})
	}
	if math.Abs(mass-1) > rest+2*off {
		return nil, &account.Unsupported{Event: e, Reason: fmt.Sprintf("its law sums to %v", mass)}
	}
	d, err := pld.FromAtoms(atoms, rest, o.Step)
	return []*pld.Distribution{d}, err
}
