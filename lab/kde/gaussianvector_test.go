package kde

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/central"
)

// A hundred sums with ten times the noise are near the Gaussian, and never below it.
func TestAGaussianVectorIsNearTheGaussian(t *testing.T) {
	v, err := account.Epsilon(account.Repeat{Event: gaussianVector{10, 1}, Rounds: 100}, 1e-6)
	b, err2 := account.Epsilon(central.Gaussian{Sigma: 1, Sensitivity: 1}, 1e-6)
	if err != nil || err2 != nil || v.Epsilon < b.Epsilon || v.Epsilon > 1.2*b.Epsilon {
		t.Errorf("vector %v, Gaussian %v, %v, %v", v, b.Epsilon, err, err2)
	}
}
