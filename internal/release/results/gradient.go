package results

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/gradient"
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
		headline = append(headline, accuracy("accuracy", "Accuracy", e, fmt.Sprintf("on %d public test records, after this round", len(public.Test.Y))))
		sections = append(sections, release.Section{
			Title: "How well it classifies", Text: "A record is given to the class that the model finds likeliest.", Tables: []release.Table{confusion(m.Classes, e)},
		})
	}
	turns := m.State.Turns
	last := turns[len(turns)-1]
	headline = append(headline,
		release.Metric{Name: "round", Label: "Rounds so far", Value: float64(len(turns)), Unit: release.Count},
		release.Metric{Name: "respondents", Label: "Respondents counted", Value: float64(last.Respondents), Unit: release.Count, Note: "in this round"},
		release.Metric{Name: "mean_gradient", Label: "Length of the mean gradient", Value: last.Length, Note: fmt.Sprintf("its noise alone is %.3g long", last.Noise*math.Sqrt(float64(len(m.State.Model.Params))))})
	state, err := m.State.MarshalBinary()
	if err != nil {
		return nil, nil, err
	}
	return headline, append(sections, turned(m, len(m.State.Model.Params)), release.Section{
		Title: "The model",
		Text: fmt.Sprintf("It learns %d numbers. With the steps so far it is the public state %s, which the analyzer gives to whoever asks.",
			len(m.State.Model.Params), plan.StateName(state)),
	}), nil
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
	s := release.Section{
		Title: "How it learned",
		Text: "In each round devices tell how their examples would change the model, and the model takes a step of the mean. The figure has the length of the estimated mean, " +
			"and that of its noise alone, of whose direction nothing is learned.",
	}
	t := release.Table{Title: "Rounds", Columns: []release.Column{{Label: "round"}, {Label: "respondents", Unit: release.Count}, {Label: "length of the mean gradient"}, {Label: "of noise alone"}, {Label: "step"}}}
	var rounds, lengths, noises []float64
	for i, turn := range m.State.Turns {
		noise, step := turn.Noise*math.Sqrt(float64(dim)), "taken"
		if turn.Refused {
			step = "not taken: it led beyond the plan's bound"
		}
		rounds, lengths, noises = append(rounds, float64(i+1)), append(lengths, turn.Length), append(noises, noise)
		t.Rows = append(t.Rows, []release.Cell{release.Number(float64(i+1), 0), release.Number(float64(turn.Respondents), 0), release.Number(turn.Length, turn.Noise), release.Number(noise, 0), release.Text(step)})
	}
	s.Tables = []release.Table{t}
	if len(rounds) > 1 {
		s.Figures = []release.Figure{{
			Name: "learning-curve", Kind: release.Lines, Title: "Length of the mean gradient by round",
			Alt: "For each round the length of the estimated mean gradient, and that of its noise alone.",
			X:   release.Axis{Label: "round"}, Y: release.Axis{Label: "length"},
			Series: []release.Series{{Label: "estimated mean gradient", X: rounds, Y: lengths}, {Label: "noise alone", X: rounds, Y: noises}},
		}}
	}
	return s
}
