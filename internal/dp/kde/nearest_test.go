package kde

import (
	"errors"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"gonum.org/v1/gonum/blas/blas32"
)

// towards are unit vectors about a common direction.
func towards(seed uint64, n, d int) blas32.General {
	x := values(seeded.New(seed), n+1, d)
	for i := range n {
		blas32.Axpy(0.7, row(x, n), row(x, i))
		blas32.Scal(1/blas32.Nrm2(row(x, i)), row(x, i))
	}
	x.Rows = n
	return x
}

// exactNearest is the definition.
func exactNearest(a, b blas32.General, y []float32) float64 {
	distance := func(x blas32.General) (square float64) {
		for j, v := range y {
			var mean float64
			for i := range x.Rows {
				mean += float64(row(x, i).Data[j]) / float64(x.Rows)
			}
			square += math.Pow(float64(v)-mean, 2)
		}
		return square
	}
	return (distance(b) - distance(a)) / 2
}

// Without noise and rounding (of infinitely many like these) it is the definition.
func TestNearestIsTheDefinition(t *testing.T) {
	const d = 24
	a, b := towards(1, 30, d), towards(2, 20, d)
	y := row(values(seeded.New(3), 1, d), 0).Data
	f := features(t, kernelmap.Spec{Kernel: kernelmap.InnerRotated, Dimension: d, Repetitions: 1, Clip: math.Sqrt(d)})
	many := func(x blas32.General) Density {
		e := expected(t, f, x)
		for c := range e.Sums {
			e.Sums[c] = e.Sums[c].Scale(1e9)
		}
		e.Respondents *= 1e9
		return e
	}
	n, err := NearestMean([]float64{1, 0}, []float64{0, 1}, []Density{many(a), many(b)})
	if err != nil {
		t.Fatal(err)
	}
	g := make([]float32, d)
	f.Query(y, g)
	if got, want := n.At(g), exactNearest(a, b, y); math.Abs(got.Mean-want) > 1e-5 || got.StdErr > 1e-4 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Over roundings and flips the comparison is unbiased and its error is as said: the 95
// per cent interval covers what is estimated 95 times in a hundred, and the mean is
// right. Groups are small and noisy, so that squares of errors matter. For weights that
// mix the groups too. The twin leaves the norms' noise in. (The rotated map is one for
// all runs, and without clipping: what clipping does is not in the error.)
func TestNearestIsUnbiasedAndCovers(t *testing.T) {
	const runs, d, level, flip = 1500, 24, 0.95, 0.1
	a, b := towards(1, 60, d), towards(2, 40, d)
	y := row(values(seeded.New(3), 1, d), 0).Data
	r := stattest.Rand(t)
	exact := exactNearest(a, b, y)
	for _, c := range []struct {
		spec   kernelmap.Spec
		mixing float64
	}{
		{kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Repetitions: 1}, 0},
		{kernelmap.Spec{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: math.Sqrt(d)}, 0},
		{kernelmap.Spec{Kernel: kernelmap.InnerRotated, Repetitions: 1, Clip: math.Sqrt(d)}, 0.3},
		{kernelmap.Spec{Kernel: kernelmap.InnerSigns, Repetitions: 300}, 0},
	} {
		c.spec.Dimension = d
		wa, wb := []float64{1 - c.mixing, c.mixing}, []float64{c.mixing, 1 - c.mixing}
		want := exact
		if c.mixing != 0 { // from densities without noise; their norms are those of mixed means
			f := features(t, c.spec)
			da, db := expected(t, f, a), expected(t, f, b)
			g := make([]float32, d)
			f.Query(y, g)
			want = 0
			for j, v := range g {
				ma, mb := f.Bound()*(2*da.Sums[j].Mean/60-1), f.Bound()*(2*db.Sums[j].Mean/40-1)
				ma, mb = wa[0]*ma+wa[1]*mb, wb[0]*ma+wb[1]*mb
				want += float64(v)*(ma-mb) - (ma*ma-mb*mb)/2
			}
		}
		draws, biased := make([]float64, runs), make([]float64, runs)
		var covered int
		var variance float64
		for run := range runs {
			c.spec.Seed = [32]byte{byte(run), byte(run >> 8)}
			f := features(t, c.spec)
			ds := []Density{private(t, f, a, flip, r), private(t, f, b, flip, r)}
			n, err := NearestMean(wa, wb, ds)
			if err != nil {
				t.Fatal(err)
			}
			g := make([]float32, f.Channels())
			f.Query(y, g)
			v := n.At(g)
			if lo, hi := v.Interval(level); lo <= want && want <= hi {
				covered++
			}
			draws[run] = v.Mean
			biased[run] = v.Mean - (ds[0].noise()-ds[1].noise())/2/float64(f.Repetitions())
			variance += math.Pow(v.Mean-want, 2) / runs
		}
		stattest.Mean(t, want, variance, draws)
		if c.mixing == 0 {
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, want, variance, biased) })
		}
		stattest.GTest(t, []float64{1 - level, level}, []int{runs - covered, covered})
	}
}

func TestNearestRefuses(t *testing.T) {
	f := features(t, kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: 2, Repetitions: 3, Bandwidth: 1})
	if _, err := NearestMean([]float64{1}, []float64{0}, []Density{{f, make([]estimate.Value, 3), 4}}); !errors.Is(err, errNoMean) {
		t.Errorf("a kernel of distances: %v", err)
	}
	if _, err := NearestMean([]float64{1}, []float64{0}, []Density{{}}); err == nil {
		t.Error("an empty density was compared")
	}
}
