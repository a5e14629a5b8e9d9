package ltn

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// LoansName is the data set of loans that were paid or charged off.
const LoansName = "lending_club"

// testedLoans is the share of loans that learners are tested on (LTN, appendix E).
const testedLoans = 0.15

// Loans are as many of those that were charged off as of those that were paid, by what the lender
// knew when they were asked for and the rate of interest. What was paid in total is the outcome,
// and is left out. They are in an order drawn at random, not by date as LTN has them.
func Loans(dir string) (*dataset.Set, error) {
	loans, err := dataset.LoadLoans(dir)
	if err != nil {
		return nil, err
	}
	var of [2][]int // loans of each class, in their order
	for i, lost := range loans.Lost {
		class := 0
		if lost {
			class = 1
		}
		of[class] = append(of[class], i)
	}
	n, cols := 2*min(len(of[0]), len(of[1])), loans.X.Cols+1
	if n < 1000 {
		return nil, fmt.Errorf("data set lending_club: %d loans charged off: give more", len(of[1]))
	}
	x, y := blas32.General{Rows: n, Cols: cols, Stride: cols}, make([]int, n)
	for k := range n {
		y[k] = k % 2
		i := of[y[k]][k/2]
		x.Data = append(append(x.Data, loans.X.Data[i*loans.X.Stride:][:loans.X.Cols]...), float32(loans.Rate[i]))
	}
	at, part := int(float64(n)*testedLoans), func(from, to int) dataset.Labelled {
		p := x
		p.Data, p.Rows = x.Data[from*cols:to*cols], to-from
		return dataset.Labelled{X: p, Y: y[from:to]}
	}
	return &dataset.Set{Name: LoansName, Classes: []string{"paid", "charged off"}, Columns: append(loans.Names, "int_rate"), Train: part(at, n), Test: part(0, at)}, nil
}

// standard brings columns to mean zero and deviation one among public records.
func standard(set *dataset.Set, public []int) *dataset.Set {
	x := set.Train.X
	mean, by := make([]float64, x.Cols), make([]float64, x.Cols)
	for j := range x.Cols {
		squares := 0.0
		for _, i := range public {
			v := float64(x.Data[i*x.Stride+j])
			mean[j], squares = mean[j]+v/float64(len(public)), squares+v*v/float64(len(public))
		}
		by[j] = 1 / math.Sqrt(max(squares-mean[j]*mean[j], 1e-12))
	}
	brought := func(l dataset.Labelled) dataset.Labelled {
		out := blas32.General{Rows: l.X.Rows, Cols: l.X.Cols, Stride: l.X.Cols, Data: make([]float32, l.X.Rows*l.X.Cols)}
		for i := range out.Rows {
			for j := range out.Cols {
				out.Data[i*out.Cols+j] = float32((float64(l.X.Data[i*l.X.Stride+j]) - mean[j]) * by[j])
			}
		}
		return dataset.Labelled{X: out, Y: l.Y}
	}
	s := *set
	s.Train, s.Test = brought(set.Train), brought(set.Test)
	return &s
}
