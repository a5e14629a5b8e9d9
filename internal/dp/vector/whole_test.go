package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// long returns the squares of whole numbers about their middle.
func long(numbers []uint64, steps int) (squares int) {
	for _, x := range numbers {
		d := int(x) - steps
		squares += d * d
	}
	return squares
}

// lengthOne returns a vector of length one: in one direction, in all alike, or anywhere.
func lengthOne(r *rand.Rand, kind, dimension int) []float32 {
	v := make([]float32, dimension)
	switch kind {
	case 0:
		v[0] = 1
	case 1:
		for i := range v {
			v[i] = float32(math.Sqrt(1 / float64(dimension)))
		}
	default:
		squares := 0.0
		for i := range v {
			v[i] = float32(r.NormFloat64())
			squares += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] = float32(float64(v[i]) / math.Sqrt(squares))
		}
	}
	return v
}

// What leaves a device is never longer than is proved, whatever it holds; what does not fit is zero, which is as long.
func TestWholeVectorsAreAsShortAsProved(t *testing.T) {
	r := stattest.Rand(t)
	for _, dimension := range []int{1, 2, 3, 17, 80, 300} {
		for _, steps := range []int{7, 15, 127, 1<<15 - 1} {
			w, err := NewWhole(dimension, LeastRows(dimension, 1), steps, [32]byte{1})
			if err != nil {
				t.Fatal(err)
			}
			out := make([]uint64, w.Rows())
			for kind := range 3 {
				for range 20 {
					w.Round(r, lengthOne(r, kind, dimension), out)
					if got := long(out, steps); got > w.Square() || got < w.Square()/3 && dimension > 16 {
						t.Fatalf("%d numbers of %d steps: squares of %d, and %d are proved", dimension, steps, got, w.Square())
					}
				}
			}
			bad := make([]float32, dimension)
			for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1.001, math.MaxFloat32} {
				bad[0] = x
				if w.Round(r, bad, out); long(out, steps) != 0 {
					t.Errorf("%v is answered as %v", x, out)
				}
			}
			if w.Round(r, make([]float32, dimension+1), out); long(out, steps) != 0 {
				t.Error("a vector of another length is answered")
			}
		}
	}
}

// The sum of what devices round is that of their vectors, in the mean, and errs as is said: vectors that are all alike
// too. The twin rounds to the nearest, which errs alike on them.
func TestWholeVectorsSumToTheirs(t *testing.T) {
	r := stattest.Rand(t)
	const people, dimension, steps = 4000, 50, 7
	w, err := NewWhole(dimension, LeastRows(dimension, 1), steps, [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	for kind := range 3 {
		held := lengthOne(r, kind, dimension)
		sums, nearest, out := make([]int64, w.Rows()), make([]int64, w.Rows()), make([]uint64, w.Rows())
		s := w.scratch.New().(*scratch)
		w.u.apply(held, s.held, s.rotated)
		for range people {
			w.Round(r, held, out)
			for i, x := range out {
				sums[i] += int64(x)
				nearest[i] += int64(math.Round(float64(s.rotated[i]))) + steps
			}
		}
		off := func(sums []int64) (worst float64) {
			got, err := w.Estimate(sums, people, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range got.Vector {
				worst = math.Max(worst, math.Abs(x-people*float64(held[i]))/got.Error)
			}
			return worst
		}
		if d := off(sums); d > 8 {
			t.Errorf("kind %d: a sum is %.1f deviations off", kind, d)
		}
		if kind == 2 && off(nearest) < 8 {
			t.Error("rounding to the nearest is not caught")
		}
	}
}

func TestWholeRefuses(t *testing.T) {
	for _, c := range [][3]int{{0, 1, 15}, {mostWhole + 1, 2 * mostWhole, 15}, {4, 2 * mostWhole, 15}, {4, 2, 15}, {4, 5, 15}, {4, 4, 14}, {4, 4, 3}, {4, 4, 1 << 16}, {4, 4, -1}} {
		if _, err := NewWhole(c[0], c[1], c[2], [32]byte{}); err == nil {
			t.Errorf("%v: taken", c)
		}
	}
	w, _ := NewWhole(4, 4, 15, [32]byte{})
	if _, err := w.Estimate(make([]int64, 3), 1, 0); err == nil {
		t.Error("sums of another length are taken")
	}
}
