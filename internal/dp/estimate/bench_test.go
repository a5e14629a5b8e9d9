package estimate

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// threeMillion is a histogram as sparse as an image: one cell in seven is held.
func threeMillion(n int, c Cell) []uint64 {
	const k = 3_000_000
	r := seeded.New(1)
	holders := make([]int, k)
	for i := range holders {
		if i%7 == 0 {
			holders[i] = 7 * (i % 140) * n / (k * 70)
		}
	}
	ones := make([]uint64, k)
	c.counts(r, map[int][2]table{}, holders, ones)
	return ones
}

// BenchmarkThreeMillionCells is all that a release says of its cells: estimates, joint
// intervals, the projection and the heavy hitters.
func BenchmarkThreeMillionCells(b *testing.B) {
	for name, c := range map[string]Cell{
		"few":     {N: 2_000_000, Keep: 1 - 2e-5, Flip: 2e-5},     // exact intervals
		"many":    {N: 200_000_000, Keep: 1 - 1e-4, Flip: 1e-4},   // score intervals
		"unequal": {N: 200_000_000, Keep: 0.5, Flip: 1e-5},        // standard errors differ
		"edge":    {N: 2_000_000, Keep: 1 - 0.0049, Flip: 0.0049}, // the widest exact laws
	} {
		b.Run(name, func(b *testing.B) {
			ones := threeMillion(c.N, c)
			b.ResetTimer()
			for b.Loop() {
				values := make([]Value, len(ones))
				for i, x := range ones {
					values[i] = c.Estimate(x)
				}
				c.Intervals(ones, Joint(0.95, len(ones)))
				if _, err := Project(values, float64(c.N)); err != nil {
					b.Fatal(err)
				}
				HeavyHitters(ones, c.Null(0), 0.05)
			}
		})
	}
}
