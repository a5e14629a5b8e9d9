package additive

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
)

// Aggregated is the trust in sums of which nothing but the total is revealed, by secure
// aggregation: the observer sees no message of any one respondent.
const Aggregated account.Trust = "only sums revealed"

// DistributedLaplace is an integer sum, revealed by itself, to which each of Users
// respondents adds the difference of two NB(1/Users, e^-Noise): discrete Laplace noise
// of parameter Noise together. Replacing a record moves the sum by at most Sensitivity.
type DistributedLaplace struct {
	Users       int     `json:"users"`
	Noise       float64 `json:"noise"`
	Sensitivity int     `json:"sensitivity"`
}

func (e DistributedLaplace) Terms() (account.Guarantee, error) {
	if e.Users < 1 || e.Users > account.MaxUsers {
		return account.Guarantee{}, fmt.Errorf("account: %d users: need 1 to %d", e.Users, account.MaxUsers)
	}
	g, err := DiscreteLaplace{Noise: e.Noise, Sensitivity: e.Sensitivity}.Terms()
	g.Trust, g.Users = Aggregated, e.Users
	g.Method = "distributed discrete Laplace mechanism"
	g.Source = account.Join(g.Source, "divisibility: Goryczka and Xiong 2015")
	return g, err
}

// Reduce: the sum of the shares has exactly the law of the curator's noise.
func (e DistributedLaplace) Reduce() account.Event {
	return DiscreteLaplace{Noise: e.Noise, Sensitivity: e.Sensitivity}
}

// DistributedGaussian is an integer sum, revealed by itself, to which each of Users
// respondents adds a discrete Gaussian of parameter Sigma, its own (Kairouz, Liu and
// Steinke 2021). Replacing a record moves the sum by at most Sensitivity.
//
// A sum of discrete Gaussians is not one. That paper bounds how close the two are, and
// the bound says little where Sigma is below about one, as it is when thousands share
// the noise. Here the law of the sum itself is computed (gaussianSum); it is symmetric
// and log-concave, so that both directions have one loss.
type DistributedGaussian struct {
	Users       int     `json:"users"`
	Sigma       float64 `json:"sigma"`
	Sensitivity int     `json:"sensitivity"`
}

func (e DistributedGaussian) Terms() (account.Guarantee, error) {
	if e.Users < 1 || e.Users > maxShares {
		return account.Guarantee{}, fmt.Errorf("account: %d users: need 1 to %d", e.Users, maxShares)
	}
	total := e.Sigma * math.Sqrt(float64(e.Users))
	if !(e.Sigma >= 0.2 && total <= maxSumSigma) {
		return account.Guarantee{}, fmt.Errorf("account: %d shares of noise of sigma %v: need at least 0.2 each and at most %v together", e.Users, e.Sigma, float64(maxSumSigma))
	}
	if !(e.RMSE() >= 1) {
		return account.Guarantee{}, fmt.Errorf("account: %d shares of noise of sigma %v: need a deviation of at least 1 together", e.Users, e.Sigma)
	}
	if e.Sensitivity < 1 || float64(e.Sensitivity) > 10*e.RMSE() {
		return account.Guarantee{}, fmt.Errorf("account: sensitivity %d at deviation %v: need 1 to 10 deviations", e.Sensitivity, e.RMSE())
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: Aggregated, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "distributed discrete Gaussian, law of the sum", Source: "Kairouz, Liu, Steinke 2021, for the mechanism",
	}, nil
}

// RMSE returns the standard deviation of the noise: for small Sigma less than Sigma times
// the root of Users.
func (e DistributedGaussian) RMSE() float64 {
	_, variance, _ := tiltedGaussian(e.Sigma, 0)
	return math.Sqrt(variance * float64(e.Users))
}

func (e DistributedGaussian) Spread() float64 { return float64(e.Sensitivity) / e.RMSE() }
