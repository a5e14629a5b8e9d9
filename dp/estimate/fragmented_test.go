package estimate

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
)

// exactTail is P(count >= x), by the number of backstop bits that are one.
func (c FragmentedCell) exactTail(holders, x int) float64 {
	bits := Cell{c.N, c.BackstopKeep, c.BackstopFlip}.pmf(holders)
	sum := 0.0
	for m, p := range bits {
		_, atLeast := Cell{c.N * c.Tau, c.Keep, c.Flip}.law(m*c.Tau, 1e-30).tails(x)
		sum += p * atLeast
	}
	return sum
}

// The bound is above the exact tail, by no more than 2.5 (z + 1) times or so, and
// falls.
func TestFragmentedNullBoundsTheTail(t *testing.T) {
	for _, c := range []FragmentedCell{
		{N: 60, Tau: 4, BackstopKeep: 0.98, BackstopFlip: 0.02, Keep: 0.9, Flip: 0.1},
		{N: 30, Tau: 16, BackstopKeep: 0.9, BackstopFlip: 0.1, Keep: 0.6, Flip: 0.4},
		{N: 20, Tau: 1, BackstopKeep: 1, BackstopFlip: 0, Keep: 1, Flip: 0.2},
	} {
		for _, holders := range []int{0, 3, c.N} {
			null, last := c.Null(holders), 0.0
			for x := 0; x <= c.N*c.Tau; x++ {
				got, tail := null(uint64(x)), c.exactTail(holders, x)
				if got > last+1e-9 {
					t.Fatalf("%+v, %d holders: the bound rises at %d", c, holders, x)
				}
				last = got
				if tail < 1e-20 {
					continue // the tables of the exact law end
				}
				z := math.Sqrt(max(0, -2*got))
				if exact := math.Log(tail); got < exact-1e-9 || got > exact+math.Log(2.6*(z+1)) {
					t.Fatalf("%+v, %d holders, count %d: bound %v of %v", c, holders, x, got, exact)
				}
			}
			if got := null(uint64(c.N*c.Tau + 1)); !math.IsInf(got, -1) {
				t.Errorf("an impossible count has log p-value %v", got)
			}
		}
	}
}

// The twin: a binomial with the same mean has too light a tail.
func TestBinomialIsTooLightForFragments(t *testing.T) {
	c := FragmentedCell{N: 60, Tau: 16, BackstopKeep: 0.98, BackstopFlip: 0.02, Keep: 0.9, Flip: 0.02}
	mean := c.BackstopFlip*c.Keep + (1-c.BackstopFlip)*c.Flip
	x := 100
	if tail := c.exactTail(0, x); prob.LogBinomialSurvival(x-1, c.N*c.Tau, mean) > math.Log(tail)-5 || c.Null(0)(uint64(x)) < math.Log(tail) {
		t.Errorf("a tail of %v", tail)
	}
}

func TestFragmentedNullAtScale(t *testing.T) {
	c := FragmentedCell{N: 200_000_000, Tau: 256, BackstopKeep: 0.999, BackstopFlip: 1e-3, Keep: 0.6, Flip: 0.4}
	respondent := func(b float64) float64 { return float64(c.Tau) * (b*c.Keep + (1-b)*c.Flip) }
	mean := float64(c.N) * respondent(c.BackstopFlip)
	if p := c.Null(0)(uint64(mean)); p < -1e-6 || math.IsNaN(p) {
		t.Errorf("the mean has log p-value %v", p)
	}
	if p := c.Null(0)(uint64(1.01 * mean)); !(p < -1000) || math.IsInf(p, 0) {
		t.Errorf("1 %% above the mean has log p-value %v", p)
	}
}

func TestImpossibleFragmentsPanic(t *testing.T) {
	good := FragmentedCell{N: 5, Tau: 2, BackstopKeep: 0.9, BackstopFlip: 0.1, Keep: 0.8, Flip: 0.2}
	for name, call := range map[string]func(){
		"no fragments": func() { c := good; c.Tau = 0; c.Null(0) },
		"backstop":     func() { c := good; c.BackstopKeep = 0.1; c.Null(0) },
		"fragment":     func() { c := good; c.Flip = math.NaN(); c.Null(0) },
		"holders":      func() { good.Null(6) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
