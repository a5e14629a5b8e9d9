package central

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// One step against quadrature of both directions' hockey sticks, from the densities: never below
// the larger, and hardly above.
func TestSubsampledGaussianByQuadrature(t *testing.T) {
	normal := func(x, mean, sigma float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
	}
	for _, e := range []SubsampledGaussian{{0.1, 1}, {0.5, 0.7}, {1, 2}, {0.01, 0.5}} {
		for _, epsilon := range []float64{0.1, 0.5, 1.5} {
			remove, add := 0.0, 0.0
			const step = 1e-4
			for x := -12.0 * e.NoiseMultiplier; x < 1+12*e.NoiseMultiplier; x += step {
				out := normal(x, 0, e.NoiseMultiplier)
				in := (1-e.Sampling)*out + e.Sampling*normal(x, 1, e.NoiseMultiplier)
				remove += step * max(0, in-math.Exp(epsilon)*out)
				add += step * max(0, out-math.Exp(epsilon)*in)
			}
			want := max(remove, add)
			g, err := account.Delta(e, epsilon)
			if err != nil || g.Delta < want*(1-1e-6)-1e-10 || g.Delta > want*1.01+1e-8 {
				t.Errorf("%+v: delta(%v) = %v, by quadrature %v, %v", e, epsilon, g.Delta, want, err)
			}
		}
	}
	for _, e := range []SubsampledGaussian{{0, 1}, {1.1, 1}, {0.5, 0}, {math.NaN(), 1}, {0.5, math.Inf(1)}} {
		if _, err := e.Terms(); err == nil {
			t.Errorf("%+v has terms", e)
		}
	}
}
