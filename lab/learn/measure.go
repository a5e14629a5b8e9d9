package learn

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	rows "github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Run measures a setting on data sets of a folder: what is learned from every bit drawn,
// from a curator's noise on the same sums, and from exact sums. The model is what was learned
// from the bits; nil where no file holds its features.
func Run(s Setting, dir string, tell simulate.Progress) (Result, *model.Model, error) {
	started := time.Now()
	s, err := s.Complete()
	if err != nil {
		return Result{}, nil, err
	}
	tell("features", 0, 1)
	t, err := load(s, dir, featuremap.Progress(tell))
	if err != nil {
		return Result{}, nil, err
	}
	m, err := newMeasurement(t, s, tell)
	if err != nil {
		return Result{}, nil, err
	}
	drawn, learned, err := m.drawn()
	if err != nil {
		return Result{}, nil, err
	}
	var baselines [2]score
	for i, way := range []way{m.central, m.exact} {
		l, err := m.learn(way)
		if err != nil {
			return Result{}, nil, err
		}
		baselines[i] = l.score()
	}
	m.out.NoiseRatio = m.ratio()
	m.out.scores(t.metric, drawn, baselines[1], baselines[0])
	m.out.Seconds = time.Since(started).Seconds()
	return m.out, learned, nil
}

// measurement is a setting with its rounds designed.
type measurement struct {
	Setting
	task    *task
	plans   []plan.Plan // of the rounds
	specs   []rows.Spec // none where devices prove the length of vectors
	shares  []float64   // of the budget, where a device answers every round
	cohorts [][]int     // of respondents, by round
	shift   float64     // of a curator's Gaussian
	tell    simulate.Progress
	first   []float64 // the exact sum of the first round, which is the same for all; nil: not added up yet
	errors  []drawnError
	out     Result
}

// drawnError is the root mean square error of a round's sum, and what was predicted.
type drawnError struct{ measured, predicted float64 }

const forCurator, forBits = 7, 8 // streams of randomness

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
	m.out = Result{Setting: s, Respondents: t.train.x.Rows, Adjacency: string(account.Replacement), Dimension: t.train.x.Cols}
	tell("noise", 0, 1)
	err = m.design(l)
	for i, spec := range m.specs {
		envelopes := spec.Envelopes
		if s.Noise != "" {
			envelopes = 0 // answers are summed
		}
		if m.Takes == takesOne && i > 0 {
			m.out.EnvelopesPerDevice, m.out.BitsPerDevice = max(m.out.EnvelopesPerDevice, envelopes), max(m.out.BitsPerDevice, spec.Answered)
			continue
		}
		m.out.EnvelopesPerDevice, m.out.BitsPerDevice = m.out.EnvelopesPerDevice+envelopes, m.out.BitsPerDevice+spec.Answered
	}
	return m, err
}

// promise states what the respondents are promised together; the largest of several.
func (m *measurement) promise(e account.Event) error {
	g, err := account.Epsilon(e, m.Delta)
	m.out.Epsilon, m.out.Method = math.Max(m.out.Epsilon, g.Epsilon), g.Method
	return err
}

// drawn returns how good what was learned from every bit is, and what that is.
func (m *measurement) drawn() (score, *model.Model, error) {
	l, err := newLearner(m.task, m.Setting)
	if err != nil {
		return score{}, nil, err
	}
	last, err := m.study(l)
	if err != nil {
		return score{}, nil, err
	}
	if m.task.metric != accuracy {
		r, err := results.NewRegression(last)
		if err != nil {
			return score{}, nil, err
		}
		s := m.task.test.predicted(r.Regression.Value, r.Deviation)
		m.task.number.Deviation = r.Deviation * m.task.number.Unit
		return s, m.model(r.Linear, nil, s), nil
	}
	linear, err := results.NewLinear(last, m.task.public.x)
	if err != nil {
		return score{}, nil, err
	}
	s := m.task.test.classified(linear.Class, len(m.task.classes))
	var another *whiten.State
	if last.State != nil && last.State.Point != nil && !m.task.white {
		another = &whiten.State{Mean: last.State.Point.Mean, Matrix: last.State.Point.Whiten}
	}
	return s, m.model(linear.Linear, another, s), nil
}

// cohorts returns who answers which round: everybody, or each one round.
func (l *learner) cohorts(t *task, s Setting) [][]int {
	order := seeded.New(s.Seed, 6).Perm(t.train.x.Rows)
	cohorts := make([][]int, len(l.rounds))
	from, until := 0, 0.0
	for i, r := range l.rounds {
		cohorts[i] = order
		if s.Takes == takesOne {
			until += r.share
			to := min(len(order), int(math.Round(until*float64(len(order)))))
			cohorts[i], from = order[from:to], to
		}
	}
	return cohorts
}

// way is how the sum of a round is come by, given the exact one.
type way func(l *learner, round int, exact []float64) (rows.Sum, error)

// learn goes through the rounds.
func (m *measurement) learn(collect way) (*learner, error) {
	l, err := newLearner(m.task, m.Setting)
	if err != nil {
		return nil, err
	}
	for i := range m.plans {
		exact := m.first
		if i > 0 || exact == nil {
			cohort, train := m.cohorts[i], l.train()
			exact = total(len(cohort), l.rounds[i].length, func(i int, v []float32) { l.encode(train, cohort[i], v) })
		}
		if i == 0 {
			m.first = exact
		}
		sum, err := collect(l, i, exact)
		if err == nil {
			err = l.learn(sum, len(m.cohorts[i]))
		}
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return l, nil
}

// model returns what was learned, as a file has it, in features that another map follows.
func (m *measurement) model(linear moments.Linear, another *whiten.State, s score) *model.Model {
	t := m.task
	if t.features == nil {
		return nil
	}
	out := &model.Model{Title: "Learned from " + m.Dataset, Features: *t.features, Classes: t.classes, Linear: linear,
		Promise: model.Promise{Epsilon: m.out.Epsilon, Delta: m.Delta, Adjacency: m.out.Adjacency, Trust: m.out.Trust, Method: m.out.Method, Rounds: m.asked(), Respondents: m.out.Respondents},
		Tested:  &model.Tested{Records: t.test.x.Rows, Measure: string(t.metric), Value: s.value, Wrong: s.wrong}}
	if t.metric == accuracy {
		out.Tested.Low, out.Tested.High = s.interval()
	} else {
		out.Classes, out.Number = nil, &t.number
	}
	if another != nil {
		out.Features.Maps = append(slices.Clone(out.Features.Maps), another)
	}
	return out
}

// asked returns how many rounds a respondent answers.
func (m *measurement) asked() int {
	if m.Takes == takesOne {
		return 1
	}
	return m.Rounds
}

// total adds up the vectors of n respondents, on all processors.
func total(n, length int, write func(i int, v []float32)) []float64 {
	type own struct {
		v   []float32
		sum []float64
	}
	all := each(n, func() own { return own{make([]float32, length), make([]float64, length)} }, func(o own, i int) {
		write(i, o.v)
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

// distance returns the root mean square over coordinates.
func distance(a, b []float64) float64 {
	squares := 0.0
	for k, x := range a {
		squares += (x - b[k]) * (x - b[k]) / float64(len(a))
	}
	return math.Sqrt(squares)
}

func (m *measurement) exact(_ *learner, _ int, exact []float64) (rows.Sum, error) {
	return rows.Sum{Vector: exact}, nil
}

// central returns what a curator would add who is trusted with everything.
func (m *measurement) central(l *learner, round int, exact []float64) (rows.Sum, error) {
	shift := m.shift
	if m.Takes == takesAll {
		shift *= math.Sqrt(m.shares[round])
	}
	sum := rows.Sum{Vector: make([]float64, len(exact)), Error: math.Sqrt(l.rounds[round].distance) / shift}
	r := seeded.New(m.Seed, forCurator, uint64(round))
	for k, x := range exact {
		sum.Vector[k] = x + sum.Error*r.NormFloat64()
	}
	return sum, nil
}

// compare notes how far a sum of n vectors is from the exact one, and how far it should be. How much
// the vectors are alike only a simulation knows.
func (m *measurement) compare(spec rows.Spec, n int, write func(i int, v []float32), sum, exact []float64) {
	m.errors = append(m.errors, drawnError{distance(sum, exact), spec.Deviation(n, overlap(n, len(exact), write))})
}

// ratio of the errors measured and predicted, in the root mean square over rounds.
func (m *measurement) ratio() float64 {
	sum := 0.0
	for _, e := range m.errors {
		sum += e.measured * e.measured / (e.predicted * e.predicted) / float64(len(m.errors))
	}
	return math.Sqrt(sum)
}
