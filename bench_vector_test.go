//go:build unix

package confetti_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// answering is a mechanism for the moments of so many features and ten classes, and a respondent's
// features.
func answering(b *testing.B, dimension, rows int) (features.Shape, *vector.Mechanism, []float32) {
	shape := features.Shape{Dimension: dimension, Classes: 10}
	m, err := vector.New(vector.Spec{Dimension: shape.Len(), Rows: rows, Answered: 8192, Envelopes: 8803, Clip: 2.2, Flip: 0.16, SquaredDistance: features.SquaredDistance(), Rare: 1e-9})
	if err != nil {
		b.Fatal(err)
	}
	r, psi := seeded.New(1), make([]float32, dimension)
	for i := range psi {
		psi[i] = float32(r.NormFloat64())
	}
	whiten.Normalize(psi)
	return shape, m, psi
}

// BenchmarkVectorNumpy alternates with numpy: what a device does with its features before it
// seals, the law of a hundred devices, and the fit of least squares from their sums.
func BenchmarkVectorNumpy(b *testing.B) {
	b.Run("device", func(b *testing.B) {
		shape, m, psi := answering(b, 500, 131_072)
		r, v := seeded.New(2), make([]float32, shape.Len())
		startNumpy(b, "docs/numpy_vectors.py").beside("device", 500, 20, func() {
			shape.Message(psi, 3, v)
			m.Randomize(r, v)
		})
	})
	b.Run("law", func(b *testing.B) {
		shape, m, psi := answering(b, 351, 65_536)
		startNumpy(b, "docs/numpy_vectors.py").beside("law", 5, 1, func() { crowd(shape, m, psi) })
	})
	b.Run("ridge", func(b *testing.B) {
		shape := features.Shape{Dimension: 500, Classes: 10}
		sum, r := make([]float64, shape.Len()), seeded.New(3)
		for i := range sum {
			sum[i] = 9 * r.NormFloat64()
		}
		sums, err := shape.Decode(sum, 9)
		if err != nil {
			b.Fatal(err)
		}
		startNumpy(b, "docs/numpy_vectors.py").beside("ridge", 3, 3, func() {
			if _, err := moments.Ridge(sums, 60_000); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// crowd draws what a hundred devices answer, on all processors.
func crowd(shape features.Shape, m *vector.Mechanism, psi []float32) {
	var wait sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			v, counts, r := make([]float32, shape.Len()), m.NewCounts(), rand.New(rand.NewPCG(1, uint64(w)))
			for i := w; i < 100; i += runtime.GOMAXPROCS(0) {
				shape.Message(psi, i%10, v)
				m.Draw(r, v, counts)
			}
		})
	}
	wait.Wait()
}
