package kde

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde/exact"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/datatest"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"gonum.org/v1/gonum/blas/blas32"
)

func features(t testing.TB, s kernelmap.Spec) *kernelmap.Features {
	t.Helper()
	f, err := kernelmap.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// values are n random unit vectors.
func values(r *rand.Rand, n, d int) blas32.General {
	x := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	for i := range n {
		v := row(x, i)
		blas32.Scal(1/blas32.Nrm2(v), v)
	}
	return x
}

// expected is the density whose sums are the expectations of the bits: no
// rounding, no noise.
func expected(t testing.TB, f *kernelmap.Features, x blas32.General) Density {
	t.Helper()
	out := blas32.General{Rows: x.Rows, Cols: f.Channels(), Stride: f.Channels(), Data: make([]float32, x.Rows*f.Channels())}
	if err := f.MapAll(x, out); err != nil {
		t.Fatal(err)
	}
	d := Density{Features: f, Sums: make([]estimate.Value, f.Channels()), Respondents: x.Rows}
	for i, v := range out.Data {
		d.Sums[i%f.Channels()].Mean += (1 + float64(v)) / 2
	}
	return d
}

// private is the density from bits that are rounded at random and flipped with
// probability p, debiased.
func private(t testing.TB, f *kernelmap.Features, x blas32.General, p float64, r *rand.Rand) Density {
	t.Helper()
	out := make([]float32, f.Channels())
	counts := make([]float64, f.Channels())
	for i := range x.Rows {
		if err := f.Map(row(x, i).Data, out); err != nil {
			t.Fatal(err)
		}
		for c, v := range out {
			if (r.Float32() < (1+v)/2) != (r.Float64() < p) {
				counts[c]++
			}
		}
	}
	n := float64(x.Rows)
	d := Density{Features: f, Sums: make([]estimate.Value, f.Channels()), Respondents: x.Rows}
	for c, k := range counts {
		d.Sums[c] = estimate.Value{Mean: (k - n*p) / (1 - 2*p), StdErr: math.Sqrt(n*p*(1-p)) / (1 - 2*p)}
	}
	return d
}

func TestIdentityDensityIsExact(t *testing.T) {
	r := seeded.New(1)
	f := features(t, kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Dimension: 7, Repetitions: 1})
	x, y := values(r, 30, 7), values(r, 5, 7)
	got, err := expected(t, f, x).QueryAll(y)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range exact.Inner(x, y) {
		if math.Abs(got[i].Mean-want) > 1e-6 {
			t.Errorf("density %v, exactly %v", got[i].Mean, want)
		}
	}
}

func TestExactGaussian(t *testing.T) {
	r := seeded.New(2)
	x, y := values(r, 700, 3), values(r, 520, 3)
	got := exact.Gaussian(x, y, 0.7)
	for _, i := range []int{0, 511, 512, 519} {
		var want float64
		for j := range x.Rows {
			var square float64
			for c := range 3 {
				square += math.Pow(float64(row(x, j).Data[c]-row(y, i).Data[c]), 2)
			}
			want += math.Exp(-square/0.49) / 700
		}
		if math.Abs(got[i]-want) > 1e-6 {
			t.Errorf("query %d: density %v, by the sum %v", i, got[i], want)
		}
	}
}

// A rise is the mixture at the difference of the features, as it is linear in them.
func TestRiseIsTheDifference(t *testing.T) {
	r := seeded.New(4)
	for _, spec := range []kernelmap.Spec{
		{Kernel: kernelmap.InnerIdentity, Dimension: 9, Repetitions: 1},
		{Kernel: kernelmap.Gaussian, Dimension: 9, Repetitions: 30, Bandwidth: 1},
	} {
		f := features(t, spec)
		m, err := Mix([]float64{1}, []Density{private(t, f, values(r, 50, 9), 0.1, r)})
		if err != nil {
			t.Fatal(err)
		}
		g, h, d := make([]float32, f.Channels()), make([]float32, f.Channels()), make([]float32, f.Channels())
		for c := range g {
			g[c], h[c] = r.Float32(), r.Float32()
			d[c] = g[c] - h[c]
		}
		if got, want := m.Rise(g, h), m.At(d); got != want || math.Abs(got.Mean-(m.At(g).Mean-m.At(h).Mean)) > 1e-6 {
			t.Errorf("%s: rise %v, want %v", spec.Kernel, got, want)
		}
	}
}

// A difference of a density with itself is zero without error, though each has a large
// one: the feature errors cancel.
func TestMix(t *testing.T) {
	r := seeded.New(3)
	f := features(t, kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: 3, Repetitions: 20, Bandwidth: 1})
	x := values(r, 50, 3)
	whole := expected(t, f, x)
	y := row(x, 0).Data
	a, err := whole.Query(y)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Mix([]float64{1, -1, 0}, []Density{whole, whole, {}})
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float32, f.Channels())
	f.Query(y, g)
	if v := m.At(g); v.Mean != 0 || v.StdErr != 0 || a.StdErr < 0.01 {
		t.Errorf("difference %v of densities %v", v, a)
	}
}

func TestBadDensities(t *testing.T) {
	f := features(t, kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Dimension: 2, Repetitions: 1})
	g := features(t, kernelmap.Spec{Kernel: kernelmap.InnerSigns, Dimension: 2, Repetitions: 2})
	good := Density{f, make([]estimate.Value, 2), 4}
	for _, c := range []struct {
		d    Density
		want string
	}{
		{Density{}, "without a feature map"},
		{Density{f, make([]estimate.Value, 2), 0}, "no respondents"},
		{Density{f, make([]estimate.Value, 3), 4}, "3 sums for 2 channels"},
		{Density{g, make([]estimate.Value, 2), 4}, "different feature maps"},
		{Density{f, []estimate.Value{{}, {Mean: math.NaN()}}, 4}, "channel 1 is not finite"},
		{Density{f, []estimate.Value{{Mean: 1, StdErr: math.Inf(1)}, {}}, 4}, "channel 0 is not finite"},
	} {
		if _, err := Mix([]float64{1, 1}, []Density{good, c.d}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mix: error %v, want one with %q", err, c.want)
		}
	}
	if _, err := Mix([]float64{0}, []Density{good}); err == nil {
		t.Error("an empty mixture was accepted")
	}
	if _, err := good.Query([]float32{2, 0}); err == nil {
		t.Error("a query that is not of unit length was accepted")
	}
}

// The 95 per cent interval covers the exact density 95 times in a hundred, over
// feature maps, roundings and flips: 1,500 runs catch a coverage that is off by 3
// points. (256 repetitions estimate the spread well enough for a normal interval:
// Student's law would cover 0.0006 more.) For the identity, whose rounding error
// is bounded and not estimated, values near a corner of the cube would be covered
// more often; random unit vectors of 24 dimensions are far from it. The twins
// leave out the features' or the rounding's part of the error.
func TestIntervalsCover(t *testing.T) {
	const runs, level, users, flip = 1500, 0.95, 60, 0.05
	r := stattest.Rand(t)
	x, y := values(r, users, 24), values(r, 1, 24)
	for _, c := range []struct {
		spec  kernelmap.Spec
		exact float64
	}{
		{kernelmap.Spec{Kernel: kernelmap.Gaussian, Repetitions: 256, Bandwidth: 2}, exact.Gaussian(x, y, 2)[0]},
		{kernelmap.Spec{Kernel: kernelmap.InnerSigns, Repetitions: 256}, exact.Inner(x, y)[0]},
		{kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Repetitions: 1}, exact.Inner(x, y)[0]},
		{kernelmap.Spec{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: math.Sqrt(24)}, exact.Inner(x, y)[0]},
	} {
		c.spec.Dimension = 24
		var covered, coveredByTwin int
		for run := range runs {
			c.spec.Seed = [32]byte{byte(run), byte(run >> 8)}
			f := features(t, c.spec)
			d := private(t, f, x, flip, r)
			v, err := d.Query(row(y, 0).Data)
			if err != nil {
				t.Fatal(err)
			}
			covers := func(v estimate.Value) int {
				if lo, hi := v.Interval(level); lo <= c.exact && c.exact <= hi {
					return 1
				}
				return 0
			}
			covered += covers(v)
			g := make([]float32, f.Channels())
			f.Query(row(y, 0).Data, g)
			var variance float64 // of the flips alone
			for i, s := range d.Sums {
				variance += math.Pow(2*f.Bound()*float64(g[i])*s.StdErr/users/float64(f.Repetitions()), 2)
			}
			coveredByTwin += covers(estimate.Value{Mean: v.Mean, StdErr: math.Sqrt(variance)})
		}
		law := []float64{1 - level, level}
		stattest.GTest(t, law, []int{runs - covered, covered})
		stattest.Caught(t, func(tb testing.TB) {
			stattest.GTest(tb, law, []int{runs - coveredByTwin, coveredByTwin})
		})
	}
}

// The root mean square error at each of a few points, over draws of features, roundings and
// flips, is below KDE's Theorem 3.2 for each family. The bound is not tight: 60 runs
// measure the error to 10 %. Rotations and pairs are nearly without bias, as said there.
func TestErrorStaysBelowTheTheorem(t *testing.T) {
	const runs, users, d, flip = 60, 40, 8, 0.1
	r := seeded.New(5)
	x, y := values(r, users, d), values(r, 5, d)
	copy(row(y, 0).Data, row(x, 0).Data)
	for _, spec := range []kernelmap.Spec{
		{Kernel: kernelmap.Gaussian, Repetitions: 100, Bandwidth: 1},
		{Kernel: kernelmap.GaussianPaired, Repetitions: 100, Bandwidth: 1},
		{Kernel: kernelmap.Laplacian, Repetitions: 100, Bandwidth: 3, Buckets: 8},
		{Kernel: kernelmap.LaplacianSign, Repetitions: 100, Bandwidth: 3},
		{Kernel: kernelmap.Exponential, Repetitions: 100, Bandwidth: 1, Radius: 1, Buckets: 8},
		{Kernel: kernelmap.ExponentialSign, Repetitions: 100, Bandwidth: 1, Radius: 1},
		{Kernel: kernelmap.InnerSigns, Repetitions: 100},
		{Kernel: kernelmap.InnerIdentity, Repetitions: 1},
		{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: 1.5},
	} {
		spec.Dimension = d
		truth := exact.Densities(spec.Kernel.Similarity(), x, y, spec.Bandwidth)
		squares := make([]float64, y.Rows)
		var bound float64
		for run := range runs {
			spec.Seed[0] = byte(run)
			density := private(t, features(t, spec), x, flip, r)
			got, err := density.QueryAll(y)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				squares[i] += math.Pow(v.Mean-truth[i], 2) / runs
			}
			bound = theoremRMSE(density.Features, users, density.Sums[0].StdErr)
		}
		for i, square := range squares {
			if rmse := math.Sqrt(square); rmse > bound || rmse == 0 {
				t.Errorf("%s: error %v at point %d, bound %v", spec.Kernel, rmse, i, bound)
			}
		}
	}
}

// A mean over one value, by hand.
func TestExactDistances(t *testing.T) {
	x := blas32.General{Rows: 1, Cols: 2, Stride: 2, Data: []float32{0, 4}}
	y := blas32.General{Rows: 1, Cols: 2, Stride: 2, Data: []float32{3, 0}}
	if got := exact.Densities(kernelmap.Laplacian.Similarity(), x, y, 2)[0]; math.Abs(got-math.Exp(-3.5)) > 1e-12 {
		t.Errorf("Laplacian %v", got)
	}
	if got := exact.Densities(kernelmap.Exponential.Similarity(), x, y, 2)[0]; math.Abs(got-math.Exp(-2.5)) > 1e-12 {
		t.Errorf("exponential %v", got)
	}
}

// The README of the data gives 0.817 for the exact Gaussian density of bandwidth 1.
func TestExactGaussianClassifiesNews(t *testing.T) {
	if testing.Short() {
		t.Skip("short: two seconds")
	}
	s, err := dataset.Load(datatest.Folder(t, "agnews"), "agnews")
	if err != nil {
		t.Fatal(err)
	}
	var densities [][]float64
	for _, x := range s.Train.ByClass(len(s.Classes)) {
		densities = append(densities, exact.Gaussian(x, s.Test.X, 1))
	}
	right := 0
	for i, y := range s.Test.Y {
		best := 0
		for c := range densities {
			if densities[c][i] > densities[best][i] {
				best = c
			}
		}
		if best == y {
			right++
		}
	}
	if accuracy := float64(right) / float64(s.Test.Len()); math.Abs(accuracy-0.817) > 6e-4 {
		t.Errorf("accuracy %.4f, want 0.817", accuracy)
	}
}

func BenchmarkQueryAll(b *testing.B) {
	r := seeded.New(1)
	f := features(b, kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: 256, Repetitions: 1024, Bandwidth: 1})
	d := expected(b, f, values(r, 10, 256))
	y := values(r, 3000, 256)
	for b.Loop() {
		d.QueryAll(y)
	}
	b.ReportMetric(float64(b.N)*3000/b.Elapsed().Seconds(), "queries/s")
}

// theoremRMSE is the bound of KDE, Theorem 3.2, on the root mean square error of a
// density at any one point, over the draws of features too, given that of one bit sum
// over n respondents: sqrt(16 R^4 S (S + (rmse/n)^2) / I), where beta = 0. Where f and g
// have bounds of their own, R^2 is their product: the estimate is the same if one is
// scaled by what the other is divided by.
func theoremRMSE(f *kernelmap.Features, n int, rmse float64) float64 {
	s, r := float64(f.Sparsity()), f.Bound()*f.QueryBound()
	return math.Sqrt(16 * r * r * s * (s + math.Pow(rmse/float64(n), 2)) / float64(f.Repetitions()))
}

// part returns some rows of a matrix.
func part(x blas32.General, from, rows int) blas32.General {
	x.Rows = min(rows, x.Rows-from)
	x.Data = x.Data[from*x.Stride:]
	return x
}

// row returns one row of a matrix.
func row(x blas32.General, i int) blas32.Vector {
	return blas32.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride : i*x.Stride+x.Cols]}
}
