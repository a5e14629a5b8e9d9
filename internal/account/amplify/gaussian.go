package amplify

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// GaussianReport is one report: whole numbers with discrete Gaussian noise of parameter Sigma in each, and where there
// are classes one by k-ary response. Replacing a record moves the numbers by at most Apart in the two-norm,
// and the class to another. Nothing is claimed of hiding among others: theorems of clones are of pure
// randomizers, and this one has a delta. What holds of the report by itself holds however it is mixed.
//
// The profile is exact but for what additive.SummedVector leaves to the grid: that of two normals, taken at the
// loss that the class leaves. Of classes that change, the told one is the first, the second or another.
type GaussianReport struct {
	Sigma        float64 `json:"sigma"`
	Apart        int     `json:"apart"`
	Numbers      int     `json:"numbers"`
	Classes      int     `json:"classes,omitempty"` // 0: none
	ClassEpsilon float64 `json:"class_epsilon,omitempty"`
}

func (e GaussianReport) numbers() additive.SummedVector {
	return additive.SummedVector{Sigma: e.Sigma, Parties: 1, SquaredShift: float64(e.Apart) * float64(e.Apart), Numbers: e.Numbers}
}

func (e GaussianReport) Terms() (account.Guarantee, error) {
	if _, err := e.numbers().Terms(); err != nil {
		return account.Guarantee{}, err
	}
	method := "discrete Gaussian noise in each number, by a normal inside"
	if e.Classes != 0 {
		if err := (KaryResponse{Users: 1, K: e.Classes, Epsilon: e.ClassEpsilon}).check(); err != nil {
			return account.Guarantee{}, err
		}
		method += fmt.Sprintf(", and %d-ary response of the class: exact profile of both", e.Classes)
	} else if e.ClassEpsilon != 0 {
		return account.Guarantee{}, fmt.Errorf("account: class epsilon %v without classes", e.ClassEpsilon)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: 1, Rounds: 1, Bound: account.Upper,
		Method: method, Source: "Balle and Wang 2018, Theorem 8, of the normals",
	}, nil
}

// curve returns the profile of one report.
func (e GaussianReport) curve() profile.Falling {
	d, _ := e.numbers().Dominated(1, 0)
	normal := profile.Normal(d.Shift)
	stick := func(epsilon float64) float64 {
		if epsilon >= 0 {
			return normal.Hockey(epsilon)
		}
		return -math.Expm1(epsilon) + math.Exp(epsilon)*normal.Hockey(-epsilon) // the pair is its own mirror
	}
	keep, lie, other := 1.0, 0.0, 0.0
	if e.Classes > 0 {
		lie = 1 / (math.Exp(e.ClassEpsilon) + float64(e.Classes-1))
		keep, other = math.Exp(e.ClassEpsilon)*lie, float64(e.Classes-2)*lie
	}
	return func(epsilon float64) float64 {
		sum := keep*stick(epsilon-e.ClassEpsilon) + lie*stick(epsilon+e.ClassEpsilon) + other*stick(epsilon)
		return math.Min(1, profile.AddUp(d.Tail, sum*(1+profile.LawError)))
	}
}

func (e GaussianReport) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	switch {
	case o.Lower:
		return nil, "", &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	case e.Classes == 0:
		return e.numbers().Profile(rounds, o)
	case rounds != 1:
		return nil, "", nil
	}
	return e.curve(), account.Upper, nil
}

func (e GaussianReport) Spread() float64 {
	class := 0.0
	if e.Classes > 0 {
		class = KaryResponse{Users: 1, K: e.Classes, Epsilon: e.ClassEpsilon}.Spread()
	}
	return math.Hypot(e.numbers().Spread(), class)
}

func (e GaussianReport) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	h := profile.Sample(e.curve(), o.Step, o.Neglect)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// Dominated returns the Gaussian of the numbers, beside that which stands for the class.
func (e GaussianReport) Dominated(rounds int, tail float64) (account.Domination, bool) {
	d, ok := e.numbers().Dominated(rounds, tail)
	if e.Classes == 0 || !ok {
		return d, ok
	}
	class := account.DominateKary(e.ClassEpsilon, e.Classes, account.Replacement)
	class.Shift = profile.Raised(class.Shift * math.Sqrt(float64(rounds)))
	d, err := account.Together(d, class)
	return d, err == nil
}

// CalibrateGaussianReport returns the report with the least noise that keeps an epsilon at a delta.
func CalibrateGaussianReport(e GaussianReport, epsilon, delta float64) (GaussianReport, error) {
	by, err := profile.Largest(0x1p-24, 0x1p-6, epsilon, func(by float64) (float64, error) { // noise that SummedVector takes
		e.Sigma = 1 / by
		g, err := account.Epsilon(e, delta)
		if err != nil { // it is too little noise for any promise
			return math.Inf(1), nil
		}
		return g.Epsilon, nil
	})
	if err != nil {
		return e, err
	}
	e.Sigma = 1 / by
	return e, nil
}
