// Package fitted fits a model to public records and to the shares of classes that a release of private records taught.
// Used by cmd/confetti/internal/learn.
package fitted

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/prob/confidence"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/table"
)

// Asked holds what a model is fitted to.
type Asked struct {
	Classes []string
	Shares  []float32 // how likely each class is for each public record, a row each
	Number  string    // classes are numbers, whose mean is predicted under this name; "": they are told apart
	Seed    uint64
	Linear  bool // scores are linear: of noisy columns a deeper network learns the noise
}

// linear trains a linear model, with the numbers of lab/ltn.
var linear = training.Training{Epochs: 30, Batch: 128, Rate: 0.01, Decay: 0.01, Loss: nn.CrossEntropy}

const (
	forNet = 1  // stream of the network's first weights and the order of examples
	epochs = 10 // few: a target of shares tells more than a single label
)

// Model fits a network that tells classes apart, or a line where they are numbers.
func (a Asked) Model(public *table.Records, report func(stage string, done, total int)) (*model.Model, error) {
	names := public.Columns
	for i := len(names); i < public.X.Cols; i++ { // of a matrix
		names = append(names, strconv.Itoa(i+1))
	}
	features := training.Standard(names, public.X)
	x := blas32.General{Rows: public.X.Rows, Cols: public.X.Cols, Stride: public.X.Cols, Data: make([]float32, 0, public.X.Rows*public.X.Cols)}
	for i := range public.X.Rows {
		x.Data = append(x.Data, public.X.Data[i*public.X.Stride:][:public.X.Cols]...)
	}
	features.Standardize(x)
	m := &model.Model{Features: *features, Classes: a.Classes}
	if a.Number != "" {
		return m, a.line(m, x)
	}
	scale, how := training.NewScale(x), training.Schedule(x.Rows, epochs, nn.CrossEntropy)
	if a.Linear {
		how = linear
	}
	net, err := training.Fit(seeded.New(a.Seed, forNet), scale.Examples(x), a.Shares, len(a.Classes), how, report)
	if err != nil {
		return nil, err
	}
	m.Net = net
	return m, scale.Into(net)
}

// State writes a network as devices fetch it. It takes the columns as they are, and cuts none off.
func State(m *model.Model) ([]byte, error) {
	raw := m.Net.Clone()
	h := raw.Layers[0].(nn.Dense).Out
	for j, column := range m.Features.Columns {
		for k := range h {
			w := &raw.Params[j*h+k]
			*w /= float32(column.Scale)
			raw.Params[len(m.Features.Columns)*h+k] -= *w * float32(column.Middle)
		}
	}
	return (&cluster.Encoder{Net: raw, Sizes: make([]int, len(m.Classes))}).Marshal()
}

// line fits the mean of classes that are numbers.
func (a Asked) line(m *model.Model, x blas32.General) error {
	k := len(a.Classes)
	values, means := make([]float64, k), make([]float64, x.Rows)
	for y, name := range a.Classes {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || v-v != 0 {
			return fmt.Errorf("class %d is no number, which --number asks for", y+1)
		}
		values[y] = v
	}
	for i := range means {
		for y, v := range values {
			means[i] += float64(a.Shares[i*k+y]) * v
		}
	}
	weights, offset, err := training.Line(x, means)
	if err != nil {
		return err
	}
	m.Classes, m.Linear = nil, moments.Linear{Weights: mat.NewDense(len(weights), 1, weights), Offset: []float64{offset}}
	squares := 0.0
	for i := range x.Rows {
		said := m.Linear.Scores(x.Data[i*x.Stride:][:x.Cols])[0]
		for y, v := range values {
			squares += float64(a.Shares[i*k+y]) * (v - said) * (v - said)
		}
	}
	m.Number = &model.Number{Name: a.Number, Unit: 1, Deviation: math.Sqrt(squares / float64(x.Rows))}
	return nil
}

// Predict returns what a model says of rows, whose columns may be in another order than the model's.
func Predict(m *model.Model, rows *table.Records) ([]model.Prediction, error) {
	places := make([]int, rows.X.Cols)
	for i := range places {
		places[i] = i
	}
	if len(rows.Columns) > 0 {
		var err error
		if places, err = m.Features.Places(rows.Columns); err != nil {
			return nil, err
		}
	}
	x, out := make([]float32, len(places)), make([]model.Prediction, rows.X.Rows)
	for i := range out {
		for k, at := range places {
			x[k] = rows.X.Data[i*rows.X.Stride+at]
		}
		var err error
		if out[i], err = m.OfNumbers(x); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return out, nil
}

// Test writes into a model how good it is on public records with classes. Errors name their file.
func Test(m *model.Model, name string, rows *table.Records) (err error) {
	index := map[string]int{}
	for y, class := range m.Classes {
		index[class] = y
	}
	var said, want []int
	mean, left, all := 0.0, 0.0, 0.0
	numbers := make([]float64, rows.X.Rows)
	for i, label := range rows.Labels {
		if m.Number != nil {
			if numbers[i], err = strconv.ParseFloat(label, 64); err != nil || numbers[i]-numbers[i] != 0 {
				return fmt.Errorf("%s: record %d has no number in the column of --label", name, i+1)
			}
			mean += numbers[i] / float64(rows.X.Rows)
		} else if _, known := index[label]; !known {
			return fmt.Errorf("%s: record %d has a class that the plan does not have", name, i+1)
		}
	}
	predicted, err := Predict(m, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, label := range rows.Labels {
		p := predicted[i]
		said, want = append(said, index[p.Class]), append(want, index[label])
		left, all = left+(numbers[i]-p.Value)*(numbers[i]-p.Value), all+(numbers[i]-mean)*(numbers[i]-mean)
	}
	if m.Number != nil {
		if all == 0 {
			return fmt.Errorf("%s: all records have one number in the column of --label: nothing is there to explain", name)
		}
		m.Tested = &model.Tested{Records: len(rows.Labels), Measure: "r2", Value: 1 - left/all}
		return nil
	}
	e, err := hdc.Judge(said, want, len(m.Classes))
	m.Tested = &model.Tested{Records: e.Total, Measure: "accuracy", Value: e.Accuracy, Low: e.Low, High: e.High}
	return err
}

// TestNovel writes into a model of two classes, of which the second is told from all others, how good it is on public
// records: both kinds count alike, however many there are.
func TestNovel(m *model.Model, name string, rows *table.Records) error {
	var right, all [2]int
	predicted, err := Predict(m, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, label := range rows.Labels {
		kind := 0
		if label == m.Classes[1] {
			kind = 1
		}
		all[kind]++
		if predicted[i].Class == m.Classes[kind] {
			right[kind]++
		}
	}
	if all[0] == 0 || all[1] == 0 {
		return fmt.Errorf("%s: %d records are of %s and %d of others: a test needs both", name, all[1], m.Classes[1], all[0])
	}
	m.Tested = &model.Tested{Records: len(rows.Labels), Measure: Balanced}
	for kind, n := range all {
		low, high := confidence.Interval(right[kind], n, 0.025) // both hold with 95 %
		m.Tested.Value += float64(right[kind]) / float64(n) / 2
		m.Tested.Low, m.Tested.High = m.Tested.Low+low/2, m.Tested.High+high/2
	}
	return nil
}

// Balanced names the measure of TestNovel.
const Balanced = "balanced accuracy"
