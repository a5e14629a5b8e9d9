package kernelmap

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/dp/encode/hadamard"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Entry (i, j) of Sylvester's matrix is -1 to the number of ones that i and j share.
func TestHadamard(t *testing.T) {
	for n := 1; n <= 256; n *= 2 {
		for j := range n {
			v := make([]float32, n)
			v[j] = 1
			hadamard.Transform(v)
			for i, got := range v {
				if want := float32(1 - 2*(bits.OnesCount(uint(i&j))%2)); got != want {
					t.Fatalf("n = %d: entry (%d, %d) is %v", n, i, j, got)
				}
			}
		}
	}
}

// normal is n rows of independent standard normals.
func normal(r *rand.Rand, n, d int) blas32.General {
	x := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	return x
}

func units(r *rand.Rand, n, d int) blas32.General {
	x := normal(r, n, d)
	for i := range n {
		unit(row(x, i)...)
	}
	return x
}

// In any dimension: inner products are kept.
func TestRotationIsOrthogonal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 1100).Draw(t, "d")
		r := seeded.New(rapid.Uint64().Draw(t, "seed"))
		u := newRotation(d, newStream([32]byte{byte(d)}, "test"))
		v := units(r, 2, d)
		image := blas32.General{Rows: 2, Cols: d, Stride: d, Data: make([]float32, 2*d)}
		for i := range 2 {
			u.rotate(row(v, i), row(image, i))
		}
		for i := range 2 {
			got, want := blas32.Dot(vector(row(image, 0)), vector(row(image, i))), blas32.Dot(vector(row(v, 0)), vector(row(v, i)))
			if math.Abs(float64(got-want)) > 2e-6 {
				t.Fatalf("d = %d: inner product %v, was %v", d, got, want)
			}
		}
	})
}

// Whatever the vector, a rotated coordinate of it has the first moments of a standard
// normal, over the draws of the rotation: E z^2 and the share of |z| > 2. Vectors are a
// first, a middle and a last coordinate, and equal ones. 1,000 rotations measure the
// first to about 0.01 and the second to 0.002, to which a lattice of 64 points adds
// 0.012. With one sweep of two, a coordinate of 64 stays flat.
func TestRotationIsNormal(t *testing.T) {
	for _, d := range []int{64, 100, 257, 511} {
		equal := make([]float32, d)
		for j := range equal {
			equal[j] = 1
		}
		moments := func(x []float32, twin bool) (square, beyond float64) {
			out := make([]float32, d)
			const runs = 1000
			for run := range runs {
				u := newRotation(d, newStream([32]byte{byte(run), byte(run >> 8)}, "test"))
				if u.rotate(x, out); twin {
					copy(out, x)
					u.sweep(out, u.signs[0], u.signs[1])
				}
				for _, v := range out[:d/4] { // first coordinates alone: all together they have E z^2 = 1 always
					square += float64(v*v) * float64(d)
					if math.Abs(float64(v))*math.Sqrt(float64(d)) > 2 {
						beyond++
					}
				}
			}
			n := float64(runs * (d / 4))
			return square / n, beyond / n
		}
		check := func(tb testing.TB, x []float32, twin bool) {
			square, beyond := moments(x, twin)
			if math.Abs(square-1) > 0.05 || math.Abs(beyond-math.Erfc(math.Sqrt2)) > 0.015 {
				tb.Errorf("d = %d: E z^2 = %.4f, P(|z| > 2) = %.4f", d, square, beyond)
			}
		}
		for _, at := range []int{0, d / 2, d - 1} {
			x := make([]float32, d)
			x[at] = 1
			check(t, x, false)
			if d == 64 {
				stattest.Caught(t, func(tb testing.TB) { check(tb, x, true) })
			}
		}
		check(t, unit(equal...), false)
	}
}

// Over the draws of the rotation the product of features is the kernel, though
// coordinates are clipped. The variance is that of the draws themselves, 4,000 of them;
// they catch 2 %, and the twin forgets what clipping takes off.
func TestRotatedFeaturesAreUnbiased(t *testing.T) {
	const draws, d = 4000, 48
	r := stattest.Rand(t)
	xy := units(r, 2, d)
	x, y := row(xy, 0), row(xy, 1)
	blas32.Axpy(1.5, vector(x), vector(y))
	unit(y...)
	want := float64(blas32.Dot(vector(x), vector(y)))
	for _, clip := range []float64{1, 2} {
		products := make([]float64, draws)
		var variance float64
		for i := range products {
			f := mustNew(t, Spec{Kernel: InnerRotated, Dimension: d, Repetitions: 1, Clip: clip, Seed: [32]byte{byte(i), byte(i >> 8)}})
			products[i] = product(t, f, x, y)
			variance += math.Pow(products[i]-want, 2) / draws
		}
		stattest.Mean(t, want, variance, products)
		stattest.Caught(t, func(tb testing.TB) {
			for i := range products {
				products[i] *= clipped(d, clip).Gain
			}
			stattest.Mean(tb, want, variance, products)
		})
	}
}

// Without clipping nothing is random about the estimate.
func TestRotatedIsExactWithoutClipping(t *testing.T) {
	r := seeded.New(1)
	for _, d := range []int{1, 2, 3, 20} {
		f := mustNew(t, Spec{Kernel: InnerRotated, Dimension: d, Repetitions: 1, Clip: math.Sqrt(float64(d))})
		xy := units(r, 2, d)
		if got, want := product(t, f, row(xy, 0), row(xy, 1)), float64(blas32.Dot(vector(row(xy, 0)), vector(row(xy, 1)))); math.Abs(got-want) > 1e-5 {
			t.Errorf("d = %d: product %v, kernel %v", d, got, want)
		}
		if i, _ := f.Isometry(); i != (Isometry{1, 1}) {
			t.Errorf("d = %d: %+v", d, i)
		}
	}
}

// Gain and Energy against their integrals over the density of u, (1-u^2)^((d-3)/2).
func TestClippedIsometry(t *testing.T) {
	for _, d := range []int{3, 4, 10, 500} {
		for _, clip := range []float64{0.5, 1, 1.7} {
			var mass, gain, energy float64
			const steps = 200000
			for i := range steps {
				u := (float64(i) + 0.5) / steps
				z := u * math.Sqrt(float64(d))
				weight := math.Pow(1-u*u, float64(d-3)/2)
				mass += weight
				gain += weight * z * math.Min(z, clip)
				energy += weight * math.Pow(math.Min(z, clip), 2)
			}
			if got := clipped(d, clip); math.Abs(got.Gain-gain/mass) > 1e-6 || math.Abs(got.Energy-energy/mass) > 1e-6 {
				t.Errorf("d = %d, C = %v: %+v, integrals %v and %v", d, clip, got, gain/mass, energy/mass)
			}
		}
	}
	if got := clipped(1, 0.5); math.Abs(got.Gain-0.5) > 1e-12 || got.Energy != 0.25 {
		t.Errorf("d = 1: %+v", got)
	}
}

// The bias measured on the values themselves bounds that of their density, and one
// of a single direction reaches it.
func TestClipBias(t *testing.T) {
	const d, n = 40, 30
	r := seeded.New(3)
	f := mustNew(t, Spec{Kernel: InnerRotated, Dimension: d, Repetitions: 1, Clip: 1})
	x := normal(r, n, d)
	for i := range n {
		row(x, i)[0] += 8
		unit(row(x, i)...)
	}
	share, bound, err := f.ClipBias(x)
	if err != nil || share < 0.2 || share > 0.45 || bound <= 0 || bound > 0.5 {
		t.Fatalf("share %v, bound %v, %v", share, bound, err)
	}
	largest := 0.0
	y := units(r, 300, d)
	for i := range y.Rows {
		var bias float64
		for k := range n {
			bias += (product(t, f, row(x, k), row(y, i)) - float64(blas32.Dot(vector(row(x, k)), vector(row(y, i))))) / n
		}
		largest = math.Max(largest, math.Abs(bias))
	}
	if largest > bound+1e-6 || largest < bound/5 {
		t.Errorf("largest bias %v, bound %v", largest, bound)
	}
	if share, bound, err := mustNew(t, Spec{Kernel: InnerIdentity, Dimension: d, Repetitions: 1}).ClipBias(x); share != 0 || bound != 0 || err != nil {
		t.Errorf("the identity clips: %v %v %v", share, bound, err)
	}
}

func BenchmarkRotated768(b *testing.B) {
	f := mustNew(b, Spec{Kernel: InnerRotated, Dimension: 768, Repetitions: 1, Clip: 2})
	x, out := row(units(seeded.New(1), 1, 768), 0), make([]float32, 768)
	for b.Loop() {
		f.Map(x, out)
	}
}
