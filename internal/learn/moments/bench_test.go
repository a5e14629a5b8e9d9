package moments

import (
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
)

// The sums of 500 features and ten classes, which 131,072 rows hold.
func noisySums(b *testing.B) features.Sums {
	s := features.Shape{Dimension: 500, Classes: 10}
	sum, r := make([]float64, s.Len()), rand.New(rand.NewPCG(1, 2))
	const n = 60_000
	for i, at := 0, 0; i < s.Dimension; i++ { // second moments of white features, and noise
		for range i {
			sum[at] = 9 * r.NormFloat64()
			at++
		}
		sum[at] = 0.8*n/float64(s.Dimension) + 9*r.NormFloat64()
		at++
	}
	for i := s.Len() - s.Classes*(s.Dimension+1); i < s.Len(); i++ {
		sum[i] = 40 * r.NormFloat64()
	}
	sums, err := s.Decode(sum, 9)
	if err != nil {
		b.Fatal(err)
	}
	return sums
}

func BenchmarkRidge(b *testing.B) {
	sums := noisySums(b)
	for b.Loop() {
		if _, err := Ridge(sums, 60_000); err != nil {
			b.Fatal(err)
		}
	}
}
