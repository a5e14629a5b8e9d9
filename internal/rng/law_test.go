package rng_test

import (
	"math"
	"math/bits"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// 100,000 draws tell 0.3 from 0.31 (a relative entropy of 2.4e-4).
func TestBernoulliLaw(t *testing.T) {
	r, p, counts := stattest.Rand(t), rng.Prob(0.3), make([]int, 2)
	for range 100_000 {
		if rng.Bernoulli(r, p) {
			counts[1]++
		} else {
			counts[0]++
		}
	}
	stattest.GTest(t, []float64{0.7, 0.3}, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{0.69, 0.31}, counts) })
}

// Counts of successes, over more than one random word. 100,000 tell 0.3 from 0.305.
func TestBinomialLaw(t *testing.T) {
	const trials = 70
	r, counts := stattest.Rand(t), make([]int, trials+1)
	for range 100_000 {
		counts[rng.Binomial(r, trials, rng.Prob(0.3))]++
	}
	law := func(p float64) []float64 {
		law := make([]float64, trials+1)
		for k := range law {
			law[k] = prob.BinomialPMF(k, trials, p)
		}
		return law
	}
	stattest.GTest(t, law(0.3), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(0.305), counts) })
	for _, n := range []int{0, 1, 64, 1000} {
		if none, all := rng.Binomial(r, n, rng.Prob(0)), rng.Binomial(r, n, rng.Prob(1)); none != 0 || all != n {
			t.Errorf("of %d trials %d succeed at probability 0 and %d at 1", n, none, all)
		}
	}
}

// setLaw is the law of the set of successes among independent trials, as a bit mask.
func setLaw(p float64, trials int) []float64 {
	law := make([]float64, 1<<trials)
	for set := range law {
		k := bits.OnesCount(uint(set))
		law[set] = math.Pow(p, float64(k)) * math.Pow(1-p, float64(trials-k))
	}
	return law
}

// The whole joint law, over a number of trials that is no power of two. Its twins
// succeed with a probability 5 % too large, or never in the last trial.
func TestSkipperLaw(t *testing.T) {
	const trials = 7
	r := stattest.Rand(t)
	for _, p := range []float64{0.04, 0.25, 0.6} {
		s, counts := rng.NewSkipper(rng.Prob(p)), make([]int, 1<<trials)
		for range 200_000 {
			set, last := 0, -1
			for i := range s.Successes(r, trials) {
				if i <= last || i >= trials {
					t.Fatalf("success %d after %d", i, last)
				}
				set, last = set|1<<i, i
			}
			counts[set]++
		}
		stattest.GTest(t, setLaw(p, trials), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, setLaw(1.05*p, trials), counts) })
		without := make([]int, len(counts))
		for set, n := range counts {
			without[set&^(1<<(trials-1))] += n
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, setLaw(p, trials), without) })
	}
}

// Geometric draws. The twin's trials succeed 5 % less often.
func TestGeometricLaw(t *testing.T) {
	r := stattest.Rand(t)
	for _, q := range []float64{0, 0.5, 0.97} {
		p, counts := rng.NewPowers(rng.Prob(q)), make([]int, 200)
		for range 200_000 {
			counts[min(199, p.Geometric(r))]++
		}
		law := func(q float64) []float64 {
			law := make([]float64, 200)
			for k := range law {
				law[k] = (1 - q) * math.Pow(q, float64(k))
			}
			law[199] = math.Pow(q, 199)
			return law
		}
		stattest.GTest(t, law(q), counts)
		if q > 0 {
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(1-1.05*(1-q)), counts) })
		}
	}
}

// Draws of probability q^k. Among 100,000 a probability off by 0.01 is caught.
func TestPowersLaw(t *testing.T) {
	r, p := stattest.Rand(t), rng.NewPowers(rng.Prob(0.9))
	for _, k := range []int{0, 1, 6, 13, 64, 1 << 61} {
		hits, law := 0, math.Pow(0.9, float64(k))
		for range 100_000 {
			if p.Bernoulli(r, k) {
				hits++
			}
		}
		stattest.Binomial(t, law, 100_000, hits)
		stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, math.Abs(law-0.01), 100_000, hits) })
	}
}

// All 120 orders of five things are equally likely. The twins leave the first
// element, or draw each index from all five (which favours some orders).
func TestShuffleLaw(t *testing.T) {
	uniform := make([]float64, 120)
	for i := range uniform {
		uniform[i] = 1. / 120
	}
	r := stattest.Rand(t)
	orders := func(shuffle func(s []int)) []int {
		counts := make([]int, 120)
		for range 120_000 {
			s := []int{0, 1, 2, 3, 4}
			shuffle(s)
			counts[rank(s)]++
		}
		return counts
	}
	stattest.GTest(t, uniform, orders(func(s []int) { rng.Shuffle(r, s) }))
	stattest.Caught(t, func(tb testing.TB) {
		stattest.GTest(tb, uniform, orders(func(s []int) { rng.Shuffle(r, s[1:]) }))
	})
	stattest.Caught(t, func(tb testing.TB) {
		stattest.GTest(tb, uniform, orders(func(s []int) {
			for i := range s {
				j := r.IntN(len(s))
				s[i], s[j] = s[j], s[i]
			}
		}))
	})
}

// rank is the place of a permutation in lexicographic order.
func rank(s []int) int {
	place := 0
	for i, x := range s {
		place *= len(s) - i
		for _, y := range s[i+1:] {
			if y < x {
				place++
			}
		}
	}
	return place
}

// Neighbouring bits of a mask jointly, and each by itself. The twins have a probability
// 5 % too large, and bits that are alike.
func TestMaskLaw(t *testing.T) {
	r := stattest.Rand(t)
	for _, p := range []float64{1. / 128, 0.25, 0.3, 0.9} {
		const trials = 4
		counts, each := make([]int, 1<<trials), make([]int, 64)
		for range 40_000 {
			m := rng.Mask(r, rng.Prob(p))
			for i := range each {
				each[i] += int(m >> i & 1)
			}
			for at := 0; at < 64; at += trials {
				counts[m>>at&(1<<trials-1)]++
			}
		}
		for _, ones := range each {
			stattest.Binomial(t, p, 40_000, ones)
		}
		stattest.GTest(t, setLaw(p, trials), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, setLaw(1.05*p, trials), counts) })
		alike := make([]int, 1<<trials)
		for set, n := range counts {
			alike[set&1*(1<<trials-1)] += n
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, setLaw(p, trials), alike) })
	}
	if rng.Mask(r, rng.Prob(0)) != 0 || rng.Mask(r, rng.Prob(1)) != math.MaxUint64 {
		t.Error("impossible and certain bits")
	}
}
