package bitnoise

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/pld"
)

// ThinnedNegativeBinomialSum is NegativeBinomialSum for an observer who may have had
// messages dropped: of a batch of up to Times times Users respondents, each of whose
// messages came through with one probability, of at least Users to the respondents, but
// for those of the respondent in question, which all came. That leaves as many messages
// as Users respondents send, and less noise in them.
//
// With respondents rho times Users and the least share 1/rho of each one's messages the
// noise is NB(rho Shape, p_rho), p_rho = p/(p + rho (1-p)): a negative binomial is a
// Poisson number of random mean, and thinning it divides the mean. From rho = 1, where
// it is NB(Shape, p), its mean stays and its variance falls towards that of a Poisson
// number. A larger share leaves more: NB(r, p) with a larger p, or r, is the smaller one
// and an independent number, as the logarithm of its generating function has the
// coefficients r p^k/k. So, for every rho between a and b and every share, the noise is
// NB(a Shape, p_b) and an independent number, which is left out. The profile is the
// largest of these over a grid of rho from 1 to Times, in which b is 2 % above a.
//
// Dropping that treats respondents differently is not covered.
type ThinnedNegativeBinomialSum struct {
	Sum   NegativeBinomialSum `json:"sum"`
	Times float64             `json:"times"` // from 1
}

func (e ThinnedNegativeBinomialSum) Terms() (account.Guarantee, error) {
	if !(e.Times >= 1 && e.Times <= maxThinned) {
		return account.Guarantee{}, fmt.Errorf("account: noise thinned among %v times as many respondents: need 1 to %v", e.Times, float64(maxThinned))
	}
	g, err := e.Sum.Terms()
	g.Method = "negative binomial mechanism thinned by drops that treat all respondents alike, worst share and direction in each round"
	return g, err
}

// maxThinned and thinnedStep keep the grid below 500 laws.
const (
	maxThinned  = 1e4
	thinnedStep = 1.02
)

// at returns the noise of respondents a times Users, thinned as among b times Users.
func (e ThinnedNegativeBinomialSum) at(a, b float64) NegativeBinomialSum {
	s := e.Sum
	s.Shape *= a
	s.Prob /= s.Prob + b*(1-s.Prob)
	return s
}

func (e ThinnedNegativeBinomialSum) Spread() float64 { return e.at(e.Times, e.Times).Spread() }

func (e ThinnedNegativeBinomialSum) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower { // two shares that may be had
		whole, err := e.Sum.Distributions(o)
		if err != nil {
			return nil, err
		}
		thin, err := e.at(e.Times, e.Times).Distributions(o)
		return append(whole, thin...), err
	}
	steps := math.Ceil(math.Log(e.Times) / math.Log(thinnedStep))
	h, err := e.Sum.worst(o)
	if err != nil {
		return nil, err
	}
	for i := range int(steps) {
		a, b := math.Pow(e.Times, float64(i)/steps), math.Pow(e.Times, float64(i+1)/steps)
		one, err := e.at(a*(1-0x1p-50), b*(1+0x1p-50)).worst(o)
		if err != nil {
			return nil, err
		}
		h = pld.Larger(h, one)
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// CalibrateThinnedNegativeBinomialSum finds the smallest shape at the given p that meets the
// target for such an observer, and the guarantee of exactly that shape, recomputed. The larger
// p, the fewer messages there are for an error, and the larger the error.
func CalibrateThinnedNegativeBinomialSum(t calibrate.Target, p, times float64) (NegativeBinomialSum, account.Guarantee, error) {
	event := func(shape float64) ThinnedNegativeBinomialSum {
		return ThinnedNegativeBinomialSum{NegativeBinomialSum{Users: t.Users, Shape: shape, Prob: p}, times}
	}
	if err := t.Check(); err != nil {
		return event(1).Sum, account.Guarantee{}, err
	}
	if _, err := event(1).Terms(); err != nil {
		return event(1).Sum, account.Guarantee{}, err
	}
	shape := func(rmse float64) float64 { return rmse * rmse * (1 - p) * (1 - p) / p }
	rmse, err := t.Least(func(rmse float64) account.Event { return event(shape(rmse)) })
	if err != nil {
		return event(1).Sum, account.Guarantee{}, err
	}
	e, g, err := calibrate.Meets(t, event(shape(rmse)))
	return e.Sum, g, err
}
