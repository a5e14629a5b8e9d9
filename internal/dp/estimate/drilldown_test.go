package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func blocksOf(values []Value) (cells []Block) {
	for _, v := range values {
		cells = append(cells, BlockOf(v))
	}
	return cells
}

// Of independent errors Given is the part and the total less the rest, each weighted by the other's
// variance; given of single cells, of which those of the part weigh 1, is the same.
func TestGivenIsTheWeightedMeanOfBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Float64Range(0.1, 20))
		total := rapid.Float64Range(0, 1000).Draw(t, "total")
		m := rapid.IntRange(0, len(values)).Draw(t, "m")
		part, rest, shared := Together{}.Parts(values[:m], values[m:])
		if part != Sum(values[:m]) || rest != Sum(values[m:]) || shared != 0 {
			t.Fatalf("%v and %v share %v", part, rest, shared)
		}
		got := part.Given(Sum(values), 0, total)
		p, q := part.StdErr*part.StdErr, rest.StdErr*rest.StdErr
		want := Value{(part.Mean*q + (total-rest.Mean)*p) / (p + q), math.Sqrt(p * q / (p + q))}
		weights := make([]float64, len(values))
		for i := range m {
			weights[i] = 1
		}
		combined := Together{}.Tied(weights, blocksOf(values), total)
		for _, v := range []Value{got, combined} {
			if !near(v.Mean, want.Mean, 1e-8) || math.Abs(v.StdErr-want.StdErr) > 1e-6 {
				t.Fatalf("%v, want %v", v, want)
			}
		}
	})
}

// No other unbiased linear estimate has a smaller error: subtracting any other
// constant from the weights gives a larger one, whatever the errors have in common.
func TestGivenHasTheSmallestError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Float64Range(0.1, 20))
		together := Together{Fixed: rapid.Float64Range(0, 0.01).Draw(t, "fixed")} // less than each cell's variance
		total, c := rapid.Float64Range(0, 1000).Draw(t, "total"), rapid.Float64Range(-3, 3).Draw(t, "c")
		weights, other := make([]float64, len(values)), make([]float64, len(values))
		for i := range weights {
			weights[i] = rapid.Float64Range(-2, 2).Draw(t, "weight")
			other[i] = weights[i] - c
		}
		cells := blocksOf(values)
		best, else0 := together.Tied(weights, cells, total), together.Sum(other, cells).Add(Value{Mean: c * total})
		if best.StdErr > else0.StdErr*(1+1e-9) {
			t.Fatalf("%v has a larger error than %v", best, else0)
		}
		// Where the estimates already sum to the total, nothing moves.
		same, raw := together.Tied(weights, cells, Sum(values).Mean), together.Sum(weights, cells)
		if !near(same.Mean, raw.Mean, 1e-9) {
			t.Fatalf("%v moved from %v", same, raw)
		}
	})
	exact := []Block{BlockOf(Exact(3)), BlockOf(Exact(4))}
	if v := (Together{}).Tied([]float64{1, 2}, exact, 7); v != Exact(11) {
		t.Errorf("of exact numbers: %v", v)
	}
	if v := Exact(3).Given(Exact(7), 0, 7); v != Exact(3) {
		t.Errorf("of exact numbers: %v", v)
	}
}

// Blocks add up what single cells do, pair by pair.
func TestCovarianceIsThatOfAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, rapid.Float64Range(0.1, 20))
		together := Together{Fixed: rapid.Float64Range(0, 2).Draw(t, "fixed"), Each: rapid.Float64Range(0, 2).Draw(t, "each")}
		for i := range values {
			values[i].Mean = math.Abs(values[i].Mean) // holders
		}
		m := rapid.IntRange(0, len(values)).Draw(t, "m")
		u, w := []float64{rapid.Float64Range(-2, 2).Draw(t, "u"), 1}, []float64{rapid.Float64Range(-2, 2).Draw(t, "w"), -1}
		of := func(weights []float64, i int) float64 {
			if i < m {
				return weights[0]
			}
			return weights[1]
		}
		want := 0.0
		for i, a := range values {
			for j, b := range values {
				if i == j {
					want += of(u, i) * of(w, i) * a.StdErr * a.StdErr
				} else {
					want += of(u, i) * of(w, j) * (together.Fixed + together.Each*(a.Mean+b.Mean))
				}
			}
		}
		if got := together.covariance(u, w, []Block{BlockOf(values[:m]...), BlockOf(values[m:]...)}); !near(got, want, 1e-7) && math.Abs(got-want) > 1e-6 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestMarginals(t *testing.T) {
	cells := []Value{{1, 1}, {2, 2}, {3, 2}, {10, 3}, {20, 4}, {30, 6}}
	rows, cols := Together{}.Marginals(cells, 3)
	want := func(name string, got []Value, want ...Value) {
		if len(got) != len(want) {
			t.Fatalf("%s: %v", name, got)
		}
		for i := range got {
			if !near(got[i].Mean, want[i].Mean, 1e-12) || !near(got[i].StdErr, want[i].StdErr, 1e-12) {
				t.Errorf("%s %d: %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	want("row", rows, Value{6, 3}, Value{60, math.Sqrt(61)})
	want("column", cols, Value{11, math.Sqrt(10)}, Value{22, math.Sqrt(20)}, Value{33, math.Sqrt(40)})
	rows, cols = Together{Fixed: 2, Each: 0.5}.Marginals(cells, 3)
	want("row of cells that share", rows, Value{6, math.Sqrt(9 + 2*3*2 + 2*0.5*(3+4+5))}, Value{60, math.Sqrt(61 + 2*3*2 + 2*0.5*(30+40+50))})
	want("column of cells that share", cols, Value{11, math.Sqrt(10 + 2*2 + 2*0.5*11)}, Value{22, math.Sqrt(20 + 2*2 + 2*0.5*22)}, Value{33, math.Sqrt(40 + 2*2 + 2*0.5*33)})
	defer func() {
		if recover() == nil {
			t.Error("six cells in four columns did not panic")
		}
	}()
	Together{}.Marginals(cells, 4)
}

// The interval of a share is that of r for which (1-r) part - r rest is compatible
// with zero, sought here point by point.
func TestShareIsFiellersInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := Value{rapid.Float64Range(0, 100).Draw(t, "part"), rapid.Float64Range(0.1, 20).Draw(t, "sd")}
		rest := Value{rapid.Float64Range(1, 100).Draw(t, "rest"), rapid.Float64Range(0.1, 20).Draw(t, "sd")}
		share, lo, hi := Share(part, rest, 0, 0.9)
		if !(0 <= lo && lo <= share.Mean && share.Mean <= hi && hi <= 1) {
			t.Fatalf("%v in %v to %v", share, lo, hi)
		}
		z := Quantile(0.9)
		for r := 0.0005; r < 1; r += 0.001 {
			d := math.Abs((1-r)*part.Mean-r*rest.Mean) - z*math.Hypot((1-r)*part.StdErr, r*rest.StdErr)
			if inside := lo <= r && r <= hi; d < -1e-9 && !inside || d > 1e-9 && inside && !(lo == 0 && hi == 1) {
				t.Fatalf("%v: distance %v, the interval is %v to %v", r, d, lo, hi)
			}
		}
	})
}

// A share of 0.3 in a whole ten standard errors large. 20,000 draws catch a coverage
// off by 1 %; the twin, an interval that forgets the error of the rest, covers 3 %
// too seldom.
func TestShareCovers(t *testing.T) {
	const draws = 20_000
	r := stattest.Rand(t)
	covered := func(interval func(part, rest Value) (lo, hi float64)) int {
		n := 0
		for range draws {
			part, rest := Value{30 + 7*r.NormFloat64(), 7}, Value{70 + 7*r.NormFloat64(), 7}
			if lo, hi := interval(part, rest); lo <= 0.3 && 0.3 <= hi {
				n++
			}
		}
		return n
	}
	stattest.Binomial(t, 0.9, draws, covered(func(part, rest Value) (float64, float64) {
		_, lo, hi := Share(part, rest, 0, 0.9)
		return lo, hi
	}))
	stattest.Caught(t, func(tb testing.TB) {
		stattest.Binomial(tb, 0.9, draws, covered(func(part, rest Value) (float64, float64) {
			whole := part.Mean + rest.Mean
			return part.Scale((1 - 0.3) / whole).Add(Value{Mean: part.Mean / whole * 0.3}).Interval(0.9)
		}))
	})
}

func TestShareOfNothingIsOpen(t *testing.T) {
	for _, c := range [][2]Value{{{1, 5}, {2, 5}}, {{-30, 1}, {-30, 1}}, {{0, 0}, {0, 0}}} {
		if share, lo, hi := Share(c[0], c[1], 0, 0.95); lo != 0 || hi != 1 || math.IsNaN(share.Mean) {
			t.Errorf("%v of %v: %v in %v to %v", c[0], c[1], share, lo, hi)
		}
	}
}
