package learn

import (
	"fmt"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
)

// task is what respondents hold in features, and what is tested.
type task struct {
	metric  metric
	classes []string
	number  model.Number // where a number is predicted
	train   records
	test    records
	// public is like what respondents hold, and is nobody's of them: how alike their
	// messages will be is guessed from it.
	public records
	// white: public inputs are of the same kind, and have made features white.
	white bool
	// features are how an input becomes a record; nil where no file holds that.
	features *inputs.Map
}

// asked returns the number that a plan asks for; nil where it has classes.
func (t *task) asked() *plan.Number {
	if t.classes != nil {
		return nil
	}
	return &plan.Number{Name: t.number.Name, Low: t.number.Middle - t.number.Unit, High: t.number.Middle + t.number.Unit}
}

type metric string

const (
	accuracy metric = "accuracy"
	r2       metric = "r2"
	auc      metric = "auc"
)

// records are rows of features, with the class or the target of each.
type records struct {
	x      blas32.General
	y      []int
	target []float64 // in [-1, 1]
}

func (r records) row(i int) []float32 { return r.x.Data[i*r.x.Stride:][:r.x.Cols] }

// part shares storage.
func (r records) part(from, to int) records {
	p := r
	p.x.Rows, p.x.Data = to-from, r.x.Data[from*r.x.Stride:]
	if r.y != nil {
		p.y = r.y[from:to]
	}
	if r.target != nil {
		p.target = r.target[from:to]
	}
	return p
}

// load makes the task of a setting; dir is the folder of data sets.
func load(s Setting, dir string, tell featuremap.Progress) (*task, error) {
	switch s.Dataset {
	case "synthetic", "mnist", "fashion-mnist":
		return loadImages(s, dir, tell)
	case "agnews_lsa256", "sst2":
		return loadTexts(s, dir, tell)
	case "lending_club", "lending_club_charged_off":
		return loadLoans(s, dir)
	}
	return nil, fmt.Errorf("learn: data set %q is unknown", s.Dataset)
}

// each calls f with every index below n on all processors, and with what fresh gives each
// of them.
func each[T any](n int, fresh func() T, f func(own T, i int)) (all []T) {
	workers := runtime.GOMAXPROCS(0)
	all = make([]T, workers)
	var wait sync.WaitGroup
	for w := range workers {
		all[w] = fresh()
		wait.Go(func() {
			for i := w; i < n; i += workers {
				f(all[w], i)
			}
		})
	}
	wait.Wait()
	return all
}

func matrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

// whitened are features in the coordinates of a state, of unit length. They are used up.
func whitened(s *whiten.State, x blas32.General) blas32.General {
	y := s.Project(x)
	for i := range y.Rows {
		whiten.Normalize(y.Data[i*y.Stride:][:y.Cols])
	}
	return y
}
