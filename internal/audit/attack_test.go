package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func claimed(t testing.TB, e account.Event, delta float64) account.Guarantee {
	t.Helper()
	g, err := account.Epsilon(e, delta)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// holds fails where an attack proves the claim false. A true claim fails once in a million
// seeds.
func holds(t testing.TB, f Finding) {
	t.Helper()
	if f.False() {
		t.Errorf("%s: %s; claimed %v", f.Attack, f.Verdict(), f.Claimed.Epsilon)
	}
}

func seed(t testing.TB) uint64 { return stattest.Rand(t).Uint64() }

// What ships keeps its claims, and attacks find a good part of them: a share that lies more than
// four deviations below what they find on average over seeds.
func TestMechanismsKeepTheirClaims(t *testing.T) {
	const delta = 1e-3
	rr, hot := bitsum.RR{Flip: 0.1}, randomize.OneHot{K: 2, Keep: 0.9, Flip: 0.1}
	krr := randomize.KRR{K: 5, Epsilon: 3}
	subset := randomize.SubsetSelection{K: 12, W: 2, Epsilon: 3}
	hash := randomize.LocalHash{K: 3, G: 8, Functions: 1, Epsilon: 3}
	hadamard := randomize.Hadamard{K: 6, Epsilon: 3}
	poisson := bitsum.PoissonSum{Users: 50, Mean: 20}
	threeNB := bitsum.ThreeNB{Users: 50, Noise: 1, FloodShape: 20, FloodProb: 0.8}
	fragments := shuffle.Fragments{Users: 50, Backstop: 3, Fragment: 2, Tau: 3, Adjacency: account.Removal}
	behind := func(epsilon float64) randomize.OneHot {
		flip := shuffle.FlipOf(epsilon)
		return randomize.OneHot{K: 1, Keep: 1 - flip, Flip: flip}
	}
	torn, err := fragments.Central(delta)
	if err != nil {
		t.Fatal(err)
	}
	must := func(o Observed, err error) Observed {
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for name, c := range map[string]struct {
		o     Observed
		claim account.Guarantee
		share float64 // of the claim that is found at least
		runs  int
	}{
		"rr":                {Bits(rr, 100), claimed(t, rr.Event(100), delta), 0.3, 160_000},
		"rr in rounds":      {Bits(rr, 400).Repeated(3), claimed(t, account.Repeat{Event: rr.Event(400), Rounds: 3}, delta), 0.3, 160_000},
		"one-hot":           {Cells(hot, 100, account.Replacement), claimed(t, shuffle.OneHot{Users: 100, Flip: 0.1, Adjacency: account.Replacement}, delta), 0.3, 160_000},
		"one-hot, removal":  {Cells(hot, 100, account.Removal), claimed(t, shuffle.OneHot{Users: 100, Flip: 0.1, Adjacency: account.Removal}, delta), 0.25, 160_000},
		"vector":            {Coordinates(rr, 200, 64, 6.5), claimed(t, vectors.VectorResponse{Users: 200, Coordinates: 64, Flip: 0.1, SquaredGap: 6.5}, delta), 0.3, 80_000},
		"krr":               {Response(krr, 40), claimed(t, krr.Event(40), delta), 0.3, 10_000},
		"subset":            {Subsets(subset, 40), claimed(t, subset.Event(40), delta), 0.2, 5000},
		"local-hash":        {Hashes(hash, 10), claimed(t, hash.Event(10), delta), 0.15, 1024},
		"hadamard":          {Columns(hadamard, 40), claimed(t, hadamard.Event(40), delta), 0.12, 10_000},
		"poisson":           {Poissons(poisson), claimed(t, poisson.Event(), delta), 0.22, 160_000},
		"3nb":               {must(ThreeNoises(threeNB)), claimed(t, threeNB.Event(), delta), 0.5, 40_000},
		"fragments":         {Fragments(randomize.Fragmented{Backstop: behind(3), Fragment: behind(2), Tau: 3}, 50), torn, 0.2, 160_000},
		"discrete-gaussian": {Noisy{noise.DiscreteGaussian{Sigma: 2}, 3}.Observed(), claimed(t, additive.DiscreteGaussian{Sigma: 2, Sensitivity: 3}, delta), 0.4, 40_000},
		"discrete-laplace":  {Noisy{noise.DiscreteLaplace{Decay: 0.5}, 3}.Observed(), claimed(t, additive.DiscreteLaplace{Noise: 0.5, Sensitivity: 3}, delta), 0.78, 40_000},
		"gaussian":          {NoisyGaussian(2, 3).Observed(), claimed(t, central.Gaussian{Sigma: 2, Sensitivity: 3}, delta), 0.42, 40_000},
		"laplace":           {NoisyLaplace(2, 3).Observed(), claimed(t, central.Laplace{Scale: 2, Sensitivity: 3}, delta), 0.75, 40_000},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.o.Attack(c.claim, c.runs, seed(t), quiet)
			if holds(t, f); f.Lower < c.share*c.claim.Epsilon {
				t.Errorf("found %v of %v: the attack is weaker than it was", f.Lower, c.claim.Epsilon)
			}
		})
	}
}

// The score of a count is its likelihood ratio, whatever the others are.
func TestScoresAreLikelihoodRatios(t *testing.T) {
	l := count{users: 7, first: 0.3, second: 0.8, other: 0.2}
	law := func(mine float64) (p [8]float64) {
		for others, binomial := 0, math.Pow(1-l.other, 6); others < 7; others++ {
			p[others] += binomial * (1 - mine)
			p[others+1] += binomial * mine
			binomial *= float64(6-others) / float64(others+1) * l.other / (1 - l.other)
		}
		return p
	}
	first, second := law(l.first), law(l.second)
	for c := range first {
		if want := math.Log(second[c] / first[c]); math.Abs(l.score(c)-want) > 1e-12 {
			t.Errorf("%d ones: %v, want %v", c, l.score(c), want)
		}
	}
}

// The twins: each is wrong in one place, and is held to the claim, of epsilon 2, of what it
// was made from.

// twice answers twice.
type twice struct{ bitsum.RR }

func (m twice) Randomize(r *rand.Rand, bit bool, emit func(symbol uint8)) {
	m.RR.Randomize(r, bit, emit)
	m.RR.Randomize(r, bit, emit)
}

// frank tells one of its values without ever lying.
type frank struct{ response }

func (m frank) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	if x == 1 {
		emit(1)
		return
	}
	m.response.Randomize(r, x, emit)
}

// biased draws noise whose tail falls too fast: of two draws the one nearer to zero.
type biased struct{ noise.DiscreteLaplace }

func (m biased) Sample(r *rand.Rand) int {
	a, b := m.DiscreteLaplace.Sample(r), m.DiscreteLaplace.Sample(r)
	if a*a < b*b {
		return a
	}
	return b
}

// With 20,000 views (200,000 of what answers twice), and at delta 1e-3, a loss that is twice the claimed one of 2 is caught
// but once in a thousand seeds; a true claim fails once in a million.
func TestTwinsOfCountsAreCaught(t *testing.T) {
	const delta, users, runs = 1e-3, 60, 20_000
	calibrated := func(epsilon float64) bitsum.RR {
		low, high := 1e-6, 0.499
		for range 40 {
			m := bitsum.RR{Flip: (low + high) / 2}
			if claimed(t, m.Event(users), delta).Epsilon > epsilon {
				low = m.Flip
			} else {
				high = m.Flip
			}
		}
		return bitsum.RR{Flip: high}
	}
	rr := calibrated(2)
	bit, law := claimed(t, rr.Event(users), delta), count{users, rr.Flip, 1 - rr.Flip, rr.Flip}
	holds(t, Bits(rr, users).Attack(bit, runs, seed(t), quiet))

	v := rr.Flip * (1 - rr.Flip) / (1 - 2*rr.Flip) / (1 - 2*rr.Flip) / 4 // of an answer, debiased
	half := bitsum.RR{Flip: 0.5 - 0.5/math.Sqrt(1+4*v)}
	krr := randomize.KRR{K: 3, Epsilon: 2}
	told := claimed(t, krr.Event(1), delta)
	sum := claimed(t, additive.DiscreteLaplace{Noise: 1, Sensitivity: 2}, delta)
	for name, twin := range map[string]Finding{
		"half the noise":               bits(half, law).Attack(bit, runs, seed(t), quiet),
		"a device answers twice":       bits(twice{rr}, law).Attack(bit, 10*runs, seed(t), quiet),
		"a flip skipped for one value": reports(frank{response{krr}}, 3, 1, func(y []uint32, x int) float64 { return krr.Prob(int(y[0]), x) }).Attack(told, runs, seed(t), quiet),
		"a biased sampler":             Noisy{biased{noise.DiscreteLaplace{Decay: 1}}, 2}.Observed().Attack(sum, runs, seed(t), quiet),
	} {
		t.Run(name, func(t *testing.T) {
			t.Logf("claimed %v, found %v (surely %v)", twin.Claimed.Epsilon, twin.Lower, twin.Sure)
			stattest.Caught(t, func(tb testing.TB) { holds(tb, twin) })
		})
	}
}
