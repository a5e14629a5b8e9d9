package sum_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/plan"
)

// What is stated of both aggregators' noise is that of the law of their sum, and of a holder's that
// of one draw, added up outcome by outcome: tails on both sides, the variance and the shortest interval.
func TestTotalByEnumeration(t *testing.T) {
	c := plan.Circuit{Kind: plan.CircuitSumVec, Length: 1, Max: 1}
	const top = 400
	laplace := func(decay float64) func(int) float64 { return noise.DiscreteLaplace{Decay: decay}.LogProb }
	gaussian := func(sigma float64) func(int) float64 { return noise.DiscreteGaussian{Sigma: sigma}.LogProb }
	for name, k := range map[string]struct {
		p    plan.Plan
		law  func(k int) float64 // log probabilities of one draw
		once bool                // the sum is one draw
	}{
		"laplace":                    {route(c, plan.NoiseAggregators, plan.LawLaplace, 0.5), laplace(0.5), false},
		"strong laplace":             {route(c, plan.NoiseAggregators, plan.LawLaplace, 3), laplace(3), false},
		"shared laplace":             {route(c, plan.NoiseShared, plan.LawLaplace, 0.5), laplace(0.5), true},
		"gaussian":                   {route(c, plan.NoiseAggregators, plan.LawGaussian, 2.5), gaussian(2.5), false},
		"narrow gaussian":            {route(c, plan.NoiseAggregators, plan.LawGaussian, 0.4), gaussian(0.4), false},
		"wide gaussian":              {route(c, plan.NoiseShared, plan.LawGaussian, 6), gaussian(6), false},
		"a holder's laplace":         {held(plan.LawLaplace, 0.5), laplace(0.5), true},
		"a holder's gaussian":        {held(plan.LawGaussian, 2.5), gaussian(2.5), true},
		"a holder's narrow gaussian": {held(plan.LawGaussian, 0.4), gaussian(0.4), true},
		"devices add it":             {route(c, plan.NoiseDevices, "", 0), func(k int) float64 { return math.Log(map[bool]float64{true: 1}[k == 0]) }, true},
	} {
		law, total := totalOf(k.law, k.once, top), sum.Total(*k.p.Route.Noise())
		variance, tail := 0.0, 0.0
		for z := top; z > -top/4; z-- {
			tail += law[z+top]
			if z > top/4 { // what is beyond top is not in it
				continue
			}
			if got := math.Exp(total.LogAtLeast(z)); tail > 1e-250 && math.Abs(got-tail) > 1e-9*tail+1e-38 { // a table of a Gaussian ends near there
				t.Fatalf("%s: P(Z >= %d) = %v, want %v", name, z, got, tail)
			}
		}
		for i, p := range law {
			variance += float64((i-top)*(i-top)) * p
		}
		if math.Abs(total.Variance-variance) > 1e-9*variance {
			t.Errorf("%s: a variance of %v, want %v", name, total.Variance, variance)
		}
		for _, alpha := range []float64{0.5, 0.05, 1e-6} {
			w, outside := 0, 1-law[top]
			for outside > alpha {
				w++
				outside = 0
				for z := w + 1; z <= top; z++ {
					outside += 2 * law[z+top]
				}
			}
			if got := total.Within(alpha); got != w {
				t.Errorf("%s: within %d at %v, want %d", name, got, alpha, w)
			}
		}
	}
}

// held returns a plan of a table whose holder adds noise of a law.
func held(law string, parameter float64) plan.Plan {
	t := plan.Table{Law: law, Decay: parameter}
	if law == plan.LawGaussian {
		t.Decay, t.Sigma = 0, parameter
	}
	return plan.Plan{Route: plan.Route{Kind: plan.RouteTable, Table: &t}}
}

// Far out, where no table reaches, a stated tail is not below the law's, and not above what
// is known of sums of two such draws (they are sub-Gaussian).
func TestFarTailsAreBounds(t *testing.T) {
	for _, sigma := range []float64{0.4, 2.5, 20} {
		both := plan.Sum{Noise: plan.NoiseAggregators, Law: plan.LawGaussian, Sigma: sigma}
		one := noise.DiscreteGaussian{Sigma: sigma}
		for k := 1; k < int(40*sigma)+200; k++ {
			half := one.LogProb(k/2) + one.LogProb(k-k/2) // one of the ways to k
			x := float64(k) / (2 * sigma)
			if got := sum.Total(both).LogAtLeast(k); !(got >= half-1e-9 && got <= -x*x+1e-9) {
				t.Fatalf("sigma %v: ln P(Z >= %d) = %v, want %v to %v", sigma, k, got, half, -x*x)
			}
		}
	}
}

// Where noise is so rare that its decay is no number any more, a tail is less than any, and no NaN.
func TestTailsOfNextToNoNoise(t *testing.T) {
	for _, decay := range []float64{1, 700, 746, 1e4} {
		law, before := sum.Shares(decay, 0.5), 0.0
		for _, k := range []int{1, 2, 20, 100, 1 << 40} {
			got := law.LogAtLeast(k)
			if !(got < before || math.IsInf(got, -1)) || got > -decay*float64(k-1) {
				t.Errorf("decay %v: ln P(Z >= %d) = %v, after %v", decay, k, got, before)
			}
			before = got
		}
	}
}

// totalOf is the law of a draw, or of the sum of two, on -top..top.
func totalOf(log func(k int) float64, once bool, top int) []float64 {
	one, both := make([]float64, 2*top+1), make([]float64, 2*top+1)
	for i := range one {
		one[i] = math.Exp(log(max(top-i, i-top)))
	}
	if once {
		return one
	}
	for i, p := range one {
		for j, q := range one {
			if k := i + j - top; k >= 0 && k < len(both) {
				both[k] += p * q
			}
		}
	}
	return both
}

// Who wants a law's variance alone, as a device or a design does, pays for no table of its tails: of a wide law that is
// a million weights.
func TestTailsAreTabulatedWhenAsked(t *testing.T) {
	written := func(work func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const wide = 50_000
	for _, noise := range []string{"", plan.NoiseAggregators} {
		var law sum.Law
		if n := written(func() { law = sum.Total(plan.Sum{Law: plan.LawGaussian, Sigma: wide, Noise: noise}) }); n > 1<<16 || !(law.Variance > 0.99*wide*wide) {
			t.Errorf("noise %q: %d bytes for a variance of %v", noise, n, law.Variance)
		}
		if n := written(func() { law.LogAtLeast(1) }); n < 8*9*wide {
			t.Errorf("noise %q: tails take %d bytes", noise, n)
		}
	}
}
