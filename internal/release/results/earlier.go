package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Known returns what tables tell of a metric and of what was known before, or of what it is divided by: what an experiment is
// planned from.
func (t Crosstabs) Known(m plan.Measure) (k power.Known, err error) {
	if m.Before != "" && m.Per != "" {
		return k, fmt.Errorf("%s has both what was before and what it is divided by: tables tell of two numbers together, so leave one out, or name a public table with --like", m.Name)
	}
	of, ranges, err := t.number(m.Name)
	if err != nil {
		return k, err
	}
	second := m.Before + m.Per
	if second == "" {
		held := t.Held(of)
		for i, v := range t.Column(of) {
			k.Rows = append(k.Rows, row(m, ranges[i], power.Range{}, v.Mean, held[i]))
		}
		k.Error = func(weights []float64) float64 { // as of a sum of any pair of the column's
			other, wide := 0, []float64(nil)
			if of == 0 {
				other = 1
			}
			for i := range weights {
				for range t.Values[other] {
					wide = append(wide, weights[i])
				}
			}
			return t.WeighedError(of, other, wide)
		}
		return k, nil
	}
	other, others, err := t.number(second)
	if err != nil {
		return k, err
	}
	if of == other {
		return k, fmt.Errorf("%s is compared with itself", m.Name)
	}
	a, b := min(of, other), max(of, other)
	guess := t.Guess(a, b).Table
	for i, n := range t.Table(a, b) {
		at := [2]int{i / len(t.Values[b]), i % len(t.Values[b])}
		if of > other {
			slices.Reverse(at[:])
		}
		k.Rows = append(k.Rows, row(m, ranges[at[0]], others[at[1]], n, guess[i]))
	}
	k.Error = func(weights []float64) float64 { return t.WeighedError(a, b, weights) }
	return k, nil
}

// row returns what is known of a cell.
func row(m plan.Measure, of, other power.Range, people, held float64) power.Row {
	r := power.Row{Of: of.At, Open: of.Open, People: people, Held: held}
	if m.Per != "" {
		r.Per = other.At
		return r
	}
	r.Before, r.Off = other.At, other.Off
	return r
}

// number returns a column of numbers: of ranges between cuts, or of values that are numbers.
func (t Crosstabs) number(name string) (column int, ranges []power.Range, err error) {
	column = slices.IndexFunc(t.Columns, func(c plan.Column) bool { return c.Name == name })
	if column < 0 {
		return 0, nil, fmt.Errorf("the earlier release has no column %q", name)
	}
	c := t.Columns[column]
	if len(c.Cuts) > 0 {
		return column, power.Ranges(c.Cuts), nil
	}
	for _, v := range c.Values {
		x, wrong := strconv.ParseFloat(v, 64)
		if wrong != nil || math.IsNaN(x) || math.IsInf(x, 0) || c.Others {
			return 0, nil, fmt.Errorf("column %q of the earlier release has words: a metric needs cuts, or values that are all numbers", name)
		}
		ranges = append(ranges, power.Range{At: x})
	}
	return column, ranges, nil
}

// NextLook returns what the next look of an experiment asks, of one that released this: the same of other people, to be added to
// what was released.
func NextLook(p plan.Plan, r *release.Release) (plan.Experiment, error) {
	if p.Question.Experiment == nil {
		return plan.Experiment{}, errors.New("results: only a release of an experiment has a next look")
	}
	e := *p.Question.Experiment
	if e.Look >= e.Looks {
		return e, fmt.Errorf("results: look %d was the last that was planned: more would find by chance what is not there", e.Look)
	}
	s, _, err := looked(e, r)
	if err != nil {
		return e, err
	}
	past := plan.Looked{}
	if e.Past != nil {
		past = *e.Past
	}
	evidence := 0.0
	if slices.Max(s.Steps) > 0 {
		evidence = farthest(e, s)
	}
	e.Past = &plan.Looked{
		Plans: append(slices.Clone(past.Plans), p.Name()), Sums: s.Of, Variance: s.Variance, Steps: s.Steps, Evidence: append(slices.Clone(past.Evidence), evidence),
	}
	e.Look++
	if e.Bits != nil {
		e.Bits = &plan.BitsSent{Answered: e.Bits.Answered}
	}
	e.Seed = ""
	return e, nil
}

// looked reads the sums of a look and of those before it, and how many people answered this one; 0 where it was withheld.
func looked(e plan.Experiment, r *release.Release) (s lift.Sums, people int, err error) {
	past := plan.Looked{Sums: make([]float64, lift.Numbers(e))}
	if e.Past != nil {
		past = *e.Past
	}
	s = lift.Sums{Of: past.Sums, Variance: past.Variance, Steps: past.Steps}
	counted, _ := metric(r, respondentsMetric)
	if counted.Value > 0 {
		sums, err := experimentSums(e, r)
		if err != nil {
			return s, 0, err
		}
		sums.Steps = slices.Concat(past.Steps, lift.Steps(e, sums, int(counted.Value), sums.Variance-past.Variance))
		return sums, int(counted.Value), nil
	}
	s.Steps = slices.Concat(past.Steps, lift.Steps(e, s, 0, 0))
	return s, 0, nil
}

// Looked reads a release of an experiment back: its sums, how many answered it, and why it shows no lift; "" where it does.
func Looked(e plan.Experiment, r release.Release) (s lift.Sums, people int, why string, err error) {
	s, people, err = looked(e, &r)
	if err != nil || people == 0 {
		return s, people, "", err
	}
	told := float64(people)
	if e.Past != nil {
		told = everybody(e, s)
	}
	switch {
	case told < lift.Fewest:
		why = fmt.Sprintf("no lift is told of fewer than %d people", lift.Fewest)
	case !shown(e, s, told):
		why = "people did not fall into the arms as planned, so no lift is told"
	}
	return s, people, why, nil
}

// experimentSums reads sums of all looks so far out of a release.
func experimentSums(e plan.Experiment, r *release.Release) (lift.Sums, error) {
	s := lift.Sums{}
	for _, section := range r.Sections {
		for _, m := range section.Metrics {
			if m.Name == "sum_variance" {
				s.Variance = m.Value
			}
		}
		for _, t := range section.Tables {
			if t.Name != "sums" {
				continue
			}
			for _, row := range t.Rows {
				for _, cell := range row[min(2, len(row)):] {
					if cell.Value != nil {
						s.Of = append(s.Of, *cell.Value)
					}
				}
			}
		}
	}
	if len(s.Of) != lift.Numbers(e) || !(s.Variance > 0) {
		return s, fmt.Errorf("results: the release has %d sums, and its plan %d: fetch it again", len(s.Of), lift.Numbers(e))
	}
	return s, nil
}
