package latent

import (
	"math"
	"testing"
)

// The derivative of what ByPrototypes maximizes is that of finite differences.
func TestTheDerivativeOfTheLikelihood(t *testing.T) {
	weights, shares := []float32{0.2, 0.5, 0.3}, []float32{0.1, 0.9, 0.6, 0.4, 0.3, 0.7}
	value := func() float64 {
		sum := 0.0
		for j, w := range weights {
			sum += float64(w) * (0.1 + 0.8*float64(shares[2*j+1]))
		}
		return math.Log(sum)
	}
	got := make([]float32, 6)
	addLikely(got, weights, shares, 1, 2, 0.1, 0.8)
	for i := range shares {
		before := value()
		shares[i] += 1e-3
		if want := (value() - before) / 1e-3; math.Abs(want-float64(got[i])) > 1e-3 {
			t.Errorf("derivative %d is %v, want %v", i, got[i], want)
		}
		shares[i] -= 1e-3
	}
}
