package estimate

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// stepUp is the procedure as it is defined: sort the p-values, find the largest m
// with p_(m) <= rate m/k, reject the first m.
func stepUp(statistic []int, null func(int) float64, rate float64) []int {
	cells := make([]int, len(statistic))
	for i := range cells {
		cells[i] = i
	}
	slices.SortStableFunc(cells, func(i, j int) int { return cmp.Compare(statistic[j], statistic[i]) })
	for m := len(cells); m > 0; m-- {
		if null(statistic[cells[m-1]]) <= math.Log(rate*float64(m)/float64(len(cells))) {
			return cells[:m]
		}
	}
	return nil
}

func TestHeavyHittersAreThoseOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		statistic := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 60).Draw(t, "statistic")
		rate := rapid.Float64Range(0.01, 0.9).Draw(t, "rate")
		decay := rapid.Float64Range(0.01, 1).Draw(t, "decay")
		null := func(x int) float64 { return -decay * float64(x) }
		got, want := HeavyHitters(statistic, null, rate), stepUp(statistic, null, rate)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for i := 1; i < len(got); i++ {
			if statistic[got[i]] > statistic[got[i-1]] {
				t.Fatalf("%v is out of order", got)
			}
		}
	})
}

func TestAnyDependenceDividesByTheHarmonicNumber(t *testing.T) {
	for k, want := range map[int]float64{1: 0.3, 2: 0.2, 3: 0.3 / (11.0 / 6), 100_000: 0.3 / 12.090146129863335} {
		if got := AnyDependence(0.3, k); !near(got, want, 1e-14) {
			t.Errorf("%d cells: %v, want %v", k, got, want)
		}
	}
}

// With every null true and p-values uniform on 1/4, 2/4, 3/4, 1 independently, the
// false-discovery rate is the probability of any discovery: enumerated for k = 3.
func TestFalseDiscoveryRateByEnumeration(t *testing.T) {
	null := func(x int) float64 { return math.Log(float64(4-x) / 4) }
	for _, rate := range []float64{0.25, 0.5, 0.75, 0.8} {
		found := 0
		for a := range 4 {
			for b := range 4 {
				for c := range 4 {
					if len(HeavyHitters([]int{a, b, c}, null, rate)) > 0 {
						found++
					}
				}
			}
		}
		if fdr := float64(found) / 64; fdr > rate {
			t.Errorf("rate %v: false-discovery rate %v", rate, fdr)
		} else if rate == 0.75 && found == 0 {
			t.Error("nothing was ever discovered")
		}
	}
}

func TestRateOutsidePanics(t *testing.T) {
	for _, rate := range []float64{0, 1, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("rate %v did not panic", rate)
				}
			}()
			HeavyHitters([]int{1}, func(int) float64 { return 0 }, rate)
		}()
	}
}
