package results

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// Regression is what sums of squares teach: a number by features, or how likely the second of
// two classes is, for ranking.
type Regression struct {
	moments.Regression // of a target in [-1, 1]
	Number             *plan.Number
	Classes            []string

	state *vector.State
}

// NewRegression learns from the sums of a round. It is an error where they were withheld, or
// are not of squares.
func NewRegression(m *vector.Model) (*Regression, error) {
	if m.Respondents == 0 {
		return nil, errors.New("results: nothing is known of a round that was withheld")
	}
	if m.Sums != plan.SumsSquares {
		return nil, fmt.Errorf("results: sums of %s teach no number", m.Sums)
	}
	sums, err := features.Squares{Dimension: m.Asked.Features}.Decode(m.Sum, m.Error)
	if err != nil {
		return nil, err
	}
	r := &Regression{Number: m.Asked.Number, Classes: m.Asked.Classes, state: m.State}
	r.Regression, err = moments.Least(sums, m.Respondents)
	return r, err
}

// scale returns what a target of zero and of one are, in the number's unit: (0, 1) of classes.
func (r *Regression) scale() (middle, unit float64) {
	if n := r.Number; n != nil {
		return n.Low + (n.High-n.Low)/2, (n.High - n.Low) / 2
	}
	return 0, 1
}

// Value returns the prediction for what a respondent would hold, in the number's unit.
func (r *Regression) Value(given []float32) float64 {
	middle, unit := r.scale()
	if r.state != nil && (r.state.Map != nil || r.state.Inputs != nil) {
		given = r.state.Features(given)
	}
	return middle + unit*r.Regression.Value(given)
}

// describeRegression states how well it predicts public test records.
func describeRegression(m *vector.Model, test Records) ([]release.Metric, []release.Section, error) {
	r, err := NewRegression(m)
	if err != nil {
		return nil, nil, err
	}
	predicted := make([]float64, test.X.Rows)
	for i := range predicted {
		predicted[i] = r.Value(rowOf(test.X, i))
	}
	section := release.Section{Name: "regression"}
	if r.Number == nil {
		second := make([]bool, len(predicted))
		for i, y := range test.Y {
			second[i] = y == 1
		}
		answer := release.Metric{Name: "auc", Value: moments.Ranked(predicted, second), Records: len(predicted)}
		return []release.Metric{answer}, []release.Section{section}, nil
	}
	_, unit := r.scale()
	deviation := unit * r.Deviation
	fit := moments.Judge(predicted, test.Number, deviation)
	section.Metrics = []release.Metric{{Name: "deviation", Value: deviation}, {Name: "interval_coverage", Value: fit.Coverage, Records: len(predicted)}}
	return []release.Metric{{Name: "r2", Value: fit.Explained, Records: len(predicted)}}, []release.Section{section}, nil
}
