package kernelmap

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

func TestSinCos(t *testing.T) {
	r := seeded.New(1)
	check := func(angle float64) {
		sin, cos := sinCos(angle)
		wantSin, wantCos := math.Sincos(angle)
		if math.Abs(float64(sin)-wantSin) > 6e-8 || math.Abs(float64(cos)-wantCos) > 6e-8 || cosine(angle) != cos || sin < -1 || sin > 1 || cos < -1 || cos > 1 {
			t.Fatalf("angle %v: %v, %v, want %v, %v", angle, sin, cos, wantSin, wantCos)
		}
	}
	for k := -40; k <= 40; k++ { // quarter turns, and near them
		for _, off := range []float64{0, 1e-9, -1e-9, 1e-4} {
			check(float64(k)*math.Pi/2 + off)
		}
	}
	for range 100000 {
		check(20 * (r.Float64() - 0.5))
		check(2e6 * (r.Float64() - 0.5))
	}
	// Before the last rounding: 3e-9, as said.
	for i := range 100000 {
		angle := 20 * (float64(i)/100000 - 0.5)
		s := sine(halved(angle))
		if math.Abs(1-2*s*s-math.Cos(angle)) > 3e-9 {
			t.Fatalf("cosine of %v is off by %v", angle, 1-2*s*s-math.Cos(angle))
		}
	}
}

func BenchmarkSinCos(b *testing.B) {
	var sum float32
	for i := 0; b.Loop(); i++ {
		s, c := sinCos(float64(i) * 0.7)
		sum += s + c
	}
	if sum != sum {
		b.Fatal()
	}
}
