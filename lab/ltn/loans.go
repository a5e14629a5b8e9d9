package ltn

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// LoansName is the data set of loans that were paid or charged off.
const LoansName = "lending_club"

// testedLoans is the share of loans that learners are tested on (LTN, appendix E).
const testedLoans = 0.15

// Loans returns as many loans that were charged off as loans that were paid. Its columns are the rate
// of interest, and what the lender knew when a loan was asked for. The total paid is the outcome, and
// is left out. Of each class the latest 15 of 100 loans are for the test, by the year of their issue.
// That year is left out too, since all of the test are of the last one.
func Loans(dir string) (*dataset.Set, error) {
	loans, err := datasets.LoadLoans(dir)
	if err != nil {
		return nil, err
	}
	const issued = "issue_year"
	year := slices.Index(loans.Names, issued)
	var of [2][]int // loans of each class, in an order drawn at random
	for i, lost := range loans.Lost {
		class := 0
		if lost {
			class = 1
		}
		of[class] = append(of[class], i)
	}
	n := min(len(of[0]), len(of[1]))
	if n < 500 || year < 0 {
		return nil, fmt.Errorf("data set lending_club: %d loans charged off: give more, and the dates of their issue", len(of[1]))
	}
	for class := range of {
		of[class] = of[class][:n]
		slices.SortStableFunc(of[class], func(a, b int) int {
			return cmp.Compare(loans.X.Data[a*loans.X.Stride+year], loans.X.Data[b*loans.X.Stride+year])
		})
	}
	cols := loans.X.Cols // the rate in the place of the year
	part := func(from, to int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: 2 * (to - from), Cols: cols, Stride: cols}
		for k := from; k < to; k++ {
			for class := range of {
				i := of[class][k]
				l.X.Data = append(l.X.Data, loans.X.Data[i*loans.X.Stride:][:cols]...)
				l.X.Data[len(l.X.Data)-cols+year] = float32(loans.Rate[i])
				l.Y = append(l.Y, class)
			}
		}
		return l
	}
	names := slices.Clone(loans.Names)
	names[year] = "int_rate"
	at := n - int(float64(n)*testedLoans)
	return &dataset.Set{Name: LoansName, Classes: []string{"paid", "charged off"}, Columns: names, Checksum: loans.Checksum, Train: part(0, at), Test: part(at, n)}, nil
}

// standard brings columns to mean zero and deviation one among public records.
func standard(set *dataset.Set, public []int) *dataset.Set {
	mean, deviation := training.Moments(dataset.Rows(set.Train.X, public))
	s := *set
	s.Train.X, s.Test.X = featuremap.Scaled(set.Train.X, mean, deviation), featuremap.Scaled(set.Test.X, mean, deviation)
	return &s
}
