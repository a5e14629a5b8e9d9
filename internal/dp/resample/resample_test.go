package resample_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/resample"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Theorem 6: whatever the noise, shares lie in [tau, 1] and add up to one.
func TestSharesAreTakenIntoTheirRange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		q := make([]float64, 2+r.IntN(9))
		for y := range q {
			q[y] = 3 * r.NormFloat64()
		}
		tau := r.Float64() / float64(len(q))
		given := slices.Clone(q)
		resample.Mechanism{K: len(q), Least: tau, Resample: 1}.Shares(q)
		sum := 0.0
		for _, v := range q {
			sum += v
			if v < tau-1e-15 || v > 1+1e-15 {
				t.Fatalf("%v become %v, outside [%v, 1]", given, q, tau)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("%v become %v, which add up to %v", given, q, sum)
		}
	}
}

// Reports of two symbols, and of none, are alike to within the stated factor, one pair reaches it, and each law adds up to
// one: enumerated. The twin whose shares may be smaller than it says is beyond it.
func TestResampledByEnumeration(t *testing.T) {
	for _, m := range []resample.Mechanism{{K: 2, Least: 0.1, Resample: 0.5}, {K: 3, Least: 1. / 3, Resample: 0.9}, resample.At(4, 0.7, 0.05)} {
		worst := func(least float64) (found float64) {
			q := slices.Repeat([]float64{least}, m.K)
			q[m.K-1] = 1 - least*float64(m.K-1)
			for x := -1; x < m.K; x++ {
				sum := 0.0
				for o, p := range m.Law(x, q) {
					sum += p
					for y := -1; y < m.K; y++ {
						found = math.Max(found, math.Log(p/m.Law(y, q)[o]))
					}
				}
				if math.Abs(sum-1) > 1e-12 {
					t.Errorf("%+v: the reports of %d add up to %v", m, x, sum)
				}
			}
			return found
		}
		if found := worst(m.Least); math.Abs(found-m.Epsilon()) > 1e-9 {
			t.Errorf("%+v: epsilon %v, and %v is found", m, m.Epsilon(), found)
		}
		if worst(m.Least/2) <= m.Epsilon() {
			t.Errorf("%+v: smaller shares cost nothing", m)
		}
	}
	if m := resample.At(3, 0.4, 0.1); math.Abs(m.Epsilon()-0.4) > 1e-9 || m.Validate() != nil {
		t.Errorf("%+v: epsilon %v of 0.4", m, m.Epsilon())
	}
	for _, m := range []resample.Mechanism{{}, {K: 2, Least: 0.6, Resample: 1}, {K: 2, Least: 0.1}, {K: 2, Least: math.NaN(), Resample: 1}, {K: 2, Least: 0.1, Resample: 1.1}} {
		if m.Validate() == nil {
			t.Errorf("%+v is taken", m)
		}
	}
}

// Draws follow the law. The twin keeps a symbol a tenth more often.
func TestResampledFollowsItsLaw(t *testing.T) {
	r, q := stattest.Rand(t), []float64{0.1, 0.3, 0.6}
	m := resample.Mechanism{K: 3, Least: 0.1, Resample: 0.6}
	for y := -1; y < 3; y++ {
		counts := make([]int, 3)
		for range 40_000 {
			counts[m.Report(r, y, q)]++
		}
		stattest.GTest(t, m.Law(y, q), counts)
		if y >= 0 {
			stattest.Caught(t, func(tb testing.TB) {
				stattest.GTest(tb, resample.Mechanism{K: 3, Least: 0.1, Resample: 0.54}.Law(y, q), counts)
			})
		}
	}
}
