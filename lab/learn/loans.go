package learn

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

const (
	publicLoans     = 2_500 // their columns are public, what became of them is not
	testLoans       = 10_000
	loanReg         = 0.1
	lowestRate      = 0.05 // of interest, as the lender's own tables say
	highestRate     = 0.25
	fourierFeatures = 100
)

// loadLoans: of loans that may be charged off, the rate is a column too.
func loadLoans(s Setting, dir string) (*task, error) {
	loans, err := datasets.LoadLoans(dir)
	if err != nil {
		return nil, err
	}
	if loans.X.Rows < 2*(publicLoans+testLoans) {
		return nil, fmt.Errorf("data set lending_club: %d loans: %d are needed", loans.X.Rows, 2*(publicLoans+testLoans))
	}
	number := model.Number{Name: "rate", Middle: (lowestRate + highestRate) / 2, Unit: (highestRate - lowestRate) / 2}
	t := &task{metric: r2, white: true, number: number}
	names := loans.Names
	all := records{x: loans.X}
	for i, rate := range loans.Rate {
		target := (rate - number.Middle) / number.Unit
		if s.Dataset == "lending_club_charged_off" {
			target = -1
			if loans.Lost[i] {
				target = 1
			}
		}
		all.target = append(all.target, target)
	}
	if s.Dataset == "lending_club_charged_off" {
		t.classes = []string{"paid", "charged off"}
		t.metric, all.x, names = auc, beside(all.x, loans.Rate), append(names, "int_rate")
		t.number = model.Number{Name: "charged off", Middle: 0.5, Unit: 0.5}
	}
	public := dataset.Copied(all.part(0, publicLoans).x)
	if s.Features == "fourier" {
		t.features, err = featuremap.Cosines(seeded.New(s.Seed, 5), names, public, fourierFeatures, public.Cols+fourierFeatures, loanReg)
	} else {
		t.features, err = featuremap.Columns(names, public, public.Cols, loanReg)
	}
	if err != nil {
		return nil, err
	}
	t.features.Standardize(all.x)
	if t.features.Cosines != nil {
		all.x = t.features.Cosines.Beside(all.x)
	}
	all.x = t.features.Maps[0].Project(all.x)
	for i := range all.x.Rows {
		t.features.Shorten(all.row(i))
	}
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
