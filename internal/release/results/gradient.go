package results

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// describeGradient states how well the model classifies, where there are public test
// records, and how it has been learned so far.
func describeGradient(m *gradient.Model, public Public) ([]release.Metric, []release.Section, error) {
	var headline []release.Metric
	var sections []release.Section
	if len(public.Test.Y) > 0 {
		e, err := judge(m, public.Test)
		if err != nil {
			return nil, nil, err
		}
		headline = append(headline, accuracy("accuracy", e))
		sections = append(sections, release.Section{Name: "classification", Tables: []release.Table{confusion(m.Classes, e)}})
	}
	turns := m.State.Turns
	last := turns[len(turns)-1]
	headline = append(headline,
		release.Metric{Name: "round", Value: float64(len(turns))},
		release.Metric{Name: respondentsMetric, Value: float64(last.Respondents)},
		release.Metric{Name: "mean_gradient", Value: last.Length},
		release.Metric{Name: "noise_gradient", Value: last.Noise * math.Sqrt(float64(len(m.State.Model.Params)))})
	state, err := m.State.MarshalBinary()
	if err != nil {
		return nil, nil, err
	}
	return headline, append(sections, turned(m, len(m.State.Model.Params)), release.Section{Name: "model", Key: plan.StateName(state)}), nil
}

// judge evaluates the model on public records.
func judge(m *gradient.Model, test Records) (hdc.Evaluation, error) {
	net := m.Network()
	if test.X.Cols != net.Inputs() || test.X.Rows != len(test.Y) {
		return hdc.Evaluation{}, fmt.Errorf("results: %d test records of %d numbers with %d classes, and the model takes %d numbers", test.X.Rows, test.X.Cols, len(test.Y), net.Inputs())
	}
	return hdc.Judge(nn.Classify(net, func(i int) []float32 { return test.X.Data[i*test.X.Stride:][:test.X.Cols] }, test.X.Rows), test.Y, len(m.Classes))
}

// turned returns how the rounds went: the mean gradients that were estimated, beside what noise
// alone would give.
func turned(m *gradient.Model, dim int) release.Section {
	s, t := release.Section{Name: "rounds"}, release.Table{Name: "rounds"}
	var rounds, lengths, noises []float64
	for i, turn := range m.State.Turns {
		noise, step := turn.Noise*math.Sqrt(float64(dim)), release.Cell{}
		if turn.Refused {
			step = release.Named(stepRefused)
		}
		rounds, lengths, noises = append(rounds, float64(i+1)), append(lengths, turn.Length), append(noises, noise)
		t.Rows = append(t.Rows, []release.Cell{release.Number(float64(i+1), 0), release.Number(float64(turn.Respondents), 0), release.Number(turn.Length, turn.Noise), release.Number(noise, 0), step})
	}
	s.Tables = []release.Table{t}
	if len(rounds) > 1 {
		s.Figures = []release.Figure{{Name: "learning-curve", Series: []release.Series{{X: rounds, Y: lengths}, {X: rounds, Y: noises}}}}
	}
	return s
}
