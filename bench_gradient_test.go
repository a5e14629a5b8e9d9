//go:build unix

package confetti_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// learning is a network with pictures to learn from, drawn at random: a step adds up the clipped gradients
// of so many.
func learning(b *testing.B, n int, layers ...nn.Layer) (step func()) {
	r := seeded.New(1)
	m, err := nn.New(r, layers...)
	if err != nil {
		b.Fatal(err)
	}
	pixels := make([]float32, n*784)
	for i := range pixels {
		pixels[i] = float32(r.NormFloat64())
	}
	return func() {
		nn.ClippedSum(m, 1, func(i int) ([]float32, int) { return pixels[i*784 : (i+1)*784], i % 10 }, n)
	}
}

func perceptron() (layers []nn.Layer) {
	sizes := []int{784, 400, 150, 50, 10}
	for i, in := range sizes[:4] {
		if layers = append(layers, nn.Dense{In: in, Out: sizes[i+1]}); i < 3 {
			layers = append(layers, nn.ReLU{Size: sizes[i+1]})
		}
	}
	return layers
}

// BenchmarkClippedGradients is DP-SGD without its noise, on all processors. GODEBUG=cpu.avx512f=off leaves AVX2
// to the products, and cpu.avx2=off beside it gonum.
func BenchmarkClippedGradients(b *testing.B) {
	for name, layers := range map[string][]nn.Layer{"mlp": perceptron(), "xiii": nn.ESATableXIII(10)} {
		b.Run(name, func(b *testing.B) {
			const n = 4000
			step := learning(b, n, layers...)
			for b.Loop() {
				step()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "examples/s")
		})
	}
}

// BenchmarkGradientNumpy alternates such a step with numpy's.
func BenchmarkGradientNumpy(b *testing.B) {
	script := startNumpy(b, "docs/numpy_gradients.py")
	script.beside("clipped/mlp", 5, 5, learning(b, 4000, perceptron()...))
}
