// Package principal finds the principal directions of public inputs by which package whiten projects. Used by
// lab/train and lab; a device carries the directions and not this package.
package principal

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
)

// Powers of the eigenvalues by which directions are divided.
const (
	Full = 0.5  // all directions alike
	Half = 0.25 // between that and as they are
)

// Fit returns the state with so many principal directions of public rows, each divided by
// (lambda + reg mean lambda)^power: lambda the direction's eigenvalue of the covariance, the mean
// that of the directions kept. Rows must be more than the dimension.
func Fit(public blas32.General, dimension int, reg, power float64) (*whiten.State, error) {
	n, d := public.Rows, public.Cols
	switch {
	case dimension < 1 || dimension > d:
		return nil, fmt.Errorf("principal: %d directions of %d features: give at least 1 and no more than there are", dimension, d)
	case n <= dimension:
		return nil, fmt.Errorf("principal: %d public rows for %d directions: give more", n, dimension)
	case !(reg >= 0) || math.IsInf(reg, 1) || !(power >= 0 && power <= 1):
		return nil, fmt.Errorf("principal: regularization %v, power %v: give a number from 0, and one in [0, 1]", reg, power)
	}
	mean, values, vectors, err := directions(public, dimension)
	if err != nil {
		return nil, err
	}
	found := len(values)
	average := 0.0
	for _, v := range values[found-dimension:] {
		average += math.Max(0, v) / float64(dimension)
	}
	if !(average > 0) {
		return nil, errors.New("principal: all public rows are the same")
	}
	s := &whiten.State{Mean: mean, Matrix: blas32.General{Rows: dimension, Cols: d, Stride: d, Data: make([]float32, dimension*d)}}
	for i := range dimension {
		at := found - 1 - i
		scale := math.Pow(math.Max(0, values[at])/average+reg, -power) // up to a constant, which unit length removes
		if math.IsInf(scale, 1) {
			return nil, fmt.Errorf("principal: direction %d does not vary in public rows: give a regularization, or fewer directions", i+1)
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

// directions returns the mean of rows, and eigenvalues of their covariance, rising, with eigenvectors as
// columns: all of them, or a little more than dimension of the largest.
func directions(public blas32.General, dimension int) (mean []float32, values []float64, vectors *mat.Dense, err error) {
	if public.Cols > manyFeatures && public.Cols > 2*(dimension+spare) {
		mean, centred, err := centre(public)
		if err != nil {
			return nil, nil, nil, err
		}
		values, vectors, err = leading(centred, dimension)
		return mean, values, vectors, err
	}
	mean, covariance, err := moments(public)
	if err != nil {
		return nil, nil, nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, nil, nil, errDirections
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return mean, eigen.Values(nil), vectors, nil
}

// centre returns the mean of rows, and the rows less it.
func centre(x blas32.General) (mean []float32, centred blas32.General, err error) {
	sums := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			if v-v != 0 {
				return nil, centred, fmt.Errorf("principal: public row %d has a feature that is not finite", i+1)
			}
			sums[j] += float64(v)
		}
	}
	mean = make([]float32, x.Cols)
	for j, s := range sums {
		mean[j] = float32(s / float64(x.Rows))
	}
	centred = blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			centred.Data[i*x.Cols+j] = v - mean[j]
		}
	}
	return mean, centred, nil
}

// moments returns the mean and the covariance of rows.
func moments(x blas32.General) ([]float32, *mat.SymDense, error) {
	mean, centred, err := centre(x)
	if err != nil {
		return nil, nil, err
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(x.Rows), dense(centred.Data, x.Cols).T())
	return mean, &covariance, nil
}
