package additive

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// SummedVector is sums of vectors of whole numbers, of which Parties add discrete Gaussians of parameter Sigma to each
// of Numbers sums, each its own. Replacing a record moves all sums together by at most the root of SquaredShift.
//
// A discrete Gaussian of parameter sigma around a whole number is drawn by a normal of variance sigma^2 - s^2 around it,
// and a discrete Gaussian of parameter s around that. By Poisson's summation the latter's normalizer hardly depends on
// where it is: at s = 2 the sums are dominated by unit normals sqrt(SquaredShift/(sigma^2 - 4)) apart, but for 1e-27 a
// number. Two of parameter sigma are as near to one of sigma sqrt 2.
type SummedVector struct {
	Sigma        float64 `json:"sigma"`
	Parties      int     `json:"parties"` // 1 or 2
	SquaredShift float64 `json:"squared_shift"`
	Numbers      int     `json:"numbers"`
}

const (
	// leastVectorSigma is where the 4 that are taken from a square hardly count.
	leastVectorSigma = 64
	farthestVector   = 10    // normals apart, to which the argument goes
	inexact          = 1e-27 // of a number
	drawnWithin      = 0x1p-68
)

func (e SummedVector) Terms() (account.Guarantee, error) {
	switch {
	case !(e.Sigma >= leastVectorSigma && e.Sigma <= 0x1p24):
		return account.Guarantee{}, fmt.Errorf("account: noise of sigma %v in sums of vectors: need %v to 2^24", e.Sigma, float64(leastVectorSigma))
	case e.Parties != 1 && e.Parties != 2:
		return account.Guarantee{}, fmt.Errorf("account: noise of %d parties: need 1 or 2", e.Parties)
	case e.Numbers < 1 || e.Numbers > 1<<20:
		return account.Guarantee{}, fmt.Errorf("account: sums of %d numbers: need 1 to 2^20", e.Numbers)
	case !(e.SquaredShift >= 1) || !(e.distance() <= farthestVector):
		return account.Guarantee{}, fmt.Errorf("account: sums of vectors whose squared distance is %v at sigma %v: need at least 1, and at most %d deviations", e.SquaredShift, e.Sigma, farthestVector)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: Aggregated, Rounds: 1, Bound: account.Upper,
		Method: "discrete Gaussian noise in sums of vectors, by a normal inside", Source: "docs/experiments.md",
	}, nil
}

// distance returns how far apart the normals are.
func (e SummedVector) distance() float64 {
	return profile.Raised(math.Sqrt(e.SquaredShift / (float64(e.Parties)*e.Sigma*e.Sigma - 4)))
}

// Dominated returns the Gaussian. What the sampler errs by is charged as an outcome of another law.
func (e SummedVector) Dominated(rounds int, _ float64) (account.Domination, bool) {
	d := account.Domination{
		Shift: profile.Raised(e.distance() * math.Sqrt(float64(rounds))), Tail: float64(rounds*e.Numbers) * inexact, Adjacency: account.Replacement,
	}
	return d.Spoilt(float64(rounds*e.Numbers*e.Parties) * drawnWithin), true
}

func (e SummedVector) curve(rounds int) profile.Falling {
	d, _ := e.Dominated(rounds, 0)
	return func(epsilon float64) float64 {
		return math.Min(1, d.Tail+profile.Normal(d.Shift).Hockey(epsilon)*(1+profile.LawError))
	}
}

func (e SummedVector) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if o.Lower {
		return nil, "", &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	return e.curve(rounds), account.Upper, nil
}

func (e SummedVector) Spread() float64 { return e.distance() }

func (e SummedVector) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	h := profile.Sample(e.curve(1), o.Step, o.Neglect)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}
