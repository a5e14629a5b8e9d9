package kernelmap

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Each repetition gives one draw of f(x).g(y), which is 1 where two values share a cell
// or collide, and one other number elsewhere: its law is known from the kernel alone.
// 20,000 repetitions catch 0.03; the twin has a bandwidth of 1.15 for 1.
func TestHashedFeaturesAreUnbiased(t *testing.T) {
	const draws = 20000
	r := seeded.New(1)
	for _, c := range []struct {
		spec Spec
		norm float64
	}{
		{Spec{Kernel: Laplacian, Buckets: 7}, 1}, {Spec{Kernel: LaplacianSign}, 1},
		{Spec{Kernel: Exponential, Buckets: 2, Radius: 2}, 2}, {Spec{Kernel: ExponentialSign, Radius: 1.5}, 2},
	} {
		for _, d := range []int{1, 3} {
			xy := units(r, 2, d)
			x, y := row(xy, 0), row(xy, 1)
			blas32.Scal(0.5, vector(x))
			c.spec.Dimension, c.spec.Repetitions, c.spec.Bandwidth, c.spec.Seed = d, draws, 1.2, [32]byte{byte(d)}
			f := mustNew(t, c.spec)
			var distance float64
			for j := range x {
				distance += math.Pow(math.Abs(float64(x[j]-y[j])), c.norm)
			}
			distance = math.Pow(distance, 1/c.norm)
			law := func(h float64) (mean, variance float64) {
				k := math.Exp(-distance / h)
				buckets := float64(max(c.spec.Buckets, 2)) // a sign is a hash to two
				same := k + (1-k)/buckets
				return k, same * (1 - same) * math.Pow(1+1/(buckets-1), 2)
			}
			products := make([]float64, draws)
			q := f.Channels() / draws
			fx, gy := make([]float32, f.Channels()), make([]float32, f.Channels())
			if err := f.Map(x, fx); err != nil {
				t.Fatal(err)
			}
			if err := f.Query(y, gy); err != nil {
				t.Fatal(err)
			}
			for i := range fx {
				products[i/q] += float64(fx[i]) * float64(gy[i])
			}
			mean, variance := law(1.2)
			stattest.Mean(t, mean, variance, products)
			stattest.Caught(t, func(tb testing.TB) {
				mean, variance := law(1.2 * 1.15)
				stattest.Mean(tb, mean, variance, products)
			})
		}
	}
}

// The signs of two cells are independent, also of cells that differ in one coordinate by
// one, and buckets are all as likely: 40,000 keys catch 0.02 of a quarter.
func TestCellsAreHashedIndependently(t *testing.T) {
	const draws = 40000
	keys := newStream([32]byte{6}, "test")
	b := &binning{dimension: 2, rate: make([]float32, 2*draws), shift: make([]float32, 2*draws), keys: make([]uint64, 3*draws)}
	for i := range b.rate {
		b.rate[i] = 1
	}
	keys.words(b.keys)
	x, y := make([]uint64, draws), make([]uint64, draws)
	b.words(block([]float32{-3.5, 7.5}), []float32{1}, x)
	b.words(block([]float32{-3.5, 6.5}), []float32{1}, y)
	count := func(twin bool) []int {
		counts := make([]int, 4)
		for i := range x {
			if twin && i%20 == 0 {
				y[i] = x[i]
			}
			counts[x[i]>>63<<1|y[i]>>63]++
		}
		return counts
	}
	law := []float64{0.25, 0.25, 0.25, 0.25}
	stattest.GTest(t, law, count(false))
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, count(true)) })
}

// One bucket of each repetition is one, the query's take the mean away.
func TestBucketsAreOneHot(t *testing.T) {
	const d, buckets = 5, 9
	f := mustNew(t, Spec{Kernel: Laplacian, Dimension: d, Repetitions: 40, Bandwidth: 1, Buckets: buckets})
	x := row(units(seeded.New(2), 1, d), 0)
	fx, gx := make([]float32, f.Channels()), make([]float32, f.Channels())
	f.Map(x, fx)
	f.Query(x, gx)
	for i := 0; i < len(fx); i += buckets {
		var ones, sum float32
		for c := range buckets {
			if v := fx[i+c]; v == 1 && gx[i+c] == 1 {
				ones++
			} else if v != 0 {
				t.Fatalf("feature %v", v)
			}
			sum += gx[i+c]
		}
		if ones != 1 || math.Abs(float64(sum)) > 1e-5 {
			t.Fatalf("%v buckets of one, query features sum to %v", ones, sum)
		}
	}
	if f.Sparsity() != 1 || f.Bound() != 1 || f.Channels() != 360 {
		t.Errorf("(R, S) = (%v, %d), %d channels", f.Bound(), f.Sparsity(), f.Channels())
	}
}

func BenchmarkLaplacianSign768(b *testing.B) {
	f := mustNew(b, Spec{Kernel: LaplacianSign, Dimension: 768, Repetitions: 768, Bandwidth: 20})
	x, out := row(units(seeded.New(1), 1, 768), 0), make([]float32, 768)
	for b.Loop() {
		f.Map(x, out)
	}
}

func BenchmarkExponentialSign768(b *testing.B) {
	f := mustNew(b, Spec{Kernel: ExponentialSign, Dimension: 768, Repetitions: 768, Bandwidth: 1, Radius: 1})
	x, out := row(units(seeded.New(1), 1, 768), 0), make([]float32, 768)
	for b.Loop() {
		f.Map(x, out)
	}
}
