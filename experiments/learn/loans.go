package learn

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dataset"
)

const (
	publicLoans     = 2_500 // their columns are public, what became of them is not
	testLoans       = 10_000
	loanReg         = 0.1
	ratesUpTo       = 0.3 // of interest, as anybody may know
	fourierFeatures = 100
	deviations      = 4 // at which a column is cut off
)

// loadLoans: of loans that may be charged off, the rate is a column too.
func loadLoans(s Setting, dir string) (*task, error) {
	loans, err := dataset.LoadLoans(dir)
	if err != nil {
		return nil, err
	}
	if loans.X.Rows < 2*(publicLoans+testLoans) {
		return nil, fmt.Errorf("data set lending_club: %d loans: %d are needed", loans.X.Rows, 2*(publicLoans+testLoans))
	}
	t := &task{metric: r2, white: true}
	all := records{x: loans.X}
	for i, rate := range loans.Rate {
		target := 2*rate/ratesUpTo - 1
		if s.Dataset == "lending_club_charged_off" {
			target = -1
			if loans.Lost[i] {
				target = 1
			}
		}
		all.target = append(all.target, target)
	}
	if s.Dataset == "lending_club_charged_off" {
		t.metric, all.x = auc, beside(all.x, loans.Rate)
	}
	standardize(all.x, publicLoans)
	if s.Features == "fourier" {
		all.x = fourier(s.Seed, all.x, fourierFeatures)
	}
	fit := all.part(0, publicLoans).x
	state, err := principal.Fit(fit, fit.Cols, loanReg, principal.Full)
	if err != nil {
		return nil, err
	}
	all.x = state.Project(all.x)
	within(all.x, publicLoans)
	t.public, t.test, t.train = all.part(0, publicLoans), all.part(publicLoans, publicLoans+testLoans), all.part(publicLoans+testLoans, all.x.Rows)
	t.public.target = make([]float64, publicLoans)
	return t, nil
}

func beside(x blas32.General, column []float64) blas32.General {
	y := matrix(x.Rows, x.Cols+1)
	for i := range x.Rows {
		copy(y.Data[i*y.Stride:], x.Data[i*x.Stride:][:x.Cols])
		y.Data[i*y.Stride+x.Cols] = float32(column[i])
	}
	return y
}

// standardize scales every column by its mean and deviation in the first rows, which are
// public, and cuts it off at four deviations.
func standardize(x blas32.General, public int) {
	for j := range x.Cols {
		sum, squares := 0.0, 0.0
		for i := range public {
			v := float64(x.Data[i*x.Stride+j])
			sum, squares = sum+v, squares+v*v
		}
		mean := sum / float64(public)
		deviation := math.Sqrt(math.Max(1e-12, squares/float64(public)-mean*mean))
		for i := range x.Rows {
			v := &x.Data[i*x.Stride+j]
			*v = float32(math.Max(-deviations, math.Min(deviations, (float64(*v)-mean)/deviation)))
		}
	}
}

// within scales rows so that 95 of 100 of the first, which are public, have a norm of at most
// one, and shortens the others to that.
func within(x blas32.General, public int) {
	norms := make([]float64, x.Rows)
	for i := range x.Rows {
		norms[i] = float64(blas32.Nrm2(blas32.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride:]}))
	}
	few := slices.Clone(norms[:public])
	slices.Sort(few)
	cut := few[public*95/100]
	for i := range x.Rows {
		blas32.Scal(float32((1-0x1p-20)/math.Max(cut, norms[i])), blas32.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride:]})
	}
}
