package estimate

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// misses are the probabilities that an interval lies above and below the truth,
// summed over the exact law.
func (c Cell) misses(holders int, interval func(ones uint64) (lo, hi float64)) (above, below float64) {
	l := c.law(holders, 1e-13)
	count := map[int]float64{}
	if len(l.held.P) > 1 && len(l.other.P) > 1 && len(l.held.P)*len(l.other.P) > 1e7 {
		panic("too wide to convolve")
	}
	for i, p := range l.held.P {
		for j, q := range l.other.P {
			count[l.held.Lo+i+l.other.Lo+j] += p * q
		}
	}
	for x, p := range count {
		lo, hi := interval(uint64(x))
		if lo > float64(holders) {
			above += p
		}
		if hi < float64(holders) {
			below += p
		}
	}
	return above, below
}

func TestExactIntervalsMissAtMostAsStated(t *testing.T) {
	cells := append([]Cell{{N: 1_000_000, Keep: 1 - 1e-5, Flip: 1e-5}}, smallCells...)
	for _, c := range cells {
		for _, level := range []float64{0.5, 0.95, 1 - 1e-5} {
			for h := 0; h <= min(c.N, 40); h++ {
				above, below := c.misses(h, func(x uint64) (float64, float64) { return c.Interval(x, level) })
				if limit := (1 - level) / 2 * (1 + 1e-9); above > limit || below > limit {
					t.Fatalf("%+v with %d holders misses %v above and %v below at level %v", c, h, above, below, level)
				}
			}
		}
	}
}

// No interval with ends that grow with the count may be narrower: one step inward and
// some number of holders would be missed too often.
func TestExactIntervalsAreTight(t *testing.T) {
	for _, c := range smallCells {
		for x := 0; x <= c.N; x++ {
			const level = 0.9
			lo, hi := c.Interval(uint64(x), level)
			if _, atLeast := c.law(int(lo), 1e-20).tails(x); lo < float64(c.N) && atLeast <= 0.05*(1-1e-5) {
				t.Errorf("%+v, count %d: the lower end %v is ruled out itself", c, x, lo)
			}
			if lo > 0 {
				if _, atLeast := c.law(int(lo)-1, 1e-20).tails(x); atLeast > 0.05 {
					t.Errorf("%+v, count %d: %v below the lower end is not ruled out", c, x, lo-1)
				}
			}
			if hi < float64(c.N) {
				if atMost, _ := c.law(int(hi)+1, 1e-20).tails(x); atMost > 0.05 {
					t.Errorf("%+v, count %d: %v above the upper end is not ruled out", c, x, hi+1)
				}
			}
			if lo > hi {
				t.Errorf("%+v, count %d: from %v to %v", c, x, lo, hi)
			}
		}
	}
}

// The twin: a normal interval where the count is small misses more than three times too often.
func TestNormalIntervalsMissWhereCountsAreSmall(t *testing.T) {
	c := Cell{N: 1_000_000, Keep: 1, Flip: 1e-6}
	above, below := c.misses(0, func(x uint64) (float64, float64) { return c.Estimate(x).Interval(0.999) })
	if above+below < 3e-3 {
		t.Errorf("the normal interval misses only %v", above+below)
	}
}

// What the comment at exactUpTo says, by the exact law just above it: N Flip (1-Flip)
// is 10,000.
func TestScoreIntervalsMissAsStated(t *testing.T) {
	for _, c := range []Cell{{N: 1_000_000, Keep: 0.99, Flip: 0.0102}, {N: 300_000, Keep: 0.5, Flip: 0.036}} {
		for _, h := range []int{500, 60_000} {
			for level, slack := range map[float64]float64{0.95: 0.015, 1 - 0.05/3e6: 0.1} {
				above, below := c.misses(h, func(x uint64) (float64, float64) {
					e := c.score(x, Quantile(level))
					return e[0], e[1]
				})
				if miss := above + below; math.Abs(miss/(1-level)-1) > slack {
					t.Errorf("%+v with %d holders: misses %v times as often as stated at level %v", c, h, miss/(1-level), level)
				}
			}
		}
	}
}

func TestScoreSolvesItsInequality(t *testing.T) {
	c := Cell{N: 1_000_000, Keep: 0.5, Flip: 0.03}
	for _, ones := range []uint64{40_000, 100_000, 300_000} {
		ends := c.score(ones, 2)
		for _, h := range ends {
			distance := float64(ones) - float64(c.N)*c.Flip - h*(c.Keep-c.Flip)
			if !near(distance*distance, 4*c.variance(h), 1e-9) {
				t.Errorf("count %d: at %v the distance is %v, the deviation %v", ones, h, distance, math.Sqrt(c.variance(h)))
			}
		}
	}
	if ends := c.score(0, 2); ends != [2]float64{} {
		t.Errorf("a count of zero allows %v", ends)
	}
}

func TestEqualCountsHaveEqualIntervals(t *testing.T) {
	c := Cell{N: 1000, Keep: 0.9, Flip: 0.01}
	ones := []uint64{7, 30, 7, 0, 1000, 1001}
	for i, e := range c.Intervals(ones, 0.95) {
		if lo, hi := c.Interval(ones[i], 0.95); lo != e[0] || hi != e[1] || lo > hi {
			t.Errorf("count %d: %v and %v, %v", ones[i], e, lo, hi)
		}
	}
}

// Twenty normal errors at once: their joint coverage is that of independent intervals
// of the joint level, 0.99^... = (1 - 0.05/20)^20. With 20,000 families a coverage off
// by 1 % is caught nine times in ten; that of intervals of level 0.95 each is 0.36.
func TestJointCoverage(t *testing.T) {
	const k, families = 20, 20_000
	r := stattest.Rand(t)
	covered := func(level float64) int {
		z, all := Quantile(level), 0
		for range families {
			worst := 0.0
			for range k {
				worst = max(worst, math.Abs(r.NormFloat64()))
			}
			if worst <= z {
				all++
			}
		}
		return all
	}
	joint := Joint(0.95, k)
	stattest.Binomial(t, math.Pow(joint, k), families, covered(joint))
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, math.Pow(joint, k), families, covered(0.95)) })
	if sidak := math.Pow(0.95, 1.0/1000); Quantile(Joint(0.95, 1000))/Quantile(sidak) > 1.002 {
		t.Error("Bonferroni costs more than the comment says")
	}
	if got, want := Quantile(Joint(0.95, 3_000_000)), -prob.NormalQuantile(0.025/3e6); !near(got, want, 1e-8) {
		t.Errorf("z for 3 million cells is %v, want %v", got, want)
	}
}
