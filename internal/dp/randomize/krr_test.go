package randomize

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))
}

func drawKRR(t *rapid.T) KRR {
	return KRR{K: rapid.IntRange(2, 20).Draw(t, "K"), Epsilon: rapid.Float64Range(1e-3, 20).Draw(t, "epsilon")}
}

func TestKRRLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawKRR(t)
		most := 0.
		for x := range m.K {
			sum := 0.
			for y := range m.K {
				sum += m.Prob(y, x)
				most = math.Max(most, math.Log(m.Prob(y, x)/m.Prob(y, (x+1)%m.K)))
			}
			if !near(sum, 1, 1e-12) {
				t.Fatalf("row %d sums to %v", x, sum)
			}
		}
		if !near(most, m.Epsilon, 1e-12) { // private, and not wasteful
			t.Fatalf("the largest log ratio is %v", most)
		}
		if g := m.Local(account.Replacement); g.Epsilon != m.Epsilon || g.Delta != 0 || g.Adjacency != account.Replacement {
			t.Fatalf("it promises %v", g)
		}
	})
}

func TestKRRInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawKRR(t)
		diagonal, other := m.Inverse()
		held := make([]float64, m.K)
		reported := make([]float64, m.K)
		for x := range held {
			held[x] = rapid.Float64Range(-10, 10).Draw(t, "held")
			for y := range reported {
				reported[y] += m.Prob(y, x) * held[x]
			}
			for y := range reported {
				sum := (diagonal - other) * m.Prob(y, x)
				for z := range reported {
					sum += other * m.Prob(z, x)
				}
				want := 0.
				if x == y {
					want = 1
				}
				if !near(sum, want, 1e-12*diagonal) {
					t.Fatalf("entry (%d, %d) of the inverse times the matrix is %v", y, x, sum)
				}
			}
		}
		var all float64
		for _, x := range reported {
			all += x
		}
		for x := range reported {
			got := (diagonal-other)*reported[x] + other*all
			if !near(got, held[x], 1e-11*diagonal) {
				t.Fatalf("sum over %d is %v, want %v", x, got, held[x])
			}
		}
	})
}

// All joint reports of a few devices: the estimate has the right mean, and its
// squared standard error is the variance in the mean.
func TestKRREstimateByEnumeration(t *testing.T) {
	m := KRR{K: 3, Epsilon: 0.7}
	held := []int{0, 0, 1, 0, 2, 0}
	truth := []float64{4, 1, 1}
	mean, square, claimed := make([]float64, 3), make([]float64, 3), make([]float64, 3)
	values := make([]estimate.Value, m.K)
	var walk func(device int, p float64, counts []uint64)
	walk = func(device int, p float64, counts []uint64) {
		if device == len(held) {
			m.EstimateAll(counts, len(held), values)
			for x, v := range values {
				mean[x] += p * v.Mean
				square[x] += p * v.Mean * v.Mean
				claimed[x] += p * v.StdErr * v.StdErr
			}
			return
		}
		for y := range m.K {
			counts[y]++
			walk(device+1, p*m.Prob(y, held[device]), counts)
			counts[y]--
		}
	}
	walk(0, 1, make([]uint64, 3))
	for x := range truth {
		if !near(mean[x], truth[x], 1e-12) {
			t.Errorf("mean estimate of %d is %v, want %v", x, mean[x], truth[x])
		}
		if variance := square[x] - mean[x]*mean[x]; !near(claimed[x], variance, 1e-12) {
			t.Errorf("variance of %d is %v, claimed in the mean %v", x, variance, claimed[x])
		}
	}
}

// 100,000 draws catch an epsilon that is 10 % too large, and a symbol that is
// never reported.
func TestKRRSampler(t *testing.T) {
	r, m := stattest.Rand(t), KRR{K: 8, Epsilon: 1}
	law := func(m KRR) []float64 {
		law := make([]float64, m.K)
		for y := range law {
			law[y] = m.Prob(y, 2)
		}
		return law
	}
	counts := make([]int, m.K)
	for range 100_000 {
		counts[m.Randomize(r, 2)]++
	}
	stattest.GTest(t, law(m), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(KRR{K: 8, Epsilon: 1.1}), counts) })
	counts[2], counts[7] = counts[2]+counts[7], 0
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(m), counts) })
}

// At the ends of the range the law still holds: nothing is lost but the intended.
func TestKRRAtTheEnds(t *testing.T) {
	r := stattest.Rand(t)
	for range 10_000 {
		if (KRR{K: 2, Epsilon: MaxEpsilon}).Randomize(r, 1) != 1 {
			t.Fatal("a lie of probability 2e-22")
		}
	}
	counts := make([]int, 4)
	for range 10_000 {
		counts[KRR{K: 4, Epsilon: 1e-300}.Randomize(r, 3)]++
	}
	stattest.GTest(t, []float64{0.25, 0.25, 0.25, 0.25}, counts)
}

func TestKRRRefuses(t *testing.T) {
	for _, m := range []KRR{{1, 1}, {0, 1}, {-3, 1}, {2, 0}, {2, -1}, {2, math.NaN()}, {2, math.Inf(1)}, {2, 51}} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"Randomize": func() { m.Randomize(stattest.Rand(t), 0) },
			"Local":     func() { m.Local(account.Removal) },
			"Prob":      func() { m.Prob(0, 0) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of %+v did not panic", name, m)
					}
				}()
				use()
			}()
		}
	}
}

func BenchmarkKRR(b *testing.B) {
	r, m := stattest.Rand(b), KRR{K: 10, Epsilon: 1}
	for b.Loop() {
		m.Randomize(r, 3)
	}
}
