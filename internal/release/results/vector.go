package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/prob/confidence"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// Linear is the classifier that sums of vectors teach.
type Linear struct {
	moments.Linear
	Classes []string

	state   *vector.State
	descent *moments.Descent // where it goes on from, if it does
}

// NewLinear learns from the sums of a round. It is an error where they were withheld, or hold
// no classes. Public are rows such as respondents hold, of nobody who was asked; there may be none.
// From them sums of classes are known to differ little along some directions (moments.Shrunk).
func NewLinear(m *vector.Model, public blas32.General) (*Linear, error) {
	if m.Respondents == 0 {
		return nil, errors.New("results: nothing is known of a round that was withheld")
	}
	l := &Linear{Classes: m.Asked.Classes, state: m.State}
	switch m.Sums {
	case plan.SumsClasses:
		var err error
		l.Linear, err = moments.ClassSums(m.Shape(), moments.Shrunk(m.Sum, m.Error, l.features(public)))
		return l, err
	case plan.SumsMoments:
		sums, err := m.Shape().Decode(m.Sum, m.Error)
		if err != nil {
			return nil, err
		}
		if l.Linear, err = moments.Ridge(sums, m.Respondents); err != nil {
			return nil, err
		}
		l.descent, err = moments.NewDescent(sums, m.Respondents)
		return l, err
	case plan.SumsGradients:
		if m.State == nil || m.State.Point == nil {
			return nil, errors.New("results: gradients without the state that says where they were taken")
		}
		l.descent = &moments.Descent{Point: *m.State.Point, Passed: m.State.Passed}
		if err := l.descent.Step(m.Sum, m.Respondents); err != nil {
			return nil, err
		}
		l.Linear = l.descent.Classifier()
		return l, nil
	}
	return nil, fmt.Errorf("results: sums of %s tell no classes apart", m.Sums)
}

// features are rows in the features that a respondent's vector is made of.
func (l *Linear) features(given blas32.General) blas32.General {
	x := blas32.General{Rows: given.Rows, Data: make([]float32, 0, given.Rows*given.Cols)}
	for i := range given.Rows {
		psi := l.state.Features(rowOf(given, i))
		x.Cols, x.Stride = len(psi), len(psi)
		x.Data = append(x.Data, psi...)
	}
	return x
}

// Class returns that of what a respondent would hold.
func (l *Linear) Class(given []float32) int { return l.Linear.Class(l.taken(given)) }

// scores are of every class.
func (l *Linear) scores(given []float32) []float64 { return l.Linear.Scores(l.taken(given)) }

// taken returns the features that the classifier takes.
func (l *Linear) taken(given []float32) []float32 {
	psi := l.state.Features(given)
	if l.descent == nil || l.state == nil || l.state.Point == nil {
		return psi
	}
	phi := make([]float32, len(psi))
	l.descent.Features(psi, phi)
	return phi
}

// next returns the state that the next round asks with: the gradient where the sums have led; nil
// where they lead nowhere.
func (l *Linear) next() []byte {
	if l.descent == nil {
		return nil
	}
	s := vector.State{Point: &l.descent.Point, Passed: l.descent.Passed}
	if l.state != nil {
		s.Inputs, s.Map = l.state.Inputs, l.state.Map
	}
	return s.Marshal()
}

// Wrong returns the share of each class's public records that is taken for another.
func (l *Linear) Wrong(test Records) ([]float64, error) {
	e, err := l.judge(test)
	if err != nil {
		return nil, err
	}
	wrong := make([]float64, len(l.Classes))
	for k := range wrong {
		records, right := classified(e, k)
		wrong[k] = 1 - float64(right)/float64(max(1, records))
		if records == 0 {
			wrong[k] = 0
		}
	}
	return wrong, nil
}

// judge evaluates the classifier on public records.
func (l *Linear) judge(test Records) (hdc.Evaluation, error) {
	predictions := make([]int, len(test.Y))
	for i := range predictions {
		predictions[i] = l.Class(rowOf(test.X, i))
	}
	return hdc.Judge(predictions, test.Y, len(l.Classes))
}

func rowOf(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }

// describeVector states the classifier on public test records, and the error of the sums.
func describeVector(m *vector.Model, public Public) ([]release.Metric, []release.Section, error) {
	respondents := release.Metric{Name: respondentsMetric, Value: float64(m.Respondents)}
	if m.Respondents == 0 {
		return []release.Metric{respondents}, nil, nil
	}
	noise := release.Metric{Name: "sum_error", Value: m.Error}
	sums := release.Section{Name: "sums", Metrics: []release.Metric{noise}}
	if m.Answers > 0 {
		sums.Metrics = append(sums.Metrics, release.Metric{Name: "bits_error", Value: m.Bits}, release.Metric{Name: "answers", Value: m.Answers})
	}
	if t := public.Truth; t != nil && len(t.Sum) == len(m.Sum) {
		sums.Metrics = append(sums.Metrics, release.Metric{Name: "error_ratio", Value: rootMeanSquare(m.Sum, t.Sum) / m.Error})
	}
	if m.Sums == plan.SumsFeatures || public.Test.X.Rows == 0 {
		return []release.Metric{respondents, noise}, []release.Section{sums}, nil
	}
	if m.Sums == plan.SumsSquares {
		head, sections, err := describeRegression(m, public.Test)
		return append(head, respondents), append(sections, sums), err
	}
	l, err := NewLinear(m, public.Test.X)
	if err != nil {
		return nil, nil, err
	}
	e, err := l.judge(public.Test)
	if err != nil {
		return nil, nil, err
	}
	answer := accuracy("accuracy", e)
	answer.Low, answer.High = confidence.Interval(e.Right, e.Total, 1-hdc.Level)
	section := release.Section{Name: "classification", Tables: []release.Table{byClass(m.Asked.Classes, e), confusion(m.Asked.Classes, e)}}
	metrics, tables := l.calibration(m.Sums, public.Test)
	section.Metrics, section.Tables = metrics, append(section.Tables, tables...)
	headline := []release.Metric{answer, respondents}
	if t := public.Truth; t != nil && len(t.Sum) == len(m.Sum) {
		exact, err := Accuracy(m, t.Sum, 0, public.Test)
		if err != nil {
			return nil, nil, err
		}
		headline = append(headline, release.Metric{Name: "accuracy_no_privacy", Value: exact})
	}
	return headline, []release.Section{section, sums}, nil
}

// Accuracy returns that on public records of what another sum, with another error, would have taught in
// the place of a round's.
func Accuracy(m *vector.Model, sum []float64, deviation float64, test Records) (float64, error) {
	other := *m
	other.Sum, other.Error = sum, deviation
	l, err := NewLinear(&other, test.X)
	if err != nil {
		return 0, err
	}
	e, err := l.judge(test)
	return float64(e.Right) / float64(max(1, e.Total)), err
}

func rootMeanSquare(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += (x - b[i]) * (x - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// sumSheet lists the coordinates of the sum.
func sumSheet(m *vector.Model) (Sheet, error) {
	s := Sheet{File: sheets.SumsFile}
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"coordinate", "estimate", "std_err"}) // Error tells, as of the rest
	for i, x := range m.Sum[:min(len(m.Sum), MaxRows)] {
		c.Write([]string{strconv.Itoa(i + 1), strconv.FormatFloat(x, 'g', -1, 64), strconv.FormatFloat(m.Error, 'g', -1, 64)})
	}
	if len(m.Sum) > MaxRows {
		s.Note = fmt.Sprintf("%s has the first %d of %d coordinates.", s.File, MaxRows, len(m.Sum))
	}
	c.Flush()
	s.Text = text.Bytes()
	return s, c.Error()
}
