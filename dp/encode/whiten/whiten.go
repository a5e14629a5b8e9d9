// Package whiten turns features into unit vectors whose coordinates count alike: centred,
// projected onto principal directions and scaled, all by numbers from public inputs.
package whiten

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"
)

// State is what a device needs, and what a plan names by its hash.
type State struct {
	Mean   []float32      `json:"mean"`
	Matrix blas32.General `json:"matrix"` // a row for each coordinate of the result
}

// Powers of the eigenvalues by which directions are divided.
const (
	Full = 0.5  // all directions alike
	Half = 0.25 // between that and as they are
)

// Fit is the state with so many principal directions of public rows, each divided by
// (lambda + reg mean lambda)^power: lambda the direction's eigenvalue of the covariance, the mean
// that of the directions kept. Rows must be more than the dimension.
func Fit(public blas32.General, dimension int, reg, power float64) (*State, error) {
	n, d := public.Rows, public.Cols
	switch {
	case dimension < 1 || dimension > d:
		return nil, fmt.Errorf("whiten: %d directions of %d features: give at least 1 and no more than there are", dimension, d)
	case n <= dimension:
		return nil, fmt.Errorf("whiten: %d public rows for %d directions: give more", n, dimension)
	case !(reg >= 0) || math.IsInf(reg, 1) || !(power >= 0 && power <= 1):
		return nil, fmt.Errorf("whiten: regularization %v, power %v: give a number from 0, and one in [0, 1]", reg, power)
	}
	mean, covariance, err := moments(public)
	if err != nil {
		return nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, errors.New("whiten: the covariance of the public rows has no eigenvectors: are its numbers finite?")
	}
	values := eigen.Values(nil) // rising
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	average := 0.0
	for _, v := range values[d-dimension:] {
		average += math.Max(0, v) / float64(dimension)
	}
	if !(average > 0) {
		return nil, errors.New("whiten: all public rows are the same")
	}
	s := &State{Mean: mean, Matrix: blas32.General{Rows: dimension, Cols: d, Stride: d, Data: make([]float32, dimension*d)}}
	for i := range dimension {
		at := d - 1 - i
		scale := math.Pow(math.Max(0, values[at])/average+reg, -power) // up to a constant, which unit length removes
		if math.IsInf(scale, 1) {
			return nil, fmt.Errorf("whiten: direction %d does not vary in public rows: give a regularization, or fewer directions", i+1)
		}
		sign := 1.0 // the largest coordinate of a direction is positive
		largest := 0.0
		for j := range d {
			if v := vectors.At(j, at); math.Abs(v) > largest*(1+1e-9) {
				largest, sign = math.Abs(v), math.Copysign(1, v)
			}
		}
		for j := range d {
			s.Matrix.Data[i*d+j] = float32(scale * sign * vectors.At(j, at))
		}
	}
	return s, nil
}

// moments are the mean and the covariance of rows.
func moments(x blas32.General) ([]float32, *mat.SymDense, error) {
	sums := make([]float64, x.Cols)
	centred := mat.NewDense(x.Rows, x.Cols, nil)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			if v-v != 0 {
				return nil, nil, fmt.Errorf("whiten: public row %d has a feature that is not finite", i+1)
			}
			sums[j] += float64(v)
		}
	}
	mean := make([]float32, x.Cols)
	for j, s := range sums {
		mean[j] = float32(s / float64(x.Rows))
	}
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			centred.Set(i, j, float64(v-mean[j]))
		}
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(x.Rows), centred.T())
	return mean, &covariance, nil
}

// Len is the number of coordinates of a result.
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
