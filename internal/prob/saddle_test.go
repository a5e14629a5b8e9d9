package prob

import (
	"math"
	"testing"
)

func TestStirling(t *testing.T) {
	for _, x := range []float64{1e-6, 0.1, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15.99, 16, 16.5, 100, 1e8, 1e15} {
		want := bigLogGamma(bigAdd(bigNew(x), bigNew(1)))
		want.Sub(want, bigMul(bigAdd(bigNew(x), bigNew(0.5)), bigLog(bigNew(x))))
		want.Add(want, bigNew(x))
		want.Sub(want, halfLog2Pi)
		w, _ := want.Float64()
		if got := stirling(x); !(math.Abs(got-w) <= 1e-15*(1+math.Abs(w))) {
			t.Errorf("stirling(%v) = %v, want %v", x, got, w)
		}
	}
	if got := stirling(0); got != -halfLogTwoPi {
		t.Errorf("stirling(0) = %v", got)
	}
}

func TestDeviance(t *testing.T) {
	for _, m := range []float64{1e-9, 0.3, 17, 1e8} {
		for _, d := range []float64{-1, -0.999, -0.67, -0.66, -0.5, -0.34, -0.33, -0.1, -1e-5, -1e-12, 0, 1e-9, 1e-3, 0.2, 0.49, 0.51, 1.99, 2.01, 3, 1e6} {
			x := m * (1 + d)
			difference := bigSub(bigNew(x), bigNew(m))
			exact, _ := difference.Float64()
			if d == -1 {
				if got := deviance(0, m, -m); got != m {
					t.Errorf("deviance(0, %v) = %v", m, got)
				}
				continue
			}
			want := bigMul(bigNew(x), bigLog(bigQuo(bigNew(x), bigNew(m))))
			w, _ := want.Sub(want, difference).Float64()
			if got := deviance(x, m, exact); !(math.Abs(got-w) <= 1.5e-15*w+1e-80) {
				t.Errorf("deviance(%v, %v) = %v, want %v", x, m, got, w)
			}
		}
	}
}
