package central

import (
	"math"
	"testing"
)

// moment is E[(mixture/centre)^a] by the trapezoid rule, exact to rounding for
// such smooth tails.
func moment(q, s, a float64) float64 {
	const points = 200_000
	low, high := -20*s, a+20*s
	h := (high - low) / points
	sum := 0.0
	for i := range points + 1 {
		x := low + float64(i)*h
		ratio := 1 - q + q*math.Exp((2*x-1)/(2*s*s))
		sum += math.Exp(-x*x/(2*s*s)) * (math.Pow(ratio, a) - 1)
	}
	return 1 + sum*h/(s*math.Sqrt(2*math.Pi))
}

func TestMomentsAgainstQuadrature(t *testing.T) {
	for _, c := range [][3]float64{{0.001, 0.7, 5.4}, {0.01, 1, 7.8}, {0.1, 2, 2.5}, {0.1, 2, 3}, {0.3, 5, 12}, {0.5, 3, 1.3}, {0.02, 1.5, 9.99}} {
		q, s, a := c[0], c[1], c[2]
		got, want := subsampled(q, s, a), math.Log(moment(q, s, a))/(a-1)
		if math.Abs(got/want-1) > 1e-7 {
			t.Errorf("q=%v s=%v a=%v: %.12g, quadrature %.12g", q, s, a, got, want)
		}
	}
}

func TestSamplingEverybodyIsTheGaussian(t *testing.T) {
	for _, a := range []float64{1.5, 2, 30.25} {
		if got, want := subsampled(1, 3, a), a/18; math.Abs(got-want) > 1e-15 {
			t.Errorf("order %v: %v, want %v", a, got, want)
		}
	}
}
