package estimate

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawValues(t *rapid.T, sd *rapid.Generator[float64]) []Value {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Value {
		return Value{Mean: rapid.Float64Range(-100, 100).Draw(t, "mean"), StdErr: sd.Draw(t, "sd")}
	}), 1, 40).Draw(t, "values")
}

// The conditions of Karush, Kuhn and Tucker: feasible, and one multiplier theta with
// (mean - count)/variance = theta where the count is above zero, and mean/variance at
// most theta where it is zero. The problem is convex: they prove the optimum.
func TestProjectionIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Float64Range(0.1, 20))
		total := rapid.Float64Range(0.01, 500).Draw(t, "total")
		counts, err := Project(values, total)
		if err != nil {
			t.Fatal(err)
		}
		sum, theta := 0.0, math.NaN()
		for i, x := range counts {
			if x < 0 {
				t.Fatalf("count %d is %v", i, x)
			}
			sum += x
			if v := values[i]; x > 0 {
				theta = (v.Mean - x) / (v.StdErr * v.StdErr)
			}
		}
		if !near(sum, total, 1e-9) {
			t.Fatalf("the counts sum to %v, not %v", sum, total)
		}
		for i, x := range counts {
			v := values[i]
			if slack := x - (v.Mean - theta*v.StdErr*v.StdErr); slack < -1e-7 || x > 0 && slack > 1e-7 {
				t.Fatalf("count %d = %v contradicts theta = %v for %v", i, x, theta, v)
			}
		}
	})
}

func TestProjectionIsIdempotentAndKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Just(3.0))
		total := rapid.Float64Range(1, 500).Draw(t, "total")
		counts, err := Project(values, total)
		if err != nil {
			t.Fatal(err)
		}
		again := make([]Value, len(values))
		for i, x := range counts {
			again[i] = Value{Mean: x, StdErr: 3}
			for j := range i {
				if (values[i].Mean-values[j].Mean)*(x-counts[j]) < 0 {
					t.Fatalf("cells %d and %d changed places", i, j)
				}
			}
		}
		twice, err := Project(again, total)
		if err != nil {
			t.Fatal(err)
		}
		for i := range twice {
			if !near(twice[i], counts[i], 1e-9) {
				t.Fatalf("count %d is %v, then %v", i, counts[i], twice[i])
			}
		}
	})
}

// The truth is feasible, so the projection is no further from it than the estimate.
func TestProjectionIsNoFurtherFromTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Float64Range(0.1, 20))
		truth, total := make([]float64, len(values)), 0.0
		for i := range truth {
			truth[i] = math.Max(0, rapid.Float64Range(-50, 100).Draw(t, "truth"))
			total += truth[i]
		}
		counts, err := Project(values, total)
		if err != nil {
			t.Fatal(err)
		}
		var before, after, clipped, raw float64
		for i, c := range Clip(values) {
			v := values[i]
			before += (v.Mean - truth[i]) * (v.Mean - truth[i]) / (v.StdErr * v.StdErr)
			after += (counts[i] - truth[i]) * (counts[i] - truth[i]) / (v.StdErr * v.StdErr)
			clipped += math.Abs(c - truth[i])
			raw += math.Abs(v.Mean - truth[i])
		}
		if after > before*(1+1e-9)+1e-9 || clipped > raw {
			t.Fatalf("from %v to %v by projection, %v to %v by clipping", before, after, raw, clipped)
		}
	})
}

// The means -1, -50, -2500, ... let every step of Newton's method drop one cell only,
// so that the sorting has to finish.
func TestProjectionWhereNewtonIsSlow(t *testing.T) {
	for _, up := range []bool{false, true} {
		values := make([]Value, 40)
		for i := range values {
			j := i
			if up {
				j = len(values) - 1 - i
			}
			values[j] = Value{Mean: -math.Pow(50, float64(i)), StdErr: 1}
		}
		for total, second := range map[float64]float64{1: 0, 149: 50} { // -1 and -50 raised by 100
			counts, err := Project(values, total)
			if err != nil {
				t.Fatal(err)
			}
			if up {
				slices.Reverse(counts)
			}
			if !near(counts[0], total-second, 1e-9) || !near(counts[1], second, 1e-9) || counts[2] != 0 {
				t.Errorf("a total of %v gives %v", total, counts[:3])
			}
		}
	}
}

func TestProjectionKeepsWhatIsExact(t *testing.T) {
	counts, err := Project([]Value{Exact(30), {Mean: 80, StdErr: 1}, {Mean: -5, StdErr: 1}}, 100)
	if err != nil || counts[0] != 30 || counts[1] != 70 || counts[2] != 0 {
		t.Errorf("%v, %v", counts, err)
	}
	if counts, err := Project([]Value{Exact(30), Exact(0)}, 30); err != nil || counts[0] != 30 {
		t.Errorf("%v, %v", counts, err)
	}
	if counts, err := Project([]Value{{Mean: 3, StdErr: 1}, {Mean: 4, StdErr: 2}}, 0); err != nil || counts[0] != 0 || counts[1] != 0 {
		t.Errorf("a total of zero gives %v, %v", counts, err)
	}
}

func TestProjectionRefusesWhatHasNoAnswer(t *testing.T) {
	one := Value{Mean: 1, StdErr: 1}
	for name, c := range map[string]struct {
		values []Value
		total  float64
	}{
		"not a number":          {[]Value{{Mean: math.NaN(), StdErr: 1}}, 1},
		"infinite":              {[]Value{{Mean: math.Inf(1), StdErr: 1}}, 1},
		"no error":              {[]Value{{Mean: 1, StdErr: math.NaN()}}, 1},
		"negative total":        {[]Value{one}, -1},
		"infinite total":        {[]Value{one}, math.Inf(1)},
		"total not a number":    {[]Value{one}, math.NaN()},
		"exact ones exceed it":  {[]Value{Exact(3), one}, 2},
		"exact negative":        {[]Value{Exact(-3), one}, 2},
		"nothing":               {nil, 2},
		"exact ones do not sum": {[]Value{Exact(3)}, 4},
	} {
		if counts, err := Project(c.values, c.total); err == nil {
			t.Errorf("%s: %v", name, counts)
		}
	}
}

// The isotonic regression is max over a <= i of min over b >= i of the mean of a..b.
func TestIsotonicIsTheMinMaxFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 0, 20).Draw(t, "x")
		fitted := Isotonic(x)
		if len(fitted) != len(x) {
			t.Fatalf("%d numbers became %d", len(x), len(fitted))
		}
		for i := range x {
			want := math.Inf(-1)
			for a := 0; a <= i; a++ {
				least := math.Inf(1)
				for b := i; b < len(x); b++ {
					sum := 0.0
					for _, v := range x[a : b+1] {
						sum += v
					}
					least = min(least, sum/float64(b-a+1))
				}
				want = max(want, least)
			}
			if !near(fitted[i], want, 1e-9) {
				t.Fatalf("at %d: %v, want %v", i, fitted[i], want)
			}
			if i > 0 && fitted[i] < fitted[i-1] {
				t.Fatalf("%v decreases", fitted)
			}
		}
		for i, v := range Isotonic(fitted) {
			if !near(v, fitted[i], 1e-12) {
				t.Fatalf("the second regression moves %v to %v", fitted[i], v)
			}
		}
	})
}
