package prob

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// checkWindowAgainst holds a window to its law: every number, and the two bounds
// against the tails that they bound.
func checkWindowAgainst(t interface {
	Helper()
	Errorf(string, ...any)
}, w Window, tail float64, logPMF, logCDF, logSurvival func(int) float64) {
	t.Helper()
	for i, p := range w.P {
		if want := math.Exp(logPMF(w.Lo + i)); !near(p, want, 1e-12) || p < 1e-300 {
			t.Errorf("P(%d) = %v, want %v", w.Lo+i, p, want)
			return
		}
	}
	below, above := math.Exp(logCDF(w.Lo-1)), math.Exp(logSurvival(w.Hi()))
	if w.Below < below*(1-1e-12) || w.Below > max(tail, smallestTail) {
		t.Errorf("mass below %d is %v, bounded by %v, asked for %v", w.Lo, below, w.Below, tail)
	}
	if w.Above < above*(1-1e-12) || w.Above > max(tail, smallestTail) {
		t.Errorf("mass above %d is %v, bounded by %v, asked for %v", w.Hi(), above, w.Above, tail)
	}
	if total := SumOf(w.P); !(math.Abs(total-1) <= 1e-12+2*tail) {
		t.Errorf("sums to %v", total)
	}
}

func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := math.Exp(-rapid.Float64Range(0.1, 800).Draw(t, "-log tail"))
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		p := rapid.SampledFrom([]float64{0, 1e-9, 0.01, 0.3, 0.5, 0.8, 1 - 1e-9, 1}).Draw(t, "p")
		w, err := BinomialWindow(n, p, tail)
		if err != nil {
			t.Fatal(err)
		}
		checkWindowAgainst(t, w, tail,
			func(k int) float64 { return LogBinomialPMF(k, n, p) },
			func(k int) float64 { return LogBinomialCDF(k, n, p) },
			func(k int) float64 { return LogBinomialSurvival(k, n, p) })

		mean := math.Exp(rapid.Float64Range(-20, 9).Draw(t, "log mean"))
		if w, err = PoissonWindow(mean, tail); err != nil {
			t.Fatal(err)
		}
		checkWindowAgainst(t, w, tail,
			func(k int) float64 { return LogPoissonPMF(k, mean) },
			func(k int) float64 { return LogPoissonCDF(k, mean) },
			func(k int) float64 { return LogPoissonSurvival(k, mean) })

		r := math.Exp(rapid.Float64Range(-10, 6).Draw(t, "log r"))
		q := rapid.SampledFrom([]float64{0, 1e-9, 0.3, 0.9, 0.99}).Draw(t, "p of nb")
		if w, err = NegativeBinomialWindow(r, q, tail); err != nil {
			t.Fatal(err)
		}
		checkWindowAgainst(t, w, tail,
			func(k int) float64 { return LogNegativeBinomialPMF(k, r, q) },
			func(k int) float64 { return LogNegativeBinomialCDF(k, r, q) },
			func(k int) float64 { return LogNegativeBinomialSurvival(k, r, q) })
	})
}

func TestBinomialWindowLarge(t *testing.T) {
	const n, p, tail = 100_000_000, 0.4986, 1e-200
	w, err := BinomialWindow(n, p, tail)
	if err != nil {
		t.Fatal(err)
	}
	checkWindowAgainst(t, w, tail,
		func(k int) float64 { return LogBinomialPMF(k, n, p) },
		func(k int) float64 { return LogBinomialCDF(k, n, p) },
		func(k int) float64 { return LogBinomialSurvival(k, n, p) })
	if got := w.At(w.Lo - 1); got != 0 {
		t.Errorf("outside the window: %v", got)
	}
	if got := w.At(w.Lo + 7); got != w.P[7] {
		t.Errorf("At is out of step: %v, want %v", got, w.P[7])
	}
}

func TestWindowsOutsideTheirDomain(t *testing.T) {
	for name, build := range map[string]func() (Window, error){
		"negative n":              func() (Window, error) { return BinomialWindow(-1, 0.5, 1e-9) },
		"p above one":             func() (Window, error) { return BinomialWindow(5, 1.5, 1e-9) },
		"p not a number":          func() (Window, error) { return BinomialWindow(5, nan, 1e-9) },
		"tail negative":           func() (Window, error) { return BinomialWindow(5, 0.5, -1e-9) },
		"tail one":                func() (Window, error) { return BinomialWindow(5, 0.5, 1) },
		"tail NaN":                func() (Window, error) { return BinomialWindow(5, 0.5, nan) },
		"negative mean":           func() (Window, error) { return PoissonWindow(-1, 1e-9) },
		"infinite mean":           func() (Window, error) { return PoissonWindow(math.Inf(1), 1e-9) },
		"mean 1e300":              func() (Window, error) { return PoissonWindow(1e300, 1e-9) },
		"shape zero":              func() (Window, error) { return NegativeBinomialWindow(0, 0.5, 1e-9) },
		"nb with p one":           func() (Window, error) { return NegativeBinomialWindow(1, 1, 1e-9) },
		"nb too wide to the left": func() (Window, error) { return NegativeBinomialWindow(1e9, 1-1e-9, 1e-9) },
		"nb too wide":             func() (Window, error) { return NegativeBinomialWindow(1, 1-1e-12, 1e-9) },
		"nb 1e200":                func() (Window, error) { return NegativeBinomialWindow(1e200, 0.5, 1e-9) },
	} {
		if _, err := build(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
