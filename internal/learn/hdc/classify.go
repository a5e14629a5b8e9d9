package hdc

import (
	"fmt"
	"math"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"gonum.org/v1/gonum/blas/blas32"
)

// Prediction is the class of a record and how sure that is.
type Prediction struct {
	Class    int              // of the highest score; the first of equals
	RunnerUp int              // of the next score; -1 if no other class has one
	Scores   []estimate.Value // one per class: a density, or that corrected (NearestMean); Mean NaN for a missing class
	Margin   estimate.Value   // score of Class less that of RunnerUp, with the error of the difference
}

// Decided reports whether the margin is beyond its own error at Level.
func (p Prediction) Decided() bool {
	lo, _ := p.Margin.Interval(Level)
	return p.RunnerUp < 0 || lo > 0
}

// Classify predicts the class of each row of x.
func (m *Model) Classify(x blas32.General) ([]Prediction, error) {
	scores, err := m.scorers()
	if err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	margins := margins{model: m, of: map[[2]int]scorer{}}
	predictions := make([]Prediction, x.Rows)
	err = kde.Each(m.features, x, func(i int, g []float32) {
		p := Prediction{Class: -1, RunnerUp: -1, Scores: make([]estimate.Value, len(scores))}
		for c, s := range scores {
			if m.weights[c] == nil {
				p.Scores[c] = estimate.Value{Mean: math.NaN()}
				continue
			}
			p.Scores[c] = s.At(g)
			switch v := p.Scores[c].Mean; {
			case p.Class < 0 || v > p.Scores[p.Class].Mean:
				p.Class, p.RunnerUp = c, p.Class
			case p.RunnerUp < 0 || v > p.Scores[p.RunnerUp].Mean:
				p.RunnerUp = c
			}
		}
		if p.RunnerUp >= 0 {
			p.Margin = margins.between(p.Class, p.RunnerUp).At(g)
		}
		predictions[i] = p
	})
	if err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	return predictions, nil
}

// margins keeps the differences that came up: few of the many pairs do.
type margins struct {
	model *Model
	mu    sync.Mutex
	of    map[[2]int]scorer
}

func (s *margins) between(a, b int) scorer {
	s.mu.Lock()
	defer s.mu.Unlock()
	pair := [2]int{a, b}
	if _, ok := s.of[pair]; !ok {
		difference, err := s.model.lead(s.model.weights[a], s.model.weights[b])
		if err != nil {
			panic("hdc: densities that make scores make no margin: " + err.Error())
		}
		s.of[pair] = difference
	}
	return s.of[pair]
}

// Evaluation is how well predictions meet the truth.
type Evaluation struct {
	Total     int     `json:"total"`
	Right     int     `json:"right"`
	Accuracy  float64 `json:"accuracy"`
	Low       float64 `json:"low"` // Wilson interval of the accuracy at Level
	High      float64 `json:"high"`
	Decided   float64 `json:"decided"`   // share of predictions whose margin is beyond its error
	Confusion [][]int `json:"confusion"` // Confusion[true][predicted]
}

// Evaluate classifies each row of x and compares with the classes y.
func (m *Model) Evaluate(x blas32.General, y []int) (Evaluation, error) {
	if x.Rows != len(y) || len(y) == 0 {
		return Evaluation{}, fmt.Errorf("hdc: %d rows to evaluate with %d labels", x.Rows, len(y))
	}
	predictions, err := m.Classify(x)
	if err != nil {
		return Evaluation{}, err
	}
	classes, decided := make([]int, len(y)), 0
	for i, p := range predictions {
		classes[i] = p.Class
		if p.Decided() {
			decided++
		}
	}
	e, err := Judge(classes, y, len(m.classes))
	e.Decided = float64(decided) / float64(len(y))
	return e, err
}

// Judge compares predictions, each one of k classes, with the classes y.
func Judge(predictions, y []int, k int) (Evaluation, error) {
	e := Evaluation{Total: len(y), Confusion: make([][]int, k)}
	for c := range e.Confusion {
		e.Confusion[c] = make([]int, k)
	}
	for i, class := range predictions {
		if y[i] < 0 || y[i] >= k {
			return Evaluation{}, fmt.Errorf("hdc: label of row %d is not one of the %d classes", i, k)
		}
		e.Confusion[y[i]][class]++
		if class == y[i] {
			e.Right++
		}
	}
	n := float64(e.Total)
	e.Accuracy = float64(e.Right) / n
	e.Low, e.High = wilson(e.Accuracy, n)
	return e, nil
}

// wilson returns the score interval of a proportion p among n: the q for which
// |p - q| <= z sqrt(q(1-q)/n).
func wilson(p, n float64) (lo, hi float64) {
	z := estimate.Quantile(Level)
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}
