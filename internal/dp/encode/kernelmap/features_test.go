package kernelmap

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"
)

func mustNew(t testing.TB, s Spec) *Features {
	t.Helper()
	f, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// product is f(x).g(y) of all channels, with the sum over repetitions divided by I.
func product(t testing.TB, f *Features, x, y []float32) float64 {
	t.Helper()
	fx, gy := make([]float32, f.Channels()), make([]float32, f.Channels())
	if err := f.Map(x, fx); err != nil {
		t.Fatal(err)
	}
	if err := f.Query(y, gy); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i := range fx {
		sum += f.Bound() * float64(fx[i]) * float64(gy[i])
	}
	return sum / float64(f.Repetitions())
}

// The expectation over w and b, computed and not sampled: three equidistant b
// integrate trigonometric polynomials of degree two exactly, and a trapezium
// rule of step 1/8 to +-9 integrates the normal law of w beyond float32.
func TestGaussianFeaturesHaveTheKernelAsExpectation(t *testing.T) {
	const step, reach = 0.125, 9.0
	for _, h := range []float64{0.5, 1, 3} {
		a := &affine{bound: math.Sqrt2, weights: blas32.General{Rows: 3, Cols: 1, Stride: 1, Data: make([]float32, 3)}}
		a.offsets = []float32{0.3, float32(0.3 + 2*math.Pi/3), float32(0.3 + 4*math.Pi/3)}
		f := &Features{spec: Spec{Kernel: Gaussian, Dimension: 1, Repetitions: 3, Bandwidth: h}, family: a}
		for _, x := range []float32{0, -0.4, 1} {
			for _, y := range []float32{0, 0.25, 0.9} {
				var sum float64
				for w := -reach; w <= reach; w += step {
					for i := range a.weights.Data {
						a.weights.Data[i] = float32(math.Sqrt2 / h * w)
					}
					sum += step / math.Sqrt(2*math.Pi) * math.Exp(-w*w/2) * product(t, f, []float32{x}, []float32{y})
				}
				if want := math.Exp(-float64((x-y)*(x-y)) / (h * h)); math.Abs(sum-want) > 2e-6 {
					t.Errorf("h = %v, x = %v, y = %v: expectation %v, kernel %v", h, x, y, sum, want)
				}
			}
		}
	}
}

// The weights that New draws are those that the expectation above is taken over: normals of their stream, times sqrt2 over
// the bandwidth, and offsets over the whole circle. So are those of a projection, of as many numbers as it has directions.
func TestGaussianWeightsAreNormalsOverTheBandwidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Kernel: Gaussian, Dimension: rapid.IntRange(1, 9).Draw(t, "d"), Repetitions: rapid.IntRange(1, 9).Draw(t, "repetitions"), Bandwidth: rapid.Float64Range(0.01, 100).Draw(t, "h")}
		spec.Seed[0] = rapid.Byte().Draw(t, "seed")
		numbers := spec.Dimension
		if rapid.Bool().Draw(t, "projected") {
			numbers = rapid.IntRange(1, spec.Dimension).Draw(t, "m")
			spec.Kernel, spec.Projection = GaussianProjected, numbers
		}
		f, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		var a affine
		switch of := f.family.(type) {
		case *affine:
			a = *of
		case *projected:
			a = of.affine
		}
		normals, uniforms := newStream(spec.Seed, string(spec.Kernel)+"/weights"), newStream(spec.Seed, string(spec.Kernel)+"/offsets")
		z := make([]float64, numbers)
		for i := range spec.Repetitions {
			normals.normals(z)
			for j, want := range z {
				if got := float64(a.weights.Data[i*a.weights.Stride+j]) * spec.Bandwidth / math.Sqrt2; math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
					t.Fatalf("weight %d of repetition %d is %v bandwidths over sqrt2, want %v", j, i, got, want)
				}
			}
			if got, want := float64(a.offsets[i]), 2*math.Pi*uniforms.uniform(); math.Abs(got-want) > 1e-6 || got < 0 || got > 2*math.Pi {
				t.Fatalf("offset %v, want %v", got, want)
			}
		}
		if a.bound != math.Sqrt2 || f.Bound() != math.Sqrt2 || f.QueryBound() != math.Sqrt2 {
			t.Fatalf("bounds %v and %v", f.Bound(), f.QueryBound())
		}
	})
}

// All 2^d sign vectors, once each.
func TestSignFeaturesHaveTheKernelAsExpectation(t *testing.T) {
	const d = 5
	a := &affine{bound: math.Sqrt(d), weights: blas32.General{Rows: 1 << d, Cols: d, Stride: d}}
	f := &Features{spec: Spec{Kernel: InnerSigns, Dimension: d, Repetitions: 1 << d}, family: a}
	for i := range 1 << d {
		for j := range d {
			a.weights.Data = append(a.weights.Data, float32(2*(i>>j&1)-1)/float32(math.Sqrt(d)))
		}
	}
	x, y := unit(1, -2, 0, 0.5, 3), unit(2, 2, -1, 0, 1)
	if got, want := product(t, f, x, y), float64(blas32.Dot(vector(x), vector(y))); math.Abs(got-want) > 1e-6 {
		t.Errorf("expectation %v, kernel %v", got, want)
	}
}

func TestIdentityIsExact(t *testing.T) {
	f := mustNew(t, Spec{Kernel: InnerIdentity, Dimension: 3, Repetitions: 1})
	x, y := unit(1, 2, 2), unit(-1, 0, 1)
	if got, want := product(t, f, x, y), float64(blas32.Dot(vector(x), vector(y))); math.Abs(got-want) > 1e-6 {
		t.Errorf("product %v, kernel %v", got, want)
	}
	if f.Channels() != 3 || f.Sparsity() != 3 || f.Bound() != 1 {
		t.Errorf("Q R S = %d %v %d", f.Channels(), f.Bound(), f.Sparsity())
	}
}

func unit(x ...float32) []float32 {
	blas32.Scal(1/blas32.Nrm2(vector(x)), vector(x))
	return x
}

// Every feature stays within [-1, 1], both ends agree, and a block says the
// same as its rows.
func TestFeaturesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 40).Draw(t, "d")
		spec := Spec{
			Kernel:      rapid.SampledFrom(slices.Sorted(maps.Keys(kernels))).Draw(t, "kernel"),
			Dimension:   d,
			Repetitions: 1,
			Normalize:   rapid.Bool().Draw(t, "normalize"),
		}
		spec.Seed[0] = rapid.Byte().Draw(t, "seed")
		has := kernels[spec.Kernel]
		if !has.single {
			spec.Repetitions = rapid.IntRange(1, 50).Draw(t, "repetitions")
		}
		if has.of.Fade != nil {
			spec.Bandwidth = rapid.Float64Range(0.01, 100).Draw(t, "h")
		}
		if has.clip {
			spec.Clip = rapid.Float64Range(minClip, math.Sqrt(float64(d))).Draw(t, "clip")
		}
		if has.radius {
			spec.Radius = 1
			spec.Bandwidth = max(spec.Bandwidth, 0.1) // the number of hyperplanes goes by its inverse
		}
		if has.buckets {
			spec.Buckets = rapid.IntRange(2, 9).Draw(t, "buckets")
		}
		if has.projection {
			spec.Projection = rapid.IntRange(1, d).Draw(t, "projection")
			spec.Bandwidth = max(spec.Bandwidth, 0.1) // what is left of a value may be sqrt(d) times as long, in float32
		}
		device, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		analyzer, _ := New(spec)
		n := rapid.IntRange(1, 130).Draw(t, "rows")
		x := blas32.General{Rows: n, Cols: d, Stride: d + 1, Data: make([]float32, n*(d+1))}
		coordinate := rapid.Float32Range(-3, 3)
		for i := range n {
			for j := range d {
				row(x, i)[j] = float32(i%7) - coordinate.Draw(t, "x")
			}
			row(x, i)[0] += 20 // never zero
			if !spec.Normalize {
				unit(row(x, i)...)
			}
		}
		out := blas32.General{Rows: n, Cols: device.Channels(), Stride: device.Channels(), Data: make([]float32, n*device.Channels())}
		if err := device.MapAll(x, out); err != nil {
			t.Fatal(err)
		}
		one := make([]float32, device.Channels())
		for i := range n {
			if err := analyzer.Map(row(x, i), one); err != nil {
				t.Fatal(err)
			}
			for c, v := range one {
				if !(v >= -1 && v <= 1) {
					t.Fatalf("feature %v outside [-1, 1]", v)
				}
				if math.Abs(float64(v-row(out, i)[c])) > 1e-5 {
					t.Fatalf("row %d, channel %d: %v alone, %v in the block", i, c, v, row(out, i)[c])
				}
			}
		}
	})
}

func TestBadValues(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	gaussian := Spec{Kernel: Gaussian, Dimension: 2, Repetitions: 4, Bandwidth: 1}
	signs := Spec{Kernel: InnerSigns, Dimension: 2, Repetitions: 4}
	ball := Spec{Kernel: ExponentialSign, Dimension: 2, Repetitions: 4, Bandwidth: 1, Radius: 2}
	scaled := gaussian
	scaled.Normalize = true
	for _, c := range []struct {
		spec Spec
		x    []float32
		want string // empty: good
	}{
		{gaussian, []float32{3, 4}, ""},
		{gaussian, []float32{0, 0}, ""},
		{gaussian, []float32{1}, "1 coordinates"},
		{gaussian, []float32{0, nan}, "coordinate 1 is not finite"},
		{gaussian, []float32{-inf, 0}, "coordinate 0 is not finite"},
		{gaussian, []float32{3e38, 3e38}, "longer than"},
		{signs, []float32{0.6, 0.8}, ""},
		{signs, []float32{0.6, 0.8007}, ""},
		{signs, []float32{0.6, 0.81}, "not of unit length"},
		{signs, []float32{0, 0}, "not of unit length"},
		{ball, []float32{2, 0}, ""},
		{ball, []float32{2, 1}, "outside"},
		{scaled, []float32{3e14, 3e14}, ""},
		{scaled, []float32{3e38, 3e38}, "too long"},
		{scaled, []float32{1e-30, 0}, "too short"},
		{scaled, []float32{0, 0}, "zero vector"},
	} {
		f := mustNew(t, c.spec)
		out := make([]float32, 4)
		err := f.Map(c.x, out)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %v: error %v, want %q", c.spec.Kernel, c.x, err, c.want)
		}
		for _, v := range out {
			if !(v >= -1 && v <= 1) {
				t.Errorf("%s of %v: feature %v", c.spec.Kernel, c.x, v)
			}
		}
	}
	f := mustNew(t, signs)
	block := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 1, 1}}
	out := blas32.General{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}
	if err := f.MapAll(block, out); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("block with a bad row: error %v", err)
	}
}

func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{}, []string{"dimension", "repetitions", "kernel"}},
		{Spec{Kernel: Gaussian, Dimension: 1, Repetitions: 1}, []string{"bandwidth"}},
		{Spec{Kernel: Gaussian, Dimension: 1, Repetitions: 1, Bandwidth: math.NaN()}, []string{"bandwidth"}},
		{Spec{Kernel: InnerSigns, Dimension: -1, Repetitions: 1, Bandwidth: 1}, []string{"dimension", "bandwidth"}},
		{Spec{Kernel: InnerIdentity, Dimension: 1, Repetitions: 2}, []string{"repetitions"}},
		{Spec{Kernel: InnerSigns, Dimension: 1 << 20, Repetitions: 1 << 40}, []string{"at most"}},
		{Spec{Kernel: InnerRotated, Dimension: 9, Repetitions: 2, Clip: 3.1}, []string{"repetitions", "clip"}},
		{Spec{Kernel: InnerRotated, Dimension: 1 << 30, Repetitions: 1}, []string{"dimension", "clip"}},
		{Spec{Kernel: InnerIdentity, Dimension: 9, Repetitions: 1, Clip: 2}, []string{"clip"}},
		{Spec{Kernel: Laplacian, Dimension: 9, Repetitions: 1, Bandwidth: 1, Buckets: 1, Radius: 1}, []string{"radius", "buckets 1"}},
		{Spec{Kernel: Laplacian, Dimension: 9, Repetitions: 1 << 10, Bandwidth: 1, Buckets: 1 << 16}, []string{"channels"}},
		{Spec{Kernel: ExponentialSign, Dimension: 9, Repetitions: 1, Bandwidth: 1, Radius: 2, Normalize: true}, []string{"must be 1"}},
		{Spec{Kernel: ExponentialSign, Dimension: 768, Repetitions: 768, Bandwidth: 1e-3, Radius: 1}, []string{"at most"}},
		{Spec{Kernel: ExponentialSign, Dimension: 768, Repetitions: 768, Bandwidth: 1}, []string{"radius"}},
		{Spec{Kernel: GaussianProjected, Dimension: 9, Repetitions: 1, Bandwidth: 1}, []string{"projection 0: must be from 1 to the dimension, 9"}},
		{Spec{Kernel: GaussianProjected, Dimension: 9, Repetitions: 1, Bandwidth: 1, Projection: 10}, []string{"projection 10"}},
		{Spec{Kernel: Gaussian, Dimension: 9, Repetitions: 1, Bandwidth: 1, Projection: 3}, []string{"projection 3: only the kernels gaussian-projected have one"}},
	} {
		_, err := New(c.spec)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %v, want one with %q", c.spec, err, want)
			}
		}
	}
}

func BenchmarkMap768(b *testing.B) {
	f := mustNew(b, Spec{Kernel: Gaussian, Dimension: 768, Repetitions: 768, Bandwidth: 1})
	x, out := make([]float32, 768), make([]float32, 768)
	x[3] = 1
	for b.Loop() {
		f.Map(x, out)
	}
}

func BenchmarkMapAll(b *testing.B) {
	f := mustNew(b, Spec{Kernel: Gaussian, Dimension: 784, Repetitions: 784, Bandwidth: 1})
	x := blas32.General{Rows: 2048, Cols: 784, Stride: 784, Data: make([]float32, 2048*784)}
	out := blas32.General{Rows: 2048, Cols: 784, Stride: 784, Data: make([]float32, 2048*784)}
	for b.Loop() {
		f.MapAll(x, out)
	}
	b.ReportMetric(float64(b.N)*2048/b.Elapsed().Seconds(), "values/s")
}

// BenchmarkProduct is gonum's matrix product of the shape of BenchmarkMapAll,
// without the cosines: what products is measured against.
func BenchmarkProduct(b *testing.B) {
	f := mustNew(b, Spec{Kernel: Gaussian, Dimension: 784, Repetitions: 784, Bandwidth: 1})
	x := blas32.General{Rows: 2048, Cols: 784, Stride: 784, Data: make([]float32, 2048*784)}
	out := blas32.General{Rows: 2048, Cols: 784, Stride: 784, Data: make([]float32, 2048*784)}
	for b.Loop() {
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, f.family.(*affine).weights, 0, out)
	}
	b.ReportMetric(float64(b.N)*2048/b.Elapsed().Seconds(), "values/s")
}

func BenchmarkNew768(b *testing.B) {
	for b.Loop() {
		mustNew(b, Spec{Kernel: Gaussian, Dimension: 768, Repetitions: 768, Bandwidth: 1})
	}
}
