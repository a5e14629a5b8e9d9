package ldc

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/central"
)

// The exact law where the loss is quadratic and has one parameter: two Gaussians of one
// deviation, whatever the steps shrink by. No bound is below it; without shrinking and with the
// record first in one pass, the bound is the law.
func TestIterationByItsExactLaw(t *testing.T) {
	for _, shrink := range []float64{1, 0.99, 0.7, 0} {
		for _, e := range []iteration{{0.5, 10, 1, 1}, {0.5, 10, 10, 1}, {0.5, 10, 4, 3}, {2, 1, 1, 5}, {1, 50, 25, 2}} {
			shift, variance := 0.0, 0.0
			for step := range e.Steps * e.Passes { // the parameter times shrink, plus gradient and noise
				shift, variance = shift*shrink, variance*shrink*shrink+1
				if step%e.Steps == e.Position-1 {
					shift += e.Distance
				}
			}
			const order = 7
			if law := order / 2.0 * shift * shift / variance; e.Renyi(order) < law {
				t.Errorf("%+v, shrinking by %v: %v of a law of %v", e, shrink, e.Renyi(order), law)
			} else if shrink == 1 && e.Position == 1 && e.Passes == 1 && e.Renyi(order) > law*(1+1e-9) {
				t.Errorf("%+v: %v of a law of %v, which it should be", e, e.Renyi(order), law)
			}
		}
	}
}

func TestIterationIsAccounted(t *testing.T) {
	last, err := account.Epsilon(iteration{0.25, 100, 100, 10}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if last.Adjacency != account.Label || last.Trust != account.Central {
		t.Errorf("%+v", last)
	}
	gaussian, err := account.Epsilon(central.Gaussian{Sigma: 1, Sensitivity: 0.25 * math.Sqrt(1.09)}, 1e-5)
	if err != nil || last.Epsilon < gaussian.Epsilon || last.Epsilon > 1.25*gaussian.Epsilon {
		t.Errorf("epsilon %v of the last record, and of a Gaussian with the same divergence %v (%v)", last.Epsilon, gaussian.Epsilon, err)
	}
	first, err := account.Epsilon(iteration{0.25, 100, 1, 10}, 1e-5)
	if err != nil || first.Epsilon > last.Epsilon/2 {
		t.Errorf("epsilon %v of the first record, %v of the last (%v)", first.Epsilon, last.Epsilon, err)
	}
	for _, bad := range []iteration{{}, {1, 5, 6, 1}, {1, 5, 0, 1}, {1, 5, 5, 0}, {math.NaN(), 5, 5, 1}} {
		if _, err := account.Epsilon(bad, 1e-5); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
