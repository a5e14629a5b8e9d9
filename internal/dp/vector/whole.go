package vector

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"
)

// Whole sums vectors of norm at most one as whole numbers whose length is proved (docs/sums.md). A device rotates its
// vector, multiplies it, rounds each number up or down by a coin that keeps its mean, and raises it by Steps.
type Whole struct {
	dimension, rows, steps int
	u                      *rotation // times unit
	scratch                sync.Pool // *scratch
}

const (
	// mostWhole is the most numbers of a vector whose length is proved.
	mostWhole = 1 << 14
	// reached is where numbers are cut, in deviations of a rotated vector: of one in two million.
	reached = 5
	tries   = 64 // at rounding, before a device rounds toward zero
)

// NewWhole expands the rotation of vectors of a dimension to so many rows (LeastRows, of the longest vectors of a study).
// The largest numbers are so many steps away from zero.
func NewWhole(dimension, rows, steps int, seed [32]byte) (*Whole, error) {
	if dimension < 1 || dimension > mostWhole || rows > mostWhole {
		return nil, fmt.Errorf("vector: the length of vectors of %d numbers is not proved: give 1 to %d", max(dimension, rows), mostWhole)
	}
	if rows < dimension || bits.OnesCount(uint(rows)) != 1 {
		return nil, fmt.Errorf("vector: vectors of %d numbers in %d rows: give a power of two, and as many as numbers", dimension, rows)
	}
	if steps < reached || steps > 1<<15-1 || bits.OnesCount(uint(steps)) != bits.Len(uint(steps)) {
		return nil, fmt.Errorf("vector: numbers of at most %d steps: give one less than a power of two, from 7 to %d", steps, 1<<15-1)
	}
	w := &Whole{dimension: dimension, rows: rows, steps: steps}
	w.u = newRotation(Spec{Rows: w.rows, Seed: seed}, w.unit())
	w.scratch.New = func() any { return &scratch{held: make([]float32, w.rows), rotated: make([]float32, w.rows)} }
	return w, nil
}

// unit returns how long a vector of length one becomes, before it is rounded.
func (w *Whole) unit() float64 { return float64(w.steps) / reached * math.Sqrt(float64(w.rows)) }

// Rows returns how many numbers are summed.
func (w *Whole) Rows() int { return w.rows }

// Dimension returns how many a vector has.
func (w *Whole) Dimension() int { return w.dimension }

// Square returns what the squares of a vector's numbers add up to at most: those of length one, with what rounding
// adds in the mean, a sixth for each number, and twice the deviation of that. It is of whole numbers, the same on every
// machine.
func (w *Whole) Square() int {
	square := w.steps * w.steps
	spread := w.rows * (2*square/(3*reached*reached) + 1)
	root := int(math.Sqrt(float64(spread)))
	for root*root > spread {
		root--
	}
	for (root+1)*(root+1) <= spread {
		root++
	}
	return w.rows*square/(reached*reached) + w.rows/6 + 2*root + 2
}

// Longest returns how long a vector of that square is, where honest ones have length one: what a liar counts for.
func (w *Whole) Longest() float64 { return math.Sqrt(float64(w.Square())) / w.unit() }

// Round writes the whole numbers of a vector, from 0 to twice Steps. A vector that is rounded to a longer one than is proved
// is rounded anew; what does not fit is the zero vector.
func (w *Whole) Round(r *rand.Rand, v []float32, out []uint64) {
	s := w.scratch.Get().(*scratch)
	defer w.scratch.Put(s)
	if len(v) != w.dimension || outgrown(v) != nil {
		clear(s.rotated)
	} else {
		w.u.apply(v, s.held, s.rotated)
	}
	for range tries {
		if w.round(r, s.rotated, out) {
			return
		}
	}
	if w.truncate(s.rotated, out) {
		return
	}
	for i := range out {
		out[i] = uint64(w.steps)
	}
}

// round writes numbers rounded by coins, and reports whether they are short enough.
func (w *Whole) round(r *rand.Rand, rotated []float32, out []uint64) bool {
	squares, most := 0, w.steps
	for i, x := range rotated {
		n := max(-most, min(most, int(math.Floor(float64(x)+r.Float64()))))
		squares += n * n
		out[i] = uint64(n + most)
	}
	return squares <= w.Square()
}

// truncate rounds toward zero, and reports the same.
func (w *Whole) truncate(rotated []float32, out []uint64) bool {
	squares := 0
	for i, x := range rotated {
		n := max(-w.steps, min(w.steps, int(x)))
		squares += n * n
		out[i] = uint64(n + w.steps)
	}
	return squares <= w.Square()
}

// Estimate returns the sum of the vectors of n devices, whose whole numbers have these sums with noise of that variance.
func (w *Whole) Estimate(sums []int64, n int, variance float64) (Sum, error) {
	if len(sums) != w.rows || n < 1 {
		return Sum{}, fmt.Errorf("vector: sums of %d numbers of %d devices: the plan has %d", len(sums), n, w.rows)
	}
	y, out := make([]float32, w.rows), make([]float32, w.rows)
	for i, s := range sums {
		y[i] = float32(s - int64(n)*int64(w.steps))
	}
	w.u.undo(y, out) // times unit
	sum := Sum{Vector: make([]float64, w.dimension), Error: math.Sqrt(variance+w.Rounding(n)) / w.unit()}
	squares, spare := 0.0, out[w.dimension:]
	unit := w.unit() * w.unit()
	for i := range sum.Vector {
		sum.Vector[i] = float64(out[i]) / unit
	}
	for _, x := range spare {
		squares += float64(x) / unit * float64(x) / unit
	}
	if len(spare) > 0 {
		sum.Spare = math.Sqrt(squares / float64(len(spare)))
	}
	return sum, nil
}

// Rounding returns about the variance that rounding adds to a sum of n devices.
func (w *Whole) Rounding(n int) float64 { return float64(n) / 6 }
