package kernelmap

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// small is a description of each kernel over d dimensions.
func small(k Kernel, d int) Spec {
	s := Spec{Kernel: k, Dimension: d, Repetitions: 6}
	if kernels[k].single {
		s.Repetitions = 1
	}
	if kernels[k].of.Fade != nil {
		s.Bandwidth = 1
	}
	if kernels[k].clip {
		s.Clip = math.Max(minClip, math.Sqrt(float64(d))/2)
	}
	if kernels[k].radius {
		s.Radius = 1
	}
	if kernels[k].buckets {
		s.Buckets = 5
	}
	if kernels[k].projection {
		s.Projection = (d + 1) / 2
	}
	return s
}

// No replacement moves the bits further than is said: values that are opposite,
// concentrated, or anything.
func TestSensitivityHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(slices.Sorted(maps.Keys(kernels))).Draw(t, "kernel")
		d := rapid.IntRange(1, 40).Draw(t, "d")
		spec := small(k, d)
		spec.Seed[0] = rapid.Byte().Draw(t, "seed")
		spec.Normalize = rapid.Bool().Draw(t, "normalize")
		if kernels[k].of.Fade != nil {
			spec.Bandwidth = rapid.Float64Range(0.3, 9).Draw(t, "bandwidth")
		}
		f, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		x := units(seeded.New(rapid.Uint64().Draw(t, "values")), 2, d)
		reference := rapid.Bool().Draw(t, "reference") // in the place of the second value
		switch rapid.IntRange(0, 2).Draw(t, "shape") {
		case 1:
			copy(row(x, 1), row(x, 0))
			blas32.Scal(-1, vector(row(x, 1)))
		case 2:
			clear(row(x, 0))
			row(x, 0)[d-1] = 1
		}
		out := blas32.General{Rows: 2, Cols: f.Channels(), Stride: f.Channels(), Data: make([]float32, 2*f.Channels())}
		if err := f.MapAll(x, out); err != nil {
			t.Fatal(err)
		}
		if reference {
			clear(row(out, 1))
		}
		var moved int
		var most, squares float64
		for c, v := range row(out, 0) {
			gap := math.Abs(float64(v-row(out, 1)[c])) / 2
			if gap > 0 {
				moved++
			}
			most = math.Max(most, gap)
			squares += gap * gap
		}
		s := f.Sensitivity()
		if moved > s.Coordinates || most > s.Gap || squares > s.SumSquares {
			t.Fatalf("%d bits moved by up to %v and %v in squares: more than %+v", moved, most, squares, s)
		}
	})
}

// What Clip gives is always taken, keeps its direction, and is what was given where
// that fits; nothing is given for what has no direction.
func TestClipFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(slices.Sorted(maps.Keys(kernels))).Draw(t, "kernel")
		d := rapid.IntRange(1, 40).Draw(t, "d")
		spec := small(k, d)
		spec.Normalize = rapid.Bool().Draw(t, "normalize")
		f, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		x := row(units(seeded.New(rapid.Uint64().Draw(t, "value")), 1, d), 0)
		blas32.Scal(float32(math.Pow(10, rapid.Float64Range(-20, 20).Draw(t, "length"))), vector(x))
		clipped, ok := f.Clip(x)
		if !ok || f.Check(clipped) != nil {
			t.Fatalf("%v: %v", ok, f.Check(clipped))
		}
		for j := range x {
			if math.Signbit(float64(x[j])) != math.Signbit(float64(clipped[j])) || f.Check(x) == nil && !spec.Normalize && math.Abs(float64(x[j]-clipped[j])) > 2e-3*math.Abs(float64(x[j])) {
				t.Fatalf("coordinate %d of %v became one of %v", j, x, clipped)
			}
		}
		for name, bad := range map[string][]float32{"zero": make([]float32, d), "longer": make([]float32, d+1), "no number": append(make([]float32, d-1), float32(math.NaN())), "infinite": append(make([]float32, d-1), float32(math.Inf(1)))} {
			if _, ok := f.Clip(bad); ok {
				t.Errorf("%s was clipped", name)
			}
		}
	})
}

// (Q, R, S) as stated: features within 1 and query features within their bound, no more
// than S features of a repetition other than zero, Q channels for each.
func TestShapeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(slices.Sorted(maps.Keys(kernels))).Draw(t, "kernel")
		d := rapid.IntRange(1, 40).Draw(t, "d")
		spec := small(k, d)
		f, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		want := map[Kernel]int{GaussianPaired: 2, Laplacian: spec.Buckets, Exponential: spec.Buckets, InnerIdentity: d, InnerRotated: d}
		q := max(want[k], 1)
		if f.Channels() != q*spec.Repetitions || f.Sparsity() > q {
			t.Fatalf("%d channels, sparsity %d", f.Channels(), f.Sparsity())
		}
		x := row(units(seeded.New(rapid.Uint64().Draw(t, "value")), 1, d), 0)
		fx, gx := make([]float32, f.Channels()), make([]float32, f.Channels())
		if err := errors.Join(f.Map(x, fx), f.Query(x, gx)); err != nil {
			t.Fatal(err)
		}
		for i := range spec.Repetitions {
			nonzero := 0
			for c := i * q; c < (i+1)*q; c++ {
				if fx[c] != 0 {
					nonzero++
				}
				if math.Abs(float64(fx[c])) > 1 || math.Abs(float64(gx[c])) > f.QueryBound()*(1+1e-6) {
					t.Fatalf("f/R = %v, g = %v of at most %v", fx[c], gx[c], f.QueryBound())
				}
			}
			if nonzero > f.Sparsity() {
				t.Fatalf("%d of %d features are not zero", nonzero, f.Sparsity())
			}
		}
	})
}

// Opposite values that are not clipped reach the bound, but for its slack.
func TestSensitivityIsReached(t *testing.T) {
	const d = 30
	f := mustNew(t, Spec{Kernel: InnerRotated, Dimension: d, Repetitions: 1, Clip: 5})
	x := row(units(seeded.New(1), 1, d), 0)
	out := make([]float32, d)
	f.Map(x, out)
	var squares float64
	for _, v := range out { // to -v
		squares += float64(v) * float64(v)
	}
	if s := f.Sensitivity(); squares < s.SumSquares*(1-2e-4) || s.Coordinates != d || math.Abs(s.SumSquares-d/25.) > 1e-3 {
		t.Errorf("reached %v of %+v", squares, s)
	}
}

// The bound of pairs is near what a search finds, of opposite values, for a
// kernel that is wide, where it is below two fifths of that of separate pairs; and that
// of the reference by any value, for a wider one.
func TestPairMovesAreNearlyReached(t *testing.T) {
	const d = 64
	f := mustNew(t, Spec{Kernel: GaussianPaired, Dimension: d, Repetitions: d, Bandwidth: 2.7, Normalize: true})
	r := seeded.New(2)
	out := blas32.General{Rows: 2, Cols: 2 * d, Stride: 2 * d, Data: make([]float32, 4*d)}
	largest := 0.0
	for range 200 {
		x := units(r, 2, d)
		copy(row(x, 1), row(x, 0))
		blas32.Scal(-1, vector(row(x, 1)))
		if err := f.MapAll(x, out); err != nil {
			t.Fatal(err)
		}
		var squares float64
		for c, v := range row(out, 0) {
			squares += math.Pow(float64(v-row(out, 1)[c])/2, 2)
		}
		largest = math.Max(largest, squares)
	}
	if s := f.Sensitivity().SumSquares; largest < s/2 || largest > s || s > 0.4*d {
		t.Errorf("reached %v of %v", largest, s)
	}
	wide := mustNew(t, Spec{Kernel: GaussianPaired, Dimension: d, Repetitions: d, Bandwidth: 8, Normalize: true})
	if s := wide.Sensitivity().SumSquares; s < 0.25*d || s > 0.25*d*slack {
		t.Errorf("the reference is %v away", s)
	}
}
