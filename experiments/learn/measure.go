package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/vector"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/model"
	"github.com/confetti-dp/confetti/simulate"
)

// Run measures a setting on data sets of a folder: what is learned from every bit drawn,
// from a curator's noise on the same sums, and from exact sums.
//
// The model is what was learned from the bits; nil where no file holds its features.
func Run(s Setting, dir string, tell simulate.Progress) (Result, *model.Model, error) {
	started := time.Now()
	s, err := s.Complete()
	if err != nil {
		return Result{}, nil, err
	}
	tell("features", 0, 1)
	t, err := load(s, dir, fit.Progress(tell))
	if err != nil {
		return Result{}, nil, err
	}
	m, err := newMeasurement(t, s, tell)
	if err != nil {
		return Result{}, nil, err
	}
	out, err := m.result()
	if err != nil {
		return Result{}, nil, err
	}
	drawn, l, err := m.learn(m.draw)
	if err != nil {
		return Result{}, nil, err
	}
	learned := m.model(l, out, drawn)
	central, _, err := m.learn(m.central)
	if err != nil {
		return Result{}, nil, err
	}
	exact, _, err := m.learn(m.exact)
	if err != nil {
		return Result{}, nil, err
	}
	out.NoiseRatio = m.ratio()
	out.scores(t.metric, drawn, exact, central)
	out.Seconds = time.Since(started).Seconds()
	return out, learned, nil
}

// measurement is a setting with its rounds designed.
type measurement struct {
	Setting
	task    *task
	specs   []vector.Spec
	shares  []float64
	cohorts [][]int // of respondents, by round
	shift   float64 // of a curator's Gaussian
	tell    simulate.Progress
	first   []float64 // the exact sum of the first round, which is the same for all
	errors  []drawnError
}

// drawnError is the root mean square error of a round's sum, and what was predicted.
type drawnError struct{ measured, predicted float64 }

func newMeasurement(t *task, s Setting, tell simulate.Progress) (*measurement, error) {
	l, err := newLearner(t, s)
	if err != nil {
		return nil, err
	}
	box, err := account.NewBox(s.Epsilon, s.Delta, 1e-9)
	if err != nil {
		return nil, err
	}
	m := &measurement{Setting: s, task: t, shift: box.Shift, tell: tell, cohorts: l.cohorts(t, s)}
	needs, shares := l.needs(t, s, m.cohorts)
	m.shares = shares
	tell("noise", 0, 1)
	if s.Takes == TakesAll {
		m.specs, err = vector.Rounds(needs, shares, s.Epsilon, s.Delta)
		return m, err
	}
	for _, n := range needs {
		spec, err := n.Design(s.Epsilon, s.Delta)
		if err != nil {
			return nil, err
		}
		m.specs = append(m.specs, spec)
	}
	return m, nil
}

// cohorts are who answers which round: everybody, or each one round.
func (l *learner) cohorts(t *task, s Setting) [][]int {
	order := replay.New(s.Seed, 6).Perm(t.train.x.Rows)
	cohorts := make([][]int, len(l.rounds))
	from, until := 0, 0.0
	for i, r := range l.rounds {
		cohorts[i] = order
		if s.Takes == TakesOne {
			until += r.share
			to := min(len(order), int(math.Round(until*float64(len(order)))))
			cohorts[i], from = order[from:to], to
		}
	}
	return cohorts
}

// result is what is promised, and costs, before anything is drawn.
func (m *measurement) result() (Result, error) {
	r := Result{Setting: m.Setting, Respondents: m.task.train.x.Rows, Adjacency: string(account.Replacement), Dimension: m.task.train.x.Cols}
	epsilon := func(specs []vector.Spec, n int) error {
		var all account.All
		for _, s := range specs {
			all.Events = append(all.Events, s.Event(n))
		}
		g, err := account.Epsilon(all, m.Delta)
		r.Epsilon, r.Method = math.Max(r.Epsilon, g.Epsilon), g.Method
		return err
	}
	if m.Takes == TakesAll {
		for _, s := range m.specs {
			r.EnvelopesPerDevice += s.Envelopes
			r.BitsPerDevice += s.Answered
		}
		return r, epsilon(m.specs, r.Respondents)
	}
	for i, s := range m.specs {
		r.EnvelopesPerDevice, r.BitsPerDevice = max(r.EnvelopesPerDevice, s.Envelopes), max(r.BitsPerDevice, s.Answered)
		if err := epsilon(m.specs[i:i+1], len(m.cohorts[i])); err != nil {
			return r, err
		}
	}
	return r, nil
}

// learn goes through the rounds, each of which gives a sum in some way.
func (m *measurement) learn(collect func(l *learner, round int, exact []float64) (vector.Sum, error)) (score, *learner, error) {
	l, err := newLearner(m.task, m.Setting)
	if err != nil {
		return score{}, nil, err
	}
	for i := range m.specs {
		exact := m.first
		if i > 0 || exact == nil {
			exact = m.sum(l, i)
		}
		if i == 0 {
			m.first = exact
		}
		sum, err := collect(l, i, exact)
		if err == nil {
			err = l.learn(sum, len(m.cohorts[i]))
		}
		if err != nil {
			return score{}, nil, fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return l.score(), l, nil
}

// model is what a learner has learned, as a file has it.
func (m *measurement) model(l *learner, r Result, s score) *model.Model {
	t := m.task
	if t.features == nil {
		return nil
	}
	linear, another := l.linear()
	out := &model.Model{Title: "Learned from " + m.Dataset, Features: *t.features, Classes: t.classes, Linear: linear,
		Promise: model.Promise{Epsilon: r.Epsilon, Delta: m.Delta, Adjacency: r.Adjacency, Respondents: r.Respondents},
		Tested:  &model.Tested{Records: t.test.x.Rows, Measure: string(t.metric), Value: s.value, Wrong: s.wrong}}
	if t.metric == accuracy {
		out.Tested.Low, out.Tested.High = s.interval()
	} else {
		out.Number = &t.number
	}
	if another != nil {
		out.Features.Maps = append(slices.Clone(out.Features.Maps), another)
	}
	return out
}

// sum adds up what the respondents of a round say.
func (m *measurement) sum(l *learner, round int) []float64 {
	length, cohort, train := m.specs[round].Dimension, m.cohorts[round], l.train()
	type own struct {
		v   []float32
		sum []float64
	}
	all := each(len(cohort), func() own { return own{make([]float32, length), make([]float64, length)} }, func(o own, i int) {
		l.encode(train, cohort[i], o.v)
		for k, x := range o.v {
			o.sum[k] += float64(x)
		}
	})
	sum := all[0].sum
	for _, o := range all[1:] {
		for k, x := range o.sum {
			sum[k] += x
		}
	}
	return sum
}

func (m *measurement) exact(_ *learner, _ int, exact []float64) (vector.Sum, error) {
	return vector.Sum{Vector: exact}, nil
}

// central is what a curator would add who is trusted with everything.
func (m *measurement) central(_ *learner, round int, exact []float64) (vector.Sum, error) {
	shift := m.shift
	if m.Takes == TakesAll {
		shift *= math.Sqrt(m.shares[round])
	}
	sum := vector.Sum{Vector: make([]float64, len(exact)), Error: math.Sqrt(m.specs[round].SquaredDistance) / shift}
	r := replay.New(m.Seed, 7, uint64(round))
	for k, x := range exact {
		sum.Vector[k] = x + sum.Error*r.NormFloat64()
	}
	return sum, nil
}

// draw draws every bit of every respondent.
func (m *measurement) draw(l *learner, round int, exact []float64) (vector.Sum, error) {
	mechanism, err := vector.New(m.specs[round])
	if err != nil {
		return vector.Sum{}, err
	}
	cohort, train := m.cohorts[round], l.train()
	counts := mechanism.DrawAll(len(cohort), func(i int, v []float32) { l.encode(train, cohort[i], v) },
		func(part int) *rand.Rand { return replay.New(m.Seed, 8, uint64(round), uint64(part)) },
		func(done int) { m.tell(fmt.Sprintf("round %d", round+1), done, len(cohort)) })
	sum, err := mechanism.Estimate(counts, len(cohort))
	if err != nil {
		return sum, err
	}
	squares := 0.0
	for k, x := range sum.Vector {
		squares += (x - exact[k]) * (x - exact[k]) / float64(len(exact))
	}
	overlap := l.overlap(train.pick(cohort[:min(alike, len(cohort))]), len(exact)) // which only a simulation knows
	m.errors = append(m.errors, drawnError{math.Sqrt(squares), predicted(m.specs[round], len(cohort), overlap)})
	return sum, nil
}

// predicted is the formula of docs/learning.md with its clip term, for vectors of norm one. It
// takes answers as a sample of respondents; where every row is answered, how respondents
// differ causes no error, and the same part of their variance is left out.
func predicted(s vector.Spec, n int, o vector.Overlap) float64 {
	spread := 1 - 2*s.Clip*math.Exp(-s.Clip*s.Clip/2)/math.Sqrt(2*math.Pi) + (s.Clip*s.Clip-1)*math.Erfc(s.Clip/math.Sqrt2) // E min(z^2, R^2)
	all := float64(n) / float64(s.Rows) * spread / (s.Gain() * s.Gain())
	clipping := s.Clipping(n, o)
	return math.Sqrt(s.Noise(n)*s.Noise(n) + clipping*clipping - all)
}

// ratio of the errors measured and predicted, in the root mean square over rounds.
func (m *measurement) ratio() float64 {
	sum := 0.0
	for _, e := range m.errors {
		sum += e.measured * e.measured / (e.predicted * e.predicted) / float64(len(m.errors))
	}
	return math.Sqrt(sum)
}
