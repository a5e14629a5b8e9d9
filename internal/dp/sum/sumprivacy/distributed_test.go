package sumprivacy

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// reach holds all but 1e-12 of the laws tested here.
const reach = 60

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// nb is the law of a negative binomial, up to top.
func nb(r, p float64, top int) []float64 {
	law := make([]float64, top+1)
	for k := range law {
		law[k] = math.Exp(prob.LogNegativeBinomialPMF(k, r, p))
	}
	return law
}

// centred convolves two laws on -reach..reach, of which the sums beyond are negligible.
func centred(a, b []float64) []float64 {
	c := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		for j, q := range b {
			c[i+j] += p * q
		}
	}
	return c[reach : 3*reach+1]
}

// totalNoise is the law of n devices' noise, from the definition, on -reach..reach.
func (m DistributedLaplace) totalNoise(n int) []float64 {
	up := make([]float64, 2*reach+1)
	down := make([]float64, 2*reach+1)
	for k, p := range nb(float64(n)/float64(m.Users), math.Exp(-m.Noise), reach) {
		up[reach+k], down[reach-k] = p, p
	}
	return centred(up, down)
}

var shared = []struct{ m, twin DistributedLaplace }{
	{DistributedLaplace{6, 0.6}, DistributedLaplace{6, 0.67}},
	{DistributedLaplace{6, 1.5}, DistributedLaplace{6, 1.65}},
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

// By enumeration: over exactly Users devices the shares make the curator's noise.
func TestDistributedNoiseIsTheCurators(t *testing.T) {
	curator := noise.DiscreteLaplace{Decay: 0.6}
	for i, p := range (DistributedLaplace{6, 0.6}).totalNoise(6) {
		if want := math.Exp(curator.LogProb(i - reach)); i > 20 && i < 100 && math.Abs(p-want) > 1e-12*(1+want) {
			t.Errorf("P(%d) is %v, the curator's %v", i-reach, p, want)
		}
	}
}

func TestDistributedRefuses(t *testing.T) {
	r, nan := stattest.Rand(t), math.NaN()
	for _, m := range []DistributedLaplace{{0, 1}, {5, 0}, {5, nan}, {5, 1000}} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"AddNoise": func() { m.AddNoise(r, []int{1}) },
			"DrawSum":  func() { m.DrawSum(r, 0, 0) },
			"Beyond":   func() { m.Beyond(1) },
		} {
			if !panics(use) {
				t.Errorf("%s went on with %+v", name, m)
			}
		}
	}
	for _, s := range shared {
		if v := s.m.DrawSum(r, 0, 0); v != 0 {
			t.Errorf("%+v: nobody's sum is %v", s.m, v)
		}
	}
}

func BenchmarkDistributedLaplaceDevice(b *testing.B) {
	m := DistributedLaplace{Users: 40_000, Noise: 0.0085}
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
