package additive

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/pld"
	"github.com/confetti-dp/confetti/dp/account/profile"
)

// LaplaceShares is an integer sum, revealed by itself, with noise of which the observer
// does not know Shares times what a discrete Laplace of parameter Noise is: the difference
// of two NB(Shares, e^-Noise). Replacing a record moves the sum by at most 1. One is a
// discrete Laplace, two the sum of two of them, and a half what is left of one to whoever
// drew the other half.
type LaplaceShares struct {
	Noise  float64 `json:"noise"`
	Shares float64 `json:"shares"` // 1/2 or 2
}

// leastShareNoise keeps a law within some thousand numbers.
const leastShareNoise = 0x1p-9

func (e LaplaceShares) Terms() (account.Guarantee, error) {
	if !(e.Noise >= leastShareNoise && e.Noise <= 100) || e.Shares != 0.5 && e.Shares != 2 {
		return account.Guarantee{}, fmt.Errorf("account: %v shares of discrete Laplace noise %v: need a half or two, of %v to 100", e.Shares, e.Noise, float64(leastShareNoise))
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: Aggregated, Rounds: 1, Bound: account.Upper,
		Method: "law of a part of discrete Laplace noise", Source: "divisibility: Goryczka and Xiong 2015",
	}, nil
}

func (e LaplaceShares) Spread() float64 { return e.Noise }

// log tabulates ln P(Z = k), k = 0..top, each right to the returned share of P(Z = k):
//
//	P(k) = sum over j >= 0 of NB(j) NB(j+k),   NB(j) = C(j+r-1, j) (1-q)^r q^j,
//
// all terms positive, the next of them q^2 (r+j)(r+k+j)/((1+j)(1+k+j)) of the one before.
// For r = 1/2 that is below q^2, for r = 2 it falls to it: once it is below f, the rest is
// below f/(1-f) of the last term. A term is right to some 8 roundoffs a step.
func (e LaplaceShares) log(top int) (log []float64, relative float64) {
	r, q := e.Shares, math.Exp(-e.Noise)
	first := 2 * r * math.Log(-math.Expm1(-e.Noise)) // ln NB(0)^2
	log = make([]float64, top+1)
	most := 0
	for k := range log {
		kk := float64(k)
		if k > 0 {
			first += math.Log((r+kk-1)/kk) - e.Noise
		}
		sum, term := 0.0, 1.0
		for j := 0; ; j++ {
			sum += term
			jj := float64(j)
			ratio := q * q * (r + jj) * (r + kk + jj) / ((1 + jj) * (1 + kk + jj))
			term *= ratio
			if ratio < 1 && term < 0x1p-60*(1-max(ratio, q*q))*sum {
				most = max(most, j)
				break
			}
		}
		log[k] = first + math.Log(sum)
	}
	return log, 0x1p-50 * float64(most+top+16)
}

// Distributions has one law, as the noise is symmetric: the loss ln(P(z)/P(z+1)) of outputs z.
// That both probabilities may be off by a share is charged, as for DistributedGaussian.
func (e LaplaceShares) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	neglect := math.Max(o.Neglect, profile.MinTail)
	w := int(math.Ceil((10-math.Log(neglect))/e.Noise)) + 16
	log, off := e.log(w + 2)
	// Beyond w each number is at most fall times as likely as the one before: ratios rise to
	// q for a half, and fall to it for two.
	fall := max(math.Exp(-e.Noise), math.Exp(log[w+2]-log[w+1])*(1+4*off))
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
