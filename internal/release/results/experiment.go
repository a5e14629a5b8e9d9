package results

import (
	"bytes"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/release"
)

// What widens an interval of a lift, one after the other.
var reasons = []string{"who was drawn", "and the noise that protects", "and what was cut off"}

// describeExperiment states what each arm has, and by how much more of a metric that is than what the first has.
func describeExperiment(m *experiment.Model, public Public) ([]release.Metric, []release.Section, error) {
	e := m.Asked
	if e.Past != nil {
		public.Truth = nil // which is that of this look's people alone
	}
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(m.Respondents)}}
	people := float64(m.Respondents)
	if e.Past != nil {
		people = everybody(e, m.Sums)
	}
	if people == 0 {
		return headline, nil, nil
	}
	arms := release.Section{Name: "arms", Metrics: []release.Metric{{Name: "uneven", Value: lift.Uneven(e, m.Sums)}, {Name: "sum_variance", Value: m.Sums.Variance}}}
	if m.Answers > 0 {
		arms.Metrics = append(arms.Metrics, release.Metric{Name: "answers", Value: m.Answers})
	}
	means, sums := release.Table{Name: "means"}, release.Table{Name: "sums"}
	for arm, name := range e.Arms {
		for i, metric := range e.Metrics {
			own, n, noise := lift.MeanOf(e, m.Sums, arm, i), 0.0, 0.0
			if n, noise = lift.People(e, m.Sums, arm); i > 0 {
				n, noise = own.People, math.Sqrt(2*m.Sums.Variance)
			}
			row := []release.Cell{release.Named(name), release.Named(metric.Name), release.Number(n, noise), release.Number(own.Mean+metric.Taken, math.Hypot(math.Sqrt(own.Variance()), metric.TakenError))}
			if public.Truth != nil {
				row = append(row, release.Number(public.Truth.Arms[arm][i], 0))
			}
			means.Rows = append(means.Rows, row)
			of := m.Sums.Of[lift.At(e, arm, i):][:lift.Each]
			sums.Rows = append(sums.Rows, []release.Cell{release.Named(name), release.Named(metric.Name), release.Number(of[0], 0), release.Number(of[1], 0), release.Number(of[2], 0)})
		}
	}
	arms.Tables = []release.Table{means, sums}
	if !shown(e, m.Sums, people) {
		return headline, []release.Section{arms}, nil
	}
	lifts := release.Section{Name: "lifts", Metrics: []release.Metric{{Name: "line", Value: lift.Z(e, m.Sums)}}}
	table := release.Table{Name: "lifts"}
	for i, metric := range e.Metrics {
		for arm := 1; arm < len(e.Arms); arm++ {
			l := lift.Of(e, m.Sums, arm, i)
			row := []release.Cell{release.Named(e.Arms[arm]), release.Named(metric.Name), release.Number(l.Relative.Best, 0), release.Interval(l.Relative.Whole[0], l.Relative.Whole[1]),
				release.Interval(l.Whole[0], l.Whole[1]), release.Number(l.Evidence, 0)}
			if math.IsNaN(l.Relative.Best) {
				row[2], row[3] = release.Cell{}, release.Cell{}
			}
			if public.Truth != nil {
				row = append(row, release.Number(public.Truth.Arms[arm][i]/public.Truth.Arms[0][i]-1, 0))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	lifts.Tables = []release.Table{table}
	if f := liftFigure(m, public.Truth); !slices.ContainsFunc(f.Series[0].Y, math.IsNaN) {
		lifts.Figures = append(lifts.Figures, f)
	}
	if e.Looks > 1 {
		lifts.Figures = append(lifts.Figures, looksFigure(m))
	}
	return headline, []release.Section{lifts, arms}, nil
}

// everybody returns how many people the arms have together.
func everybody(e plan.Experiment, s lift.Sums) (people float64) {
	for arm := range e.Arms {
		n, _ := lift.People(e, s, arm)
		people += n
	}
	return people
}

// shown says whether lifts stand in a release: of enough people, who fell into the arms as planned.
func shown(e plan.Experiment, s lift.Sums, people float64) bool {
	return people >= lift.Fewest && lift.Uneven(e, s) <= lift.TooUneven
}

// liftFigure draws the deciding metric: of two arms its interval reason by reason, of more those of all.
func liftFigure(m *experiment.Model, truth *Truth) release.Figure {
	e, f, s := m.Asked, release.Figure{Name: "lift"}, release.Series{}
	add := func(name string, l lift.Lift, ends [2]float64) {
		f.Categories = append(f.Categories, name)
		s.Y, s.Low, s.High = append(s.Y, 100*l.Relative.Best), append(s.Low, 100*min(ends[0], l.Relative.Best)), append(s.High, 100*max(ends[1], l.Relative.Best))
		if truth != nil {
			s.Truth = append(s.Truth, 100*(truth.Arms[l.Arm][0]/truth.Arms[0][0]-1))
		}
	}
	if len(e.Arms) == 2 {
		l := lift.Of(e, m.Sums, 1, 0)
		for i, ends := range [][2]float64{l.Relative.Drawn, l.Relative.Noised, l.Relative.Whole} {
			add(reasons[i], l, ends)
		}
	} else {
		for arm := 1; arm < len(e.Arms); arm++ {
			l := lift.Of(e, m.Sums, arm, 0)
			add(e.Arms[arm], l, l.Relative.Whole)
		}
	}
	f.Series = []release.Series{s}
	return f
}

// looksFigure draws how far the deciding metric is from zero at each look, beside the line for stopping.
func looksFigure(m *experiment.Model) release.Figure {
	e := m.Asked
	line, evidence := release.Series{}, release.Series{}
	for k, z := range lift.Lines(e, m.Sums.Steps) {
		line.X, line.Y = append(line.X, float64(k+1)), append(line.Y, z)
	}
	for k := range e.Look {
		x := 0.0
		if k == e.Look-1 {
			x = farthest(e, m.Sums)
		} else {
			x = e.Past.Evidence[k]
		}
		evidence.X, evidence.Y = append(evidence.X, float64(k+1)), append(evidence.Y, math.Abs(x))
	}
	return release.Figure{Name: "looks", Series: []release.Series{line, evidence}}
}

// farthest returns the evidence of the deciding metric that is farthest from zero, of all arms.
func farthest(e plan.Experiment, s lift.Sums) (far float64) {
	for arm := 1; arm < len(e.Arms); arm++ {
		if x := lift.Of(e, s, arm, 0).Evidence; math.Abs(x) > math.Abs(far) {
			far = x
		}
	}
	return far
}

// experimentSheet lists how many people each arm has, by each metric.
func experimentSheet(m *experiment.Model) (Sheet, error) {
	var all []sheets.ValueCount
	for arm, name := range m.Asked.Arms {
		for i, metric := range m.Asked.Metrics {
			n, noise := lift.MeanOf(m.Asked, m.Sums, arm, i).People, math.Sqrt(2*m.Sums.Variance)
			all = append(all, sheets.ValueCount{Attribute: metric.Name, Value: name, Estimate: n, StdErr: noise, Consistent: max(0, n), Low: n - noiseAt*noise, High: n + noiseAt*noise})
		}
	}
	var text bytes.Buffer
	err := sheets.WriteCounts(&text, all)
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, err
}

// noiseAt is how many deviations an interval of a number of people has on either side.
const noiseAt = 1.96
