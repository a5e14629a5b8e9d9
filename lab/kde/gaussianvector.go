package kde

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
)

// gaussianVector is a vector of integer sums, each with independent
// discrete Gaussian noise; replacing a record moves it by at most Sensitivity in
// the two-norm. It is concentrated with rho = Sensitivity^2/(2 Sigma^2), as the
// continuous one (Canonne, Kamath, Steinke 2020, Theorem 14).
type gaussianVector struct {
	Sigma       float64 `json:"sigma"`
	Sensitivity float64 `json:"sensitivity"`
}

func (e gaussianVector) Terms() (account.Guarantee, error) {
	if mu := e.Sensitivity / e.Sigma; !(e.Sigma > 0 && e.Sensitivity > 0) || math.IsInf(e.Sigma, 1) || !(mu >= 1e-9 && mu <= 100) {
		return account.Guarantee{}, fmt.Errorf("account: discrete Gaussian sigma %v, sensitivity %v: need positive numbers whose quotient is from 1e-9 to 100", e.Sigma, e.Sensitivity)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Central, Rounds: 1, Bound: account.Upper,
		Method: "concentrated differential privacy", Source: "Canonne, Kamath, Steinke 2020, Theorem 14",
	}, nil
}

func (e gaussianVector) Renyi(order float64) float64 {
	mu := e.Sensitivity / e.Sigma
	return order * mu * mu / 2
}
