package prob

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLogSpaceAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-800, 800).Draw(t, "a")
		gap := math.Exp(rapid.Float64Range(-30, 6).Draw(t, "log gap"))
		b := a - gap
		gap = a - b // what is left of it after rounding
		check := func(name string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-14*(1+math.Abs(want))) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		one, y := bigNew(1), bigExp(bigNew(-gap))
		sum, _ := bigAdd(bigLog(bigAdd(one, y)), bigNew(a)).Float64()
		check("LogAdd", LogAdd(a, b), sum)
		check("LogAdd, swapped", LogAdd(b, a), sum)
		if gap == 0 {
			return
		}
		rest, _ := bigLog(bigSub(one, y)).Float64()
		check("log1mExp", log1mExp(-gap), rest)
		check("LogSub", LogSub(a, b), a+rest)
	})
}

func TestLogSpaceEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"0 + 0", LogAdd(negInf, negInf), negInf},
		{"0 + e^3", LogAdd(negInf, 3), 3},
		{"inf + e^3", LogAdd(3, inf), inf},
		{"inf + inf", LogAdd(inf, inf), inf},
		{"NaN + e^3", LogAdd(nan, 3), nan},
		{"e^3 + NaN", LogAdd(3, nan), nan},
		{"0 + NaN", LogAdd(negInf, nan), nan},
		{"0 - 0", LogSub(negInf, negInf), negInf},
		{"e^3 - 0", LogSub(3, negInf), 3},
		{"e^3 - e^3", LogSub(3, 3), negInf},
		{"e^3 - e^4", LogSub(3, 4), nan},
		{"1 - e^0", log1mExp(0), negInf},
		{"1 - e^-inf", log1mExp(negInf), 0},
		{"1 - e^1", log1mExp(1), nan},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestSumIsCompensated(t *testing.T) {
	if got := SumOf([]float64{1, 1e100, 1, -1e100}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64Range(-1e10, 1e10)).Draw(t, "xs")
		exact, size := bigNew(0), 0.0
		for _, x := range xs {
			exact.Add(exact, bigNew(x))
			size += math.Abs(x)
		}
		want, _ := exact.Float64()
		if got := SumOf(xs); !(math.Abs(got-want) <= 0x1p-52*math.Abs(want)+float64(len(xs)*len(xs))*0x1p-106*size) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	if got := SumOf([]float64{math.Inf(1), 1}); !math.IsInf(got, 1) {
		t.Errorf("infinity lost: %v", got)
	}
	if got := SumOf([]float64{math.Inf(1), negInf}); !math.IsNaN(got) {
		t.Errorf("inf - inf = %v", got)
	}
}
