// Package whiten turns features into unit vectors whose coordinates count alike, by numbers from public inputs. Used
// by internal/dp/encode/inputs, internal/dp/vector/features and question/vector.
package whiten

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/floats"
)

// State is what a device needs, and what a plan names by its hash.
type State struct {
	Mean   []float32      `json:"mean"`
	Matrix blas32.General `json:"matrix"` // a row for each coordinate of the result
}

// Form is a state as files have it.
type Form struct {
	Mean   floats.Singles `json:"mean"`
	Matrix floats.Singles `json:"matrix"` // a row for each coordinate of the result
}

// Form returns the state's.
func (s *State) Form() Form { return Form{s.Mean, s.Matrix.Data} }

// State returns the one of a form, for Check to look at; false if its numbers are no matrix.
func (f Form) State() (*State, bool) {
	cols := len(f.Mean)
	if cols == 0 || len(f.Matrix) == 0 || len(f.Matrix)%cols != 0 {
		return nil, false
	}
	return &State{f.Mean, blas32.General{Rows: len(f.Matrix) / cols, Cols: cols, Stride: cols, Data: f.Matrix}}, true
}

// Len returns the number of coordinates of a result.
func (s *State) Len() int { return s.Matrix.Rows }

// Check says what is wrong with a state that was read.
func (s *State) Check() error {
	m := s.Matrix
	if m.Rows < 1 || m.Cols != len(s.Mean) || m.Stride < m.Cols || len(m.Data) < (m.Rows-1)*m.Stride+m.Cols {
		return fmt.Errorf("whiten: a matrix of %d times %d for %d features", m.Rows, m.Cols, len(s.Mean))
	}
	for _, part := range [][]float32{s.Mean, m.Data} {
		for _, v := range part {
			if v-v != 0 {
				return errors.New("whiten: a number of the state is not finite")
			}
		}
	}
	return nil
}

// Apply writes the unit vector of features to out, whose lengths are those of Mean and Len;
// zero where the features are the mean of public rows. Features are overwritten.
func (s *State) Apply(features, out []float32) {
	for j, m := range s.Mean {
		features[j] -= m
	}
	in := blas32.Vector{N: len(features), Inc: 1, Data: features}
	blas32.Gemv(blas.NoTrans, 1, s.Matrix, in, 0, blas32.Vector{N: len(out), Inc: 1, Data: out})
	Normalize(out)
}

// Project writes rows of features, which it centres in place, as rows of coordinates that
// are not yet of unit length: Apply of many at once.
func (s *State) Project(x blas32.General) blas32.General {
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		for j, m := range s.Mean {
			row[j] -= m
		}
	}
	y := blas32.General{Rows: x.Rows, Cols: s.Len(), Stride: s.Len(), Data: make([]float32, x.Rows*s.Len())}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, s.Matrix, 0, y)
	return y
}

// Normalize scales v to unit length, from below so that no rounding carries it above; a
// zero or infinite vector becomes zero.
func Normalize(v []float32) {
	var squares float64
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	if !(squares > 0) || math.IsInf(squares, 1) {
		clear(v)
		return
	}
	scale := (1 - 0x1p-23) / math.Sqrt(squares)
	for i, x := range v {
		v[i] = float32(scale * float64(x))
	}
}
