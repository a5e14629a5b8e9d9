package training

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
)

// Standard returns columns with the mean and the deviation of public rows.
func Standard(names []string, public blas32.General) *inputs.Map {
	m := &inputs.Map{}
	mean, deviation := Moments(public)
	for j, name := range names {
		m.Columns = append(m.Columns, inputs.Column{Name: name, Middle: mean[j], Scale: deviation[j]})
	}
	return m
}

// Moments returns the mean and the deviation of each column of public rows. A column that is the same for all has
// deviation one.
func Moments(public blas32.General) (mean, deviation []float64) {
	mean, deviation = make([]float64, public.Cols), make([]float64, public.Cols)
	for j := range public.Cols {
		sum, squares, n := 0.0, 0.0, float64(public.Rows)
		for i := range public.Rows {
			v := float64(public.Data[i*public.Stride+j])
			sum, squares = sum+v, squares+v*v
		}
		mean[j], deviation[j] = sum/n, math.Sqrt(math.Max(0, squares/n-sum/n*sum/n))
		if !(deviation[j] > 0) {
			deviation[j] = 1
		}
	}
	return mean, deviation
}

// Line returns the linear function of rows of features that fits numbers with the least mean squared error.
func Line(x blas32.General, numbers []float64) (weights []float64, offset float64, err error) {
	const ridge = 1e-6 // of features that follow from others
	n, d := float64(x.Rows), x.Cols+1
	sums, right, row := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil), make([]float64, d)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			row[j] = float64(v)
		}
		row[x.Cols] = 1
		of := mat.NewVecDense(d, row)
		sums.SymRankOne(sums, 1/n, of)
		right.AddScaledVec(right, numbers[i]/n, of)
	}
	for j := range d {
		sums.SetSym(j, j, sums.At(j, j)+ridge)
	}
	var c mat.Cholesky
	var w mat.VecDense
	if !c.Factorize(sums) {
		return nil, 0, fmt.Errorf("training: no line through %d records", x.Rows)
	}
	if err := c.SolveVecTo(&w, right); err != nil {
		return nil, 0, err
	}
	return w.RawVector().Data[:x.Cols], w.AtVec(x.Cols), nil
}
