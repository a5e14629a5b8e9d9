package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// law is what all laws here have in common.
type law interface {
	Validate() error
	Sample(r *rand.Rand) int
	LogProb(k int) float64
}

// table is the law on lo..hi, with the tail below added to the first entry and the
// tail above to the last; both are beyond the mode.
func table(d law, lo, hi int) []float64 {
	p := make([]float64, hi-lo+1)
	for k := lo; k <= hi; k++ {
		p[k-lo] = math.Exp(d.LogProb(k))
	}
	for k := lo - 1; math.Exp(d.LogProb(k)) > 1e-18; k-- {
		p[0] += math.Exp(d.LogProb(k))
	}
	for k := hi + 1; math.Exp(d.LogProb(k)) > 1e-18; k++ {
		p[len(p)-1] += math.Exp(d.LogProb(k))
	}
	return p
}

// Every sampler against its law; each twin is the law with its scale off by a few
// percent, which the draws tell from the true one.
func TestSamplers(t *testing.T) {
	for _, c := range []struct {
		d, twin law
		lo, hi  int
		draws   int
	}{
		{DiscreteLaplace{1}, DiscreteLaplace{1.03}, -15, 15, 200_000},
		{DiscreteLaplace{0.05}, DiscreteLaplace{0.0515}, -300, 300, 200_000},
		{DiscreteLaplace{4}, DiscreteLaplace{4.1}, -5, 5, 200_000},
		{DiscreteGaussian{0.4}, DiscreteGaussian{0.41}, -3, 3, 100_000},
		{DiscreteGaussian{1}, DiscreteGaussian{1.03}, -8, 8, 100_000},
		{DiscreteGaussian{30}, DiscreteGaussian{30.9}, -150, 150, 100_000},
		{Poisson{0.3}, Poisson{0.315}, 0, 8, 200_000},
		{Poisson{1}, Poisson{1.03}, 0, 10, 200_000},
		{Poisson{7.3}, Poisson{7.4}, 0, 30, 200_000},
		{NegativeBinomial{1, 0.7}, NegativeBinomial{1, 0.71}, 0, 40, 100_000},
		{NegativeBinomial{0.05, 0.95}, NegativeBinomial{0.054, 0.95}, 0, 150, 300_000},
		{NegativeBinomial{0.05, 0.95}, NegativeBinomial{0.05, 0.955}, 0, 150, 300_000},
		{NegativeBinomial{12.5, 0.5}, NegativeBinomial{12.8, 0.5}, 0, 60, 100_000},
		{NegativeBinomial{3, 1e-9}, NegativeBinomial{3e6, 1e-9}, 0, 3, 10_000},
		{NegativeBinomial{40, 0.999}, NegativeBinomial{40, 0.9992}, 0, 100_000, 5_000},
	} {
		t.Run(fmt.Sprintf("%T%v", c.d, c.d), func(t *testing.T) {
			r, counts := stattest.Rand(t), make([]int, c.hi-c.lo+1)
			for range c.draws {
				counts[max(c.lo, min(c.hi, c.d.Sample(r)))-c.lo]++
			}
			p := table(c.d, c.lo, c.hi)
			if p[0] > 0.99 { // nearly always zero: the G-test would find a single bin
				stattest.Binomial(t, 1-p[0], c.draws, c.draws-counts[0])
				stattest.Caught(t, func(tb testing.TB) {
					stattest.Binomial(tb, 1-table(c.twin, c.lo, c.hi)[0], c.draws, c.draws-counts[0])
				})
				return
			}
			stattest.GTest(t, p, counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, table(c.twin, c.lo, c.hi), counts) })
		})
	}
}

// Means and variances as stated are those of the law.
func TestMoments(t *testing.T) {
	for _, c := range []struct {
		d              law
		mean, variance float64
		lo, hi         int
	}{
		{DiscreteLaplace{0.3}, 0, DiscreteLaplace{0.3}.Variance(), -200, 200},
		{DiscreteLaplace{5}, 0, DiscreteLaplace{5}.Variance(), -20, 20},
		{DiscreteGaussian{0.3}, 0, DiscreteGaussian{0.3}.Variance(), -10, 10},
		{DiscreteGaussian{1.99}, 0, DiscreteGaussian{1.99}.Variance(), -80, 80},
		{DiscreteGaussian{2}, 0, 4, -80, 80},
		{DiscreteGaussian{25}, 0, 625, -1000, 1000},
		{NegativeBinomial{0.02, 0.9}, NegativeBinomial{0.02, 0.9}.Mean(), NegativeBinomial{0.02, 0.9}.Variance(), 0, 600},
		{NegativeBinomial{7, 0.5}, 7, 14, 0, 200},
	} {
		var total, mean, square float64
		for k := c.lo; k <= c.hi; k++ {
			p, x := math.Exp(c.d.LogProb(k)), float64(k)
			total += p
			mean += p * x
			square += p * x * x
		}
		for name, err := range map[string]float64{
			"sum": total - 1, "mean": mean - c.mean, "variance": (square-mean*mean)/c.variance - 1,
		} {
			if math.Abs(err) > 1e-11 {
				t.Errorf("%s of %T%v is off by %v", name, c.d, c.d, err)
			}
		}
	}
}

// The tree of unitPoisson, walked to where less than 1e-17 is left undecided: its
// leaves have the Poisson law of mean one.
func TestUnitPoissonByEnumeration(t *testing.T) {
	type state struct{ g, k int }
	open, law, rest := map[state]float64{{0, 1}: 1}, make([]float64, 30), 1.
	for n := 1; rest > 1e-17; n++ {
		next := map[state]float64{}
		for s, p := range open {
			each := p / float64(n+1)
			next[state{s.g, s.k + 1}] += each
			if n > s.g {
				next[state{n + 1, s.k - 1}] += each * float64(n-s.g)
			}
			if s.g > 0 {
				law[s.k] += each * float64(s.g)
			}
		}
		open = next
		rest = 0
		for _, p := range open {
			rest += p
		}
	}
	for k, p := range law[:18] {
		if want := math.Exp((Poisson{1}).LogProb(k)); math.Abs(p-want) > 1e-15 {
			t.Errorf("P(%d) is %v, want %v", k, p, want)
		}
	}
}

// Scatter fills each channel with its own NB, and channels are independent: the
// pair of two channels has the product law. Its twin puts all in the first.
func TestScatterIsIndependent(t *testing.T) {
	const top = 6
	d, r := NegativeBinomial{0.3, 0.6}, stattest.Rand(t)
	one := table(d, 0, top)
	joint := make([]float64, (top+1)*(top+1))
	for i := range joint {
		joint[i] = one[i/(top+1)] * one[i%(top+1)]
	}
	counts, twin := make([]int, len(joint)), make([]int, len(joint))
	for range 100_000 {
		var n [2]int
		d.Scatter(r, 2, func(channel, size int) { n[channel] += size })
		counts[min(top, n[0])*(top+1)+min(top, n[1])]++
		twin[min(top, n[0]+n[1])*(top+1)]++
	}
	stattest.GTest(t, joint, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, joint, twin) })
}

// Parts of n devices sum to the whole: what divisibility promises the protocol.
func TestPartsSumToTheWhole(t *testing.T) {
	whole, r, counts := NegativeBinomial{1, 0.8}, stattest.Rand(t), make([]int, 60)
	part := NegativeBinomial{whole.R / 50, whole.P}
	for range 20_000 {
		k := 0
		part.Scatter(r, 50, func(_, size int) { k += size })
		counts[min(59, k)]++
	}
	stattest.GTest(t, table(whole, 0, 59), counts)
	stattest.Caught(t, func(tb testing.TB) {
		stattest.GTest(tb, table(NegativeBinomial{0.93, 0.8}, 0, 59), counts)
	})
}

func TestHostileParameters(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, d := range []law{
		DiscreteLaplace{0}, DiscreteLaplace{-1}, DiscreteLaplace{nan}, DiscreteLaplace{inf}, DiscreteLaplace{1e-300},
		DiscreteGaussian{0}, DiscreteGaussian{-1}, DiscreteGaussian{nan}, DiscreteGaussian{inf}, DiscreteGaussian{1e-300}, DiscreteGaussian{1e300},
		Poisson{-1}, Poisson{nan}, Poisson{inf}, Poisson{1e300},
		NegativeBinomial{0, 0.5}, NegativeBinomial{-1, 0.5}, NegativeBinomial{nan, 0.5}, NegativeBinomial{inf, 0.5}, NegativeBinomial{1e300, 0.5},
		NegativeBinomial{1, -0.1}, NegativeBinomial{1, 1}, NegativeBinomial{1, nan},
	} {
		if d.Validate() == nil {
			t.Errorf("%T%v is valid", d, d)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T%v was drawn", d, d)
				}
			}()
			d.Sample(rand.New(rand.NewPCG(1, 2)))
		}()
	}
	for _, d := range []law{ // the ends of the domains end
		DiscreteLaplace{0x1p-40}, DiscreteLaplace{1e300}, DiscreteGaussian{0x1p-8}, DiscreteGaussian{0x1p24}, Poisson{0},
	} {
		if err := d.Validate(); err != nil {
			t.Errorf("%T%v: %v", d, d, err)
		}
		d.Sample(stattest.Rand(t))
	}
}

func BenchmarkSample(b *testing.B) {
	for _, d := range []law{
		DiscreteLaplace{0.02}, DiscreteGaussian{100}, Poisson{0.1}, NegativeBinomial{1, 0.98}, NegativeBinomial{60, 0.998},
	} {
		b.Run(fmt.Sprintf("%T%v", d, d), func(b *testing.B) {
			r := stattest.Rand(b)
			for b.Loop() {
				d.Sample(r)
			}
		})
	}
}
