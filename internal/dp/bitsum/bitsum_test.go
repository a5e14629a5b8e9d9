package bitsum

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}

// panics reports whether f does.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// convolve is the law of the sum of two independent counts.
func convolve(a, b []float64) []float64 {
	c := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		for j, q := range b {
			c[i+j] += p * q
		}
	}
	return c
}

// Features at the ends are never wrong, those outside are cut off, and between the
// bits have their probability: 100,000 tell 0.65 from 0.66.
func TestRoundAll(t *testing.T) {
	r := stattest.Rand(t)
	mapped := []float32{-1, 1, -1.0000002, 1.0000002, float32(math.Inf(1)), 0.3}
	bits, ones := make([]bool, len(mapped)), make([]int, len(mapped))
	const rounds = 100_000
	for range rounds {
		RoundAll(r, mapped, bits)
		for i, b := range bits {
			if b {
				ones[i]++
			}
		}
	}
	for i, want := range []int{0, rounds, 0, rounds, rounds} {
		if ones[i] != want {
			t.Errorf("feature %v was one %d times", mapped[i], ones[i])
		}
	}
	stattest.Binomial(t, 0.65, rounds, ones[5])
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, 0.66, rounds, ones[5]) })
}

// The bits are independent: three of them have the product law. The twin repeats
// the first.
func TestRoundAllIsIndependent(t *testing.T) {
	r, bits := stattest.Rand(t), make([]bool, 3)
	law, counts, twin := make([]float64, 8), make([]int, 8), make([]int, 8)
	for set := range law {
		law[set] = 1
		for i, p := range []float64{0.25, 0.5, 0.875} {
			if set>>i&1 == 0 {
				p = 1 - p
			}
			law[set] *= p
		}
	}
	for range 100_000 {
		RoundAll(r, []float32{-0.5, 0, 0.75}, bits)
		set := 0
		for i, b := range bits {
			if b {
				set |= 1 << i
			}
		}
		counts[set]++
		twin[set&^2|set&1<<1]++
	}
	stattest.GTest(t, law, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, twin) })
}

func TestRoundAllRefuses(t *testing.T) {
	r := stattest.Rand(t)
	if !panics(func() { RoundAll(r, []float32{float32(math.NaN())}, make([]bool, 1)) }) {
		t.Error("NaN was rounded")
	}
	if !panics(func() { RoundAll(r, make([]float32, 2), make([]bool, 1)) }) {
		t.Error("two features went into one bit")
	}
}

func BenchmarkRoundAll(b *testing.B) { // a device with 768 channels
	r, mapped, bits := stattest.Rand(b), make([]float32, 768), make([]bool, 768)
	for i := range mapped {
		mapped[i] = float32(math.Sin(float64(i)))
	}
	for b.Loop() {
		RoundAll(r, mapped, bits)
	}
}
