package fitted

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/table"
)

// Joined holds a party's own records with their classes, and what others told of the same records.
type Joined struct {
	Own   *table.Records
	Told  blas32.General
	Names []string // of what was told
	At    []int    // row of Told of each own record; -1 of one that is left out
}

const forHeld = 2 // stream of the records that are held back

// heldBack keeps one record in so many for the test.
const heldBack = 5

// Model fits a linear model to both parties' columns, and tests it on one in five records, which it does not learn from. Without
// is how good the party's own columns are by themselves, on the same records.
func (j Joined) Model(seed uint64, report func(stage string, done, total int)) (m *model.Model, without *model.Tested, err error) {
	classes := j.Own.Classes()
	if len(classes) < 2 {
		return nil, nil, fmt.Errorf("%d class in the column of --label: at least two are told apart", len(classes))
	}
	own, told := []int{}, &table.Records{X: j.Told, Columns: j.Names}
	var rows []int
	for i, at := range j.At {
		if at >= 0 {
			own, rows = append(own, i), append(rows, at)
		}
	}
	if len(own) < 2*heldBack {
		return nil, nil, fmt.Errorf("%d records that one report each was told of: at least %d are learned from", len(own), 2*heldBack)
	}
	order := seeded.New(seed, forHeld).Perm(len(own))
	held := len(order) / heldBack
	alone := rowsOf(j.Own, own)
	both := &table.Records{X: beside(alone.X, rowsOf(told, rows).X), Columns: slices.Concat(j.Own.Columns, j.Names), Labels: alone.Labels}
	if _, without, err = fit(alone, classes, order[held:], order[:held], seed, report); err != nil {
		return nil, nil, err
	}
	m, _, err = fit(both, classes, order[held:], order[:held], seed, report)
	return m, without, err
}

// fit returns a model of some records, and how good it is on others.
func fit(all *table.Records, classes []string, learned, tested []int, seed uint64, report func(stage string, done, total int)) (*model.Model, *model.Tested, error) {
	x := rowsOf(all, learned)
	y := make([]int, len(learned))
	for i, label := range x.Labels {
		y[i] = slices.Index(classes, label)
	}
	m, err := Asked{Classes: classes, Shares: training.OneHot(y, len(classes)), Seed: seed, Linear: true}.Model(x, report)
	if err != nil {
		return nil, nil, err
	}
	err = Test(m, "records held back", rowsOf(all, tested))
	return m, m.Tested, err
}

// rowsOf returns some of the records.
func rowsOf(all *table.Records, rows []int) *table.Records {
	d := all.X.Cols
	out := &table.Records{Columns: all.Columns, X: blas32.General{Rows: len(rows), Cols: d, Stride: d, Data: make([]float32, 0, len(rows)*d)}}
	for _, i := range rows {
		out.X.Data = append(out.X.Data, all.X.Data[i*all.X.Stride:][:d]...)
		if all.Labels != nil {
			out.Labels = append(out.Labels, all.Labels[i])
		}
	}
	return out
}

// beside returns the columns of both.
func beside(a, b blas32.General) blas32.General {
	d := a.Cols + b.Cols
	out := blas32.General{Rows: a.Rows, Cols: d, Stride: d, Data: make([]float32, 0, a.Rows*d)}
	for i := range a.Rows {
		out.Data = append(append(out.Data, a.Data[i*a.Stride:][:a.Cols]...), b.Data[i*b.Stride:][:b.Cols]...)
	}
	return out
}
