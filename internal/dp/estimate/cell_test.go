package estimate

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
)

// pmf is the law of the count by plain convolution.
func (c Cell) pmf(holders int) []float64 {
	p := make([]float64, c.N+1)
	for i := 0; i <= holders; i++ {
		for j := 0; j <= c.N-holders; j++ {
			p[i+j] += prob.BinomialPMF(i, holders, c.Keep) * prob.BinomialPMF(j, c.N-holders, c.Flip)
		}
	}
	return p
}

var smallCells = []Cell{
	{N: 1, Keep: 0.9, Flip: 0.1}, {N: 24, Keep: 0.95, Flip: 0.05}, {N: 24, Keep: 0.5, Flip: 0.02}, {N: 17, Keep: 1, Flip: 0.3}, {N: 12, Keep: 0.7, Flip: 0},
}

func TestEstimatesAreUnbiasedUnderTheExactLaw(t *testing.T) {
	for _, c := range smallCells {
		for h := 0; h <= c.N; h++ {
			var mean, square, variance float64
			for x, p := range c.pmf(h) {
				v := c.Estimate(uint64(x))
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
				variance += p * v.StdErr * v.StdErr
			}
			if math.Abs(mean-float64(h)) > 1e-10 {
				t.Errorf("%+v with %d holders: expectation %v", c, h, mean)
			}
			want := c.variance(float64(h)) / ((c.Keep - c.Flip) * (c.Keep - c.Flip))
			if got := square - mean*mean; math.Abs(got-want) > 1e-9 || math.Abs(variance-want) > 1e-9 {
				t.Errorf("%+v with %d holders: variance %v, stated %v, want %v", c, h, got, variance, want)
			}
		}
	}
	c := Cell{N: 100, Keep: 0.75, Flip: 0.25}
	if v := c.Estimate(30); !near(v.Mean, 10, 1e-12) || !near(v.StdErr, math.Sqrt(100*0.1875)/0.5, 1e-12) {
		t.Errorf("the estimate is %v", v)
	}
}

func TestTailsAreThoseOfTheExactLaw(t *testing.T) {
	for _, c := range smallCells {
		for h := 0; h <= c.N; h++ {
			p := c.pmf(h)
			null := c.Null(h)
			for x := 0; x <= c.N+1; x++ {
				var atMost, atLeast float64
				for y, q := range p {
					if y <= x {
						atMost += q
					}
					if y >= x {
						atLeast += q
					}
				}
				gotMost, gotLeast := c.law(h, 1e-20).tails(x)
				if math.Abs(gotMost-atMost) > 1e-12 || math.Abs(gotLeast-atLeast) > 1e-12 {
					t.Fatalf("%+v, %d holders, count %d: tails %v and %v, want %v and %v", c, h, x, gotMost, gotLeast, atMost, atLeast)
				}
				if got := math.Exp(null(uint64(x))); math.Abs(got-atLeast) > 1e-12 {
					t.Fatalf("%+v, null of %d holders: p-value %v of %d, want %v", c, h, got, x, atLeast)
				}
			}
		}
	}
}

// The null of nobody is right in the depth; that of some holders approaches it.
func TestNullInTheDeepTail(t *testing.T) {
	c := Cell{N: 1_000_000, Keep: 1 - 2e-5, Flip: 2e-5}
	nobody, one := c.Null(0), c.Null(1)
	if got := nobody(2000); !(got < -7000) || math.IsInf(got, 0) {
		t.Errorf("the log p-value of 2,000 ones is %v", got)
	}
	for x := uint64(0); x < 60; x++ {
		if !(nobody(x) <= one(x)+1e-12) || !(one(x) <= nobody(x-min(x, 1))+1e-12) {
			t.Errorf("count %d: %v for nobody, %v for one holder", x, nobody(x), one(x))
		}
	}
	if got := one(5000); !(got > -60) { // what the tables left out stays charged
		t.Errorf("the log p-value of 5,000 ones is %v, below what the tables can tell", got)
	}
}

func TestImpossibleCellsPanic(t *testing.T) {
	for _, c := range []Cell{{}, {N: 0, Keep: 1}, {N: 5, Keep: 0.2, Flip: 0.2}, {N: 5, Keep: 0.2, Flip: 0.3}, {N: 5, Keep: 1.1}, {N: 5, Keep: math.NaN()}, {N: 5, Keep: 1, Flip: -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v did not panic", c)
				}
			}()
			c.Estimate(0)
		}()
	}
}
