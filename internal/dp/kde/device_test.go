package kde

import (
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// BenchmarkDevice is all that a device computes of one value of 768 coordinates:
// features, rounding and randomized response. Pairs send two bits each.
func BenchmarkDevice(b *testing.B) {
	const d = 768
	for _, spec := range []kernelmap.Spec{
		{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: 2},
		{Kernel: kernelmap.GaussianPaired, Repetitions: d, Bandwidth: 1},
		{Kernel: kernelmap.Gaussian, Repetitions: d, Bandwidth: 1},
	} {
		b.Run(string(spec.Kernel), func(b *testing.B) {
			spec.Dimension = d
			f := features(b, spec)
			x := row(values(seeded.New(1), 1, d), 0).Data
			r, rr := rng.New(), bitsum.RR{Flip: 0.3}
			mapped, symbols := make([]float32, f.Channels()), make([]uint8, f.Channels())
			for b.Loop() {
				f.Map(x, mapped)
				rr.RoundAndRandomize(r, mapped, symbols)
			}
		})
	}
}

// BenchmarkSumBits is a population's share of a simulation.
func BenchmarkSumBits(b *testing.B) {
	const d, n = 768, 2048
	x := values(seeded.New(1), n, d)
	for _, spec := range []kernelmap.Spec{
		{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: 2},
		{Kernel: kernelmap.GaussianPaired, Repetitions: d, Bandwidth: 1},
	} {
		b.Run(string(spec.Kernel), func(b *testing.B) {
			spec.Dimension = d
			f := features(b, spec)
			for b.Loop() {
				if _, err := SumBits(f, n, func(i int) []float32 { return row(x, i).Data }, func(part int) *rand.Rand { return seeded.New(1, uint64(part)) }, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "values/s")
		})
	}
}
