package stattest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob/goodness"
)

// die draws outcome 0 with probability p and each of the other k-1 alike.
func die(r *rand.Rand, k int, p float64) int {
	if r.Float64() < p {
		return 0
	}
	return 1 + r.IntN(k-1)
}

func dieLaw(k int, p float64) []float64 {
	law := make([]float64, k)
	for i := range law {
		law[i] = (1 - p) / float64(k-1)
	}
	law[0] = p
	return law
}

func roll(r *rand.Rand, k, n int, p float64) []int {
	counts := make([]int, k)
	for range n {
		counts[die(r, k, p)]++
	}
	return counts
}

// An 8-symbol randomized response at epsilon 1: 100,000 draws pass for what they
// are and not for epsilon 1.1.
func TestGTestTellsEpsilon(t *testing.T) {
	keep := func(epsilon float64) float64 { return math.Exp(epsilon) / (math.Exp(epsilon) + 7) }
	counts := roll(Rand(t), 8, 100_000, keep(1))
	GTest(t, dieLaw(8, keep(1)), counts)
	Caught(t, func(tb testing.TB) { GTest(tb, dieLaw(8, keep(1.1)), counts) })
}

// The p values of a right sampler are uniform: their own histogram is tested.
// This is the calibration of the helper on a known law.
func TestGTestIsCalibrated(t *testing.T) {
	r, bins := Rand(t), make([]int, 10)
	for range 20_000 {
		h, _ := goodness.Merge(dieLaw(8, 0.3), roll(r, 8, 1000, 0.3))
		_, p := h.Test()
		bins[min(9, int(10*p))]++
	}
	uniform := make([]float64, 10)
	for i := range uniform {
		uniform[i] = 0.1
	}
	GTest(t, uniform, bins)
	bins[0] += 600 // as if one in thirty-three more were rejected at 0.1
	Caught(t, func(tb testing.TB) { GTest(tb, uniform, bins) })
}

// A symbol that is never emitted is caught though its bin is empty.
func TestGTestMissesNoEmptyBin(t *testing.T) {
	Caught(t, func(tb testing.TB) { GTest(tb, []float64{0.01, 0.495, 0.495}, []int{0, 2500, 2500}) })
}

func TestGTestRefusesTheImpossible(t *testing.T) {
	GTest(t, []float64{0, 1, 0}, []int{0, 50, 0})
	Caught(t, func(tb testing.TB) { GTest(tb, []float64{0, 1, 0}, []int{0, 50, 1}) })
}

func TestMergeKeepsEveryDraw(t *testing.T) {
	law := []float64{0.001, 0.001, 0.9, 0.05, 0.04, 0.008}
	h, _ := goodness.Merge(law, []int{1, 0, 900, 50, 41, 8})
	var observed int
	var expected float64
	next := 0
	for _, b := range h {
		if b.First != next || b.Expected < goodness.MinExpected {
			t.Errorf("bin %+v after %d", b, next)
		}
		next = b.Last + 1
		observed += b.Observed
		expected += b.Expected
	}
	if observed != 1000 || math.Abs(expected-1000) > 1e-9 || next != len(law) {
		t.Errorf("%d draws, %v expected, up to outcome %d", observed, expected, next)
	}
}

// Power: among 10,000 draws a mean off by 7 standard errors is caught.
func TestMeanTellsAnOffset(t *testing.T) {
	r, draws, off := Rand(t), make([]float64, 10_000), make([]float64, 10_000)
	for i := range draws {
		draws[i] = r.Float64()
		off[i] = draws[i] + 7*math.Sqrt(1./12)/100
	}
	Mean(t, 0.5, 1./12, draws)
	Caught(t, func(tb testing.TB) { Mean(tb, 0.5, 1./12, off) })
	Caught(t, func(tb testing.TB) { Mean(tb, 0.5, 1e-4/12, draws) }) // a variance too small is a test too sharp
	Caught(t, func(tb testing.TB) { Mean(tb, 1, 0, draws) })
}

func TestMisusePanics(t *testing.T) {
	for name, misuse := range map[string]func(){
		"a law above one":      func() { GTest(t, []float64{0.6, 0.6}, []int{100, 100}) },
		"a negative law":       func() { GTest(t, []float64{-0.5, 1.5}, []int{100, 100}) },
		"a law of NaN":         func() { GTest(t, []float64{math.NaN(), 1}, []int{100, 100}) },
		"a count too few":      func() { GTest(t, []float64{0.5, 0.5}, []int{100}) },
		"too few draws":        func() { GTest(t, []float64{0.5, 0.5}, []int{3, 3}) },
		"a negative variance":  func() { Mean(t, 0, -1, make([]float64, 100)) },
		"the mean of a few":    func() { Mean(t, 0, 1, make([]float64, 3)) },
		"a mean without bound": func() { Mean(t, 0, math.Inf(1), make([]float64, 100)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s passed", name)
				}
			}()
			misuse()
		}()
	}
}

// Caught sees every way to fail and stops at the fatal ones.
func TestCaughtSeesFailures(t *testing.T) {
	for _, fail := range []func(tb testing.TB){
		func(tb testing.TB) { tb.Fail() },
		func(tb testing.TB) { tb.Error("seen") },
		func(tb testing.TB) { tb.Errorf("%s", "seen") },
		func(tb testing.TB) { tb.FailNow(); t.Error("went on") },
		func(tb testing.TB) { tb.Fatal("seen"); t.Error("went on") },
		func(tb testing.TB) { tb.Fatalf("%s", "seen"); t.Error("went on") },
	} {
		Caught(t, fail)
	}
	Caught(t, func(tb testing.TB) { Caught(tb, func(testing.TB) {}) }) // a check that passes its twin
}

// Two kinds of skewed draws with one mean pass, whatever their spreads; a kind whose mean is a fifteenth of a deviation
// higher does not, among 20,000 each.
func TestSameMean(t *testing.T) {
	r := Rand(t)
	draws := func(n int, mean, spread float64) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = mean + spread*(r.ExpFloat64()-1)
		}
		return all
	}
	a, b := draws(20_000, 5, 1), draws(20_000, 5, 1)
	SameMean(t, a, b)
	SameMean(t, a, draws(300, 5, 3))
	Caught(t, func(tb testing.TB) { SameMean(tb, a, draws(20_000, 5+1./15, 1)) })
	constant := make([]float64, 100)
	SameMean(t, constant, constant)
	Caught(t, func(tb testing.TB) { SameMean(tb, constant, append(make([]float64, 0, 100), draws(100, 1, 0)...)) })
}
