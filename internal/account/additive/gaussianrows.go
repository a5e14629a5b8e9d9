package additive

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// GaussianRows is whole numbers, released row after row, each with a discrete Gaussian of parameter Sigma of
// its own. Whatever was released before may shape what follows, the person's own answers too: on every
// path the squares of all that replacing the person moves sum to at most the square of Moved.
//
// All rows together are dominated by normals. A row's noise is a random function of a stretch of one
// Brownian motion, whose drift is 0 or 1, and the stretches end before the square of Moved, times that
// of oneApart.
type GaussianRows struct {
	Sigma     float64 `json:"sigma"`
	Moved     float64 `json:"moved"`      // all numbers of all rows together, in the two-norm
	OneNumber float64 `json:"one_number"` // at most, of one of them
	Numbers   int     `json:"numbers"`    // of all rows
	Draws     int     `json:"draws"`      // of Sigma over their root, that add up to a number's noise; 1: one
}

func (e GaussianRows) Terms() (account.Guarantee, error) {
	switch {
	case !(e.Sigma >= 0.5 && e.Sigma <= 0x1p25):
		return account.Guarantee{}, fmt.Errorf("account: rows with noise of sigma %v: need 0.5 to 2^25", e.Sigma)
	case !(e.Moved > 0 && e.OneNumber > 0 && e.OneNumber <= e.Moved && e.Moved <= 9*e.Sigma):
		return account.Guarantee{}, fmt.Errorf("account: rows moved by %v, and one number by %v: need numbers above 0, the second at most the first, and both at most 9 sigma", e.Moved, e.OneNumber)
	case e.Numbers < 1 || e.Numbers > 1<<40:
		return account.Guarantee{}, fmt.Errorf("account: rows of %d numbers: need 1 to 2^40", e.Numbers)
	case e.Draws != 1 && e.Draws != 2 || e.Draws == 2 && e.Sigma < 3*math.Sqrt2:
		return account.Guarantee{}, fmt.Errorf("account: %d draws for the noise of a number: need 1, or 2 of sigma 3 and more", e.Draws)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Central, Rounds: 1, Bound: account.Upper,
		Method: "discrete Gaussian on correlated rows, dominated row by row", Source: "Henzinger, Fichtenberger, Upadhyay 2022, for the factor",
	}, nil
}

// widely is from where on the noise is a rounded normal with a little less variance, as 4 less: the
// probability of any number is within 1e-33 of itself.
const widely = 64

// oneApart returns how far apart the normals are that dominate one number moved by one, and what is left to
// a tail of each number.
func (e GaussianRows) oneApart() (shift, tail float64) {
	if e.Sigma >= widely || e.Draws > 1 {
		return 1 / math.Sqrt(e.Sigma*e.Sigma-4), 1e-27 * float64(e.Draws)
	}
	// The noise is log-concave, so the best tests are thresholds: the normals' trade-off lies above
	// where its quantiles do. Beyond 13 deviations there is less than 1e-36.
	reach := int(13*e.Sigma) + 2
	beyond := make([]float64, reach+int(4*e.Sigma)+30)
	for k := len(beyond) - 2; k >= 0; k-- {
		x := float64(k) / e.Sigma
		beyond[k] = beyond[k+1] + math.Exp(-x*x/2)
	}
	total := 2*beyond[0] - 1
	last := 0.0
	for k := 1; k <= reach; k++ {
		z := prob.NormalLogQuantile(math.Log(beyond[k] / total)) // of P(Z >= k)
		if k == 1 {
			last = -z // of P(Z > -k), by symmetry: the step over the centre
		}
		shift = math.Max(shift, last-z)
		last = z
	}
	return shift * (1 + 1e-9), 1e-36
}

// missampled bounds in total variation how far a draw is from its law (noise.DiscreteGaussian).
const missampled = 0x1p-68

// dominated returns how far apart the normals are, and the tail.
func (e GaussianRows) dominated() account.Domination {
	shift, tail := e.oneApart()
	one := account.Domination{Shift: profile.Raised(shift * e.OneNumber), Tail: tail, Adjacency: account.Replacement}.Spoilt(missampled * float64(e.Draws))
	return account.Domination{
		Shift: profile.Raised(shift * e.Moved), Tail: math.Min(1, profile.Raised(one.Tail*float64(e.Numbers))), Adjacency: account.Replacement,
	}
}

// Dominated spends no more of a tail than rounding and sampling take.
func (e GaussianRows) Dominated(rounds int, _ float64) (account.Domination, bool) {
	d := e.dominated()
	d.Shift = profile.Raised(math.Sqrt(float64(rounds)) * d.Shift)
	d.Tail = math.Min(1, profile.Raised(float64(rounds)*d.Tail))
	return d, true
}

func (e GaussianRows) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if o.Lower {
		return nil, "", nil
	}
	d, _ := e.Dominated(rounds, 0)
	return profile.Falling(func(epsilon float64) float64 {
		return math.Min(1, profile.AddUp(d.Tail, profile.Normal(d.Shift).Hockey(epsilon)*(1+1e-9)))
	}), account.Upper, nil
}

// CalibrateRows returns the least noise of a draw, of one or of two that are added, for which rows that are moved by so
// much keep an epsilon at a delta.
func CalibrateRows(e GaussianRows, epsilon, delta float64) (GaussianRows, error) {
	keeps := func(sigma float64) bool {
		e.Sigma = sigma
		if _, err := e.Terms(); err != nil {
			return false
		}
		got, err := account.Delta(e, epsilon)
		return err == nil && got.Delta <= delta
	}
	low, high := math.Max(0.5, e.Moved/9), math.Max(1, e.Moved)
	for ; high <= 0x1p25 && !keeps(high); high *= 2 {
		low = high
	}
	if high > 0x1p25 {
		return e, fmt.Errorf("account: no noise of a sigma up to 2^25 keeps epsilon %v at delta %v where rows are moved by %v: give fewer bits to the coefficients, or a larger budget", epsilon, delta, e.Moved)
	}
	for high/low > 1+1e-9 {
		if middle := math.Sqrt(low * high); keeps(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	e.Sigma = high
	return e, nil
}
