package prob

import (
	"fmt"
	"testing"
)

var sink float64

func BenchmarkLogBinomialPMF(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		sink += LogBinomialPMF(49_000_000+i&1023, 100_000_000, 0.4986)
	}
}

func BenchmarkLogBinomialSurvival(b *testing.B) {
	const n, p = 100_000_000, 0.4986
	for _, z := range []int{0, 1, 6, 30} {
		b.Run(fmt.Sprintf("deviations=%d", z), func(b *testing.B) {
			for b.Loop() {
				sink += LogBinomialSurvival(49_860_000+z*5000, n, p)
			}
		})
	}
}

func BenchmarkLogPoissonSurvival(b *testing.B) {
	for b.Loop() {
		sink += LogPoissonSurvival(1_000_000, 1e6)
	}
}

func BenchmarkLogNegativeBinomialSurvival(b *testing.B) {
	for _, r := range []float64{1e-4, 1, 60} {
		b.Run(fmt.Sprintf("shape=%v", r), func(b *testing.B) {
			for b.Loop() {
				sink += LogNegativeBinomialSurvival(100, r, 0.99)
			}
		})
	}
}

func BenchmarkBinomialWindow(b *testing.B) {
	for _, n := range []int{40_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				w, err := BinomialWindow(n, 0.4986, 1e-30)
				if err != nil {
					b.Fatal(err)
				}
				sink += w.P[0]
			}
		})
	}
}

func BenchmarkNormalLogQuantile(b *testing.B) {
	for b.Loop() {
		sink += NormalLogQuantile(-13.8)
	}
}
