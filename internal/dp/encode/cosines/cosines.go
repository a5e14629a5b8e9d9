// Package cosines appends random Fourier features to the columns of a table (Rahimi and Recht 2007), so that linear
// models bend with the columns. Used by internal/dp/encode/inputs.
package cosines

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Map is what a device needs, and what a plan names by its hash.
type Map struct {
	Directions []float32 // a row for each cosine, a number for each column
	Phases     []float32 // in radians
}

// New draws so many cosines of columns that are standardized, from a public generator. The kernel's
// bandwidth is the root of the number of columns, about the distance of two rows.
func New(r *rand.Rand, columns, cosines int) *Map {
	m := &Map{make([]float32, columns*cosines), make([]float32, cosines)}
	for i := range m.Directions {
		m.Directions[i] = float32(r.NormFloat64() / math.Sqrt(float64(columns)))
	}
	for i := range m.Phases {
		m.Phases[i] = float32(2 * math.Pi * r.Float64())
	}
	return m
}

// Check says what is wrong with a map that was read, for so many columns.
func (m *Map) Check(columns int) error {
	if n := len(m.Phases); n == 0 || len(m.Directions) != n*columns {
		return fmt.Errorf("cosines: %d directions of %d columns in %d numbers", n, columns, len(m.Directions))
	}
	for _, part := range [][]float32{m.Directions, m.Phases} {
		for _, v := range part {
			if v-v != 0 {
				return fmt.Errorf("cosines: a number of the map is not finite")
			}
		}
	}
	return nil
}

// Len returns the number of columns and cosines.
func (m *Map) Len() int { return len(m.Phases) + len(m.Directions)/len(m.Phases) }

// Beside are rows of columns, and beside them sqrt 2 cos(w x + b) for each direction w and phase b.
func (m *Map) Beside(x blas32.General) blas32.General {
	n := len(m.Phases)
	directions := blas32.General{Rows: n, Cols: x.Cols, Stride: x.Cols, Data: m.Directions}
	along := blas32.General{Rows: x.Rows, Cols: n, Stride: n, Data: make([]float32, x.Rows*n)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, directions, 0, along)
	wide := x.Cols + n
	y := blas32.General{Rows: x.Rows, Cols: wide, Stride: wide, Data: make([]float32, x.Rows*wide)}
	for i := range x.Rows {
		row := y.Data[i*wide:][:wide]
		copy(row, x.Data[i*x.Stride:][:x.Cols])
		for k, a := range along.Data[i*n:][:n] {
			row[x.Cols+k] = float32(math.Sqrt2 * math.Cos(float64(a)+float64(m.Phases[k])))
		}
	}
	return y
}
