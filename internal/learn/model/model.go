// Package model reads and writes the file of what was learned, and asks it: a linear model or a network, its
// features, its promise and its accuracy. Used by cmd/confetti/internal/predict, and by the lab, which trains.
package model

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/nn"
)

// Model is what was learned. It is safe for concurrent use.
type Model struct {
	Title    string
	Features inputs.Map
	Classes  []string // none: a number is predicted
	Linear   moments.Linear
	Net      *nn.Model // in the place of Linear: tells classes apart
	Number   *Number   // none: classes are told apart
	Promise  Promise
	Tested   *Tested // none: on nothing
}

// Number is how a prediction is written: Middle plus Unit times the score.
type Number struct {
	Name   string  `json:"name"`
	Middle float64 `json:"middle"`
	Unit   float64 `json:"unit"`
	// Deviation of the truth from the prediction, in the number's own unit.
	Deviation float64 `json:"deviation"`
}

// Promise is the guarantee of those who answered: Trust says against whom.
type Promise struct {
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Adjacency   string  `json:"adjacency"`
	Trust       string  `json:"trust"`  // who is trusted with what: see account.Trust
	Method      string  `json:"method"` // by which epsilon was computed
	Rounds      int     `json:"rounds"` // that a respondent answered
	Respondents int     `json:"respondents"`
}

// Tested is how good the model is on public records.
type Tested struct {
	Records int       `json:"records"`
	Measure string    `json:"measure"` // accuracy, r2 or auc
	Value   float64   `json:"value"`
	Low     float64   `json:"low,omitempty"` // of a 95 % interval, for accuracy
	High    float64   `json:"high,omitempty"`
	Wrong   []float64 `json:"wrong_by_class,omitempty"`
}

// Check says what is wrong with a model that was read.
func (m *Model) Check() error {
	if err := m.Features.Check(); err != nil {
		return err
	}
	outputs := len(m.Classes)
	switch {
	case m.Number != nil && outputs > 0:
		return errors.New("model: it predicts a number, or tells classes apart: one of them")
	case m.Number != nil:
		outputs = 1
		for _, x := range []float64{m.Number.Middle, m.Number.Unit, m.Number.Deviation} {
			if x-x != 0 {
				return errors.New("model: how a prediction is written is not finite")
			}
		}
	case outputs < 2:
		return fmt.Errorf("model: %d classes: at least 2 are told apart", outputs)
	}
	if m.Net != nil {
		return m.checkNet()
	}
	if m.Linear.Weights == nil {
		return errors.New("model: it has no weights")
	}
	if d, k := m.Linear.Weights.Dims(); d != m.Features.Len() || k != outputs || len(m.Linear.Offset) != k {
		return fmt.Errorf("model: weights of %d features for %d scores: there are %d features and %d scores", d, k, m.Features.Len(), outputs)
	}
	for _, part := range [][]float64{m.Linear.Weights.RawMatrix().Data, m.Linear.Offset} {
		for _, x := range part {
			if x-x != 0 {
				return errors.New("model: a weight is not finite")
			}
		}
	}
	return nil
}

// checkNet says what is wrong with a network.
func (m *Model) checkNet() error {
	if m.Number != nil || m.Linear.Weights != nil || len(m.Linear.Offset) > 0 {
		return errors.New("model: a network stands alone, without weights, and tells classes apart")
	}
	if !m.Net.Plain() {
		return errors.New("model: a network has dense layers and rectifiers alone")
	}
	if in, out := m.Net.Inputs(), m.Net.Outputs(); in != m.Features.Len() || out != len(m.Classes) {
		return fmt.Errorf("model: a network from %d features to %d scores: there are %d features and %d classes", in, out, m.Features.Len(), len(m.Classes))
	}
	return nil
}

// Prediction is of one input.
type Prediction struct {
	Class            string // of the largest score; "" where a number is predicted
	Scores           []float64
	Value, Low, High float64 // the number, with an interval of 95 %
}

// OfText predicts from a text.
func (m *Model) OfText(text string) (Prediction, error) {
	x, err := m.Features.OfText(text)
	if err != nil {
		return Prediction{}, err
	}
	return m.predict(x), nil
}

// OfNumbers predicts from an image or a row of numbers, as Features.OfNumbers takes them.
func (m *Model) OfNumbers(numbers []float32) (Prediction, error) {
	x, err := m.Features.OfNumbers(numbers)
	if err != nil {
		return Prediction{}, err
	}
	return m.predict(x), nil
}

func (m *Model) predict(x []float32) Prediction {
	if m.Number != nil {
		const within = 1.96
		value := m.Number.Middle + m.Number.Unit*m.Linear.Scores(x)[0]
		return Prediction{Value: value, Low: value - within*m.Number.Deviation, High: value + within*m.Number.Deviation}
	}
	scores, best := m.scores(x), 0
	for k, s := range scores {
		if s > scores[best] {
			best = k
		}
	}
	return Prediction{Class: m.Classes[best], Scores: scores}
}

// scores are of a vector of features, one for each class.
func (m *Model) scores(x []float32) []float64 {
	if m.Net == nil {
		return m.Linear.Scores(x)
	}
	out := make([]float64, len(m.Classes))
	for k, v := range nn.NewPass(m.Net).Forward(x, 1) {
		out[k] = float64(v)
	}
	return out
}
