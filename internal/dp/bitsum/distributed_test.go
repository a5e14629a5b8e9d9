package bitsum

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// distributed is what the protocols of shared noise have in common.
type distributed interface {
	Validate() error
	AddNoise(r *rand.Rand, values []int)
	DrawSum(r *rand.Rand, sum, n int) int
	Estimate(total, n int) estimate.Value
	DrawEstimate(r *rand.Rand, ones, n int) estimate.Value
	// totalNoise is the law of n devices' noise, from the definition, on -reach..reach.
	totalNoise(n int) []float64
}

// reach holds all but 1e-12 of the laws tested here.
const reach = 60

// centred convolves two laws on -reach..reach, of which the sums beyond are negligible.
func centred(a, b []float64) []float64 { return convolve(a, b)[reach : 3*reach+1] }

func (m DistributedLaplace) totalNoise(n int) []float64 {
	up := make([]float64, 2*reach+1)
	down := make([]float64, 2*reach+1)
	for k, p := range nb(float64(n)/float64(m.Users), math.Exp(-m.Noise), reach) {
		up[reach+k], down[reach-k] = p, p
	}
	return centred(up, down)
}

func (m DistributedGaussian) totalNoise(n int) []float64 {
	one, law := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	law[reach] = 1
	for k := range one {
		one[k] = math.Exp((noise.DiscreteGaussian{Sigma: m.Sigma}).LogProb(k - reach))
	}
	for range n {
		law = centred(law, one)
	}
	return law
}

var shared = []struct{ m, twin distributed }{
	{DistributedLaplace{6, 0.6}, DistributedLaplace{6, 0.67}},
	{DistributedLaplace{6, 1.5}, DistributedLaplace{6, 1.65}},
	{DistributedGaussian{6, 0.4}, DistributedGaussian{6, 0.43}},
	{DistributedGaussian{6, 1.7}, DistributedGaussian{6, 1.85}},
}

// clipped is a law on -reach..reach with what is beyond top in its ends.
func clipped(law []float64, top int) []float64 {
	bins := make([]float64, 2*top+1)
	rest := 1.0
	for i, p := range law {
		bins[max(-top, min(top, i-reach))+top] += p
		rest -= p
	}
	bins[0] += max(0, rest)
	return bins
}

// Devices one by one in two channels and the drawn total have the law of the definition,
// for a crowd of exactly Users and for a larger one. Values pass through unchanged.
func TestDistributedSum(t *testing.T) {
	const top = 12
	for _, s := range shared {
		for _, n := range []int{6, 9} {
			r := stattest.Rand(t)
			drawn, sent, second := make([]int, 2*top+1), make([]int, 2*top+1), make([]int, 2*top+1)
			bin := func(k int) int { return max(-top, min(top, k)) + top }
			for range 20_000 {
				drawn[bin(s.m.DrawSum(r, 7, n)-7)]++
				var totals [2]int
				for device := range n {
					values := []int{device, -3 * device}
					s.m.AddNoise(r, values)
					totals[0] += values[0]
					totals[1] += values[1]
				}
				values := n * (n - 1) / 2
				sent[bin(totals[0]-values)]++
				second[bin(totals[1]+3*values)]++
			}
			for _, counts := range [][]int{drawn, sent, second} {
				stattest.GTest(t, clipped(s.m.totalNoise(n), top), counts)
				stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, clipped(s.twin.totalNoise(n), top), counts) })
			}
		}
	}
}

// By enumeration: the estimate is unbiased and its standard error is its deviation. Over
// exactly Users devices the Laplace shares make the curator's noise.
func TestDistributedEstimateByEnumeration(t *testing.T) {
	for _, s := range shared {
		for _, n := range []int{6, 9} {
			var mean, square float64
			for i, p := range s.m.totalNoise(n) {
				v := s.m.Estimate(5+i-reach, n)
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
			}
			claimed := s.m.Estimate(0, n).StdErr
			if !near(mean, 5, 1e-8) || !near(claimed*claimed, square-mean*mean, 1e-7) {
				t.Errorf("%+v, %d devices: mean %v, variance %v, claimed %v", s.m, n, mean, square-mean*mean, claimed*claimed)
			}
		}
	}
	curator := noise.DiscreteLaplace{Decay: 0.6}
	for i, p := range (DistributedLaplace{6, 0.6}).totalNoise(6) {
		if want := math.Exp(curator.LogProb(i - reach)); i > 20 && i < 100 && !near(p, want, 1e-12) {
			t.Errorf("P(%d) is %v, the curator's %v", i-reach, p, want)
		}
	}
}

func TestDistributedRefuses(t *testing.T) {
	r, nan := stattest.Rand(t), math.NaN()
	for _, m := range []distributed{
		DistributedLaplace{0, 1}, DistributedLaplace{5, 0}, DistributedLaplace{5, nan}, DistributedLaplace{5, 1000},
		DistributedGaussian{0, 1}, DistributedGaussian{5, 0}, DistributedGaussian{5, nan}, DistributedGaussian{5, 1e9},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"AddNoise": func() { m.AddNoise(r, []int{1}) },
			"DrawSum":  func() { m.DrawSum(r, 0, 0) },
			"Estimate": func() { m.Estimate(0, 0) },
		} {
			if !panics(use) {
				t.Errorf("%s went on with %+v", name, m)
			}
		}
	}
	for _, s := range shared {
		if v := s.m.DrawEstimate(r, 0, 0); v != (estimate.Value{}) {
			t.Errorf("%+v: nobody's sum is %v", s.m, v)
		}
		if !panics(func() { s.m.DrawEstimate(r, 4, 3) }) {
			t.Errorf("%+v: four ones among three bits", s.m)
		}
	}
}

// Numbers on the grid stay, others go to one of their two neighbours with the mean kept,
// those outside are cut off. 100,000 tell a probability off by 0.01.
func TestGridRounds(t *testing.T) {
	g := Grid{Levels: 4}
	numbers := []float32{-1, 1, 0.25, 0, -1.0000002, float32(math.Inf(1)), 0.4375, -0.3}
	at := []int{-4, 4, 1, 0, -4, 4, 1, -2}
	r, up, values := stattest.Rand(t), make([]int, len(numbers)), make([]int, len(numbers))
	const rounds = 100_000
	for range rounds {
		g.RoundAll(r, numbers, values)
		for i, v := range values {
			if v != at[i] && v != at[i]+1 {
				t.Fatalf("%v became %d", numbers[i], v)
			}
			up[i] += v - at[i]
		}
	}
	for i, k := range up[:6] {
		if k != 0 {
			t.Errorf("%v moved %d times", numbers[i], k)
		}
	}
	stattest.Binomial(t, 0.75, rounds, up[6])
	stattest.Binomial(t, 0.8, rounds, up[7])
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, 0.76, rounds, up[6]) })
}

// The estimate of a sum of numbers, with the noise of a crowd: the intervals cover, and
// hardly more often than they say, the numbers being halfway between levels.
func TestGridEstimate(t *testing.T) {
	g, m := Grid{Levels: 2}, DistributedGaussian{Users: 50, Sigma: 0.7}
	r, numbers, values := stattest.Rand(t), make([]float32, 50), make([]int, 50)
	truth := 0.0
	for i := range numbers {
		numbers[i] = []float32{-0.75, 0.25, 0.75}[i%3]
		truth += float64(numbers[i])
	}
	draws := make([]float64, 20_000)
	var v estimate.Value
	for i := range draws {
		g.RoundAll(r, numbers, values)
		sum := 0
		for _, k := range values {
			sum += k
		}
		v = g.Estimate(m.Estimate(m.DrawSum(r, sum, 50), 50), 50)
		draws[i] = (v.Mean - truth) * (v.Mean - truth)
	}
	// The square of a nearly normal error has variance 2 StdErr^4.
	variance := v.StdErr * v.StdErr
	stattest.Mean(t, variance, 2*variance*variance, draws)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 0.9*variance, 2*variance*variance, draws) })
	if g.Sensitivity() != 4 {
		t.Errorf("sensitivity %d of values from -2 to 2", g.Sensitivity())
	}
}

func TestGridRefuses(t *testing.T) {
	r := stattest.Rand(t)
	for _, g := range []Grid{{0}, {-1}, {1<<20 + 1}} {
		if g.Validate() == nil || !panics(func() { g.RoundAll(r, nil, nil) }) || !panics(func() { g.Estimate(estimate.Value{}, 1) }) {
			t.Errorf("%+v is valid", g)
		}
	}
	if !panics(func() { Grid{3}.RoundAll(r, []float32{float32(math.NaN())}, make([]int, 1)) }) || !panics(func() { Grid{3}.RoundAll(r, make([]float32, 2), make([]int, 1)) }) {
		t.Error("what is not a number was rounded")
	}
}

func BenchmarkDistributedLaplaceDevice(b *testing.B) {
	benchmarkShares(b, DistributedLaplace{Users: 40_000, Noise: 0.0085})
}

func BenchmarkDistributedGaussianDevice(b *testing.B) {
	benchmarkShares(b, DistributedGaussian{Users: 40_000, Sigma: 0.593})
}

func benchmarkShares(b *testing.B, m distributed) {
	r, values := stattest.Rand(b), make([]int, 768)
	for b.Loop() {
		m.AddNoise(r, values)
	}
}

// Shares within reach fill the bits of a number, and what is beyond is as rare as is asked for:
// the bound is above the law's own tail, and not by much.
func TestSharesBeyondReachAreRare(t *testing.T) {
	for _, m := range []DistributedLaplace{{1, 0.5}, {6, 0.6}, {36_000, 0.5}, {1000, 0.05}} {
		for _, rare := range []float64{1e-3, 1e-7} {
			reach := m.Reach(rare)
			if reach&(reach+1) != 0 || float64(m.Users)*m.Beyond(reach) > rare || reach > 1 && float64(m.Users)*m.Beyond(reach/2) <= rare {
				t.Errorf("%+v: a reach of %d, beyond which are %v of at most %v", m, reach, float64(m.Users)*m.Beyond(reach), rare)
			}
			half, tail := nb(1/float64(m.Users), math.Exp(-m.Noise), 4000), 0.0
			for _, p := range half[reach+1:] {
				tail += 2 * p // that both are is rarer still
			}
			if got := m.Beyond(reach); got < tail*(1-1e-9) || got > 1.5*tail {
				t.Errorf("%+v: beyond %d with probability %v at most, and the halves are with %v", m, reach, got, tail)
			}
		}
	}
}
