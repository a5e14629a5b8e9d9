// Package sgd measures how a model learns from gradients in the rounds of studies (ESA, section VI), beside a
// curator and no privacy. Used by lab/cmd/confetti-lab/experiment and lab/papers.
package sgd

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// Cell is one measurement.
type Cell struct {
	Dataset string `json:"dataset"`
	experiments.Gradient
	Seed uint64 `json:"seed"`
}

// Result is what came out.
type Result struct {
	Cell
	Accuracy    float64             `json:"accuracy"`
	Curve       []experiments.Point `json:"curve"`
	Epsilon     *float64            `json:"epsilon"` // reached in all rounds that a respondent answers; null: none is promised
	Adjacency   string              `json:"adjacency,omitempty"`
	Trust       account.Trust       `json:"trust,omitempty"` // whom Epsilon relies on
	Method      string              `json:"method,omitempty"`
	Round       *float64            `json:"epsilon_round,omitempty"`         // of one round
	Paper       *float64            `json:"epsilon_paper,omitempty"`         // of directions: by ESA, Theorem VI.1, where it applies
	Printed     *float64            `json:"epsilon_printed_order,omitempty"` // by what it prints, with a constant of one: proves nothing
	Local       *float64            `json:"epsilon_local_round,omitempty"`
	LocalTotal  *float64            `json:"epsilon_local_total"` // though everyone colludes; null: nothing is promised
	Answers     int                 `json:"rounds_per_respondent"`
	Respondents int                 `json:"respondents"`
	Learned     int                 `json:"parameters"`
	Noise       float64             `json:"noise"` // standard error of a coordinate of the last round's mean gradient (gradient.Turn)
	// NoiseRatio is Noise over that of a curator's Gaussian of the same epsilon, delta, rounds and
	// respondents a round.
	NoiseRatio float64 `json:"noise_ratio,omitempty"`
	Envelopes  int     `json:"envelopes_per_device,omitempty"` // in a round
	// Advantage and Lower are what a loss threshold finds of who was trained on (membership.go).
	Advantage float64    `json:"membership_advantage"`
	Lower     float64    `json:"epsilon_lower"`
	Seconds   float64    `json:"seconds"`
	Plan      *plan.Plan `json:"plan,omitempty"` // of the first round, without keys
}

// Run measures the cell.
func Run(c Cell, set *dataset.Set, progress simulate.Progress) (Result, error) {
	start := time.Now()
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	p, err := prepare(c, set, "", progress)
	if err != nil {
		return Result{}, err
	}
	s, err := newStudy(c.complete(), p)
	if err != nil {
		return Result{}, err
	}
	res, err := s.run(progress)
	res.Seconds = time.Since(start).Seconds()
	return res, err
}

// study is a cell on its way.
type study struct {
	Cell
	population
	plan    plan.Plan // of each round, but for its state
	answers int       // rounds of one respondent, at most
	order   []int     // of respondents, by which they are dealt into rounds
	curator float64   // its noise, in lengths of a gradient; 0: not looked for yet
	first   []float64 // mean that liars pull against; nil: not known yet
	out     Result
}

func newStudy(c Cell, p population) (*study, error) {
	n := cmp.Or(c.Population, len(p.values))
	c.Users = cmp.Or(c.Users, n)
	if c.Users > n || c.Examples > len(p.values) {
		return nil, fmt.Errorf("%d users per round, of %d examples: there are %d respondents with %d examples", c.Users, c.Examples, n, len(p.values))
	}
	const forOrder = 0x51d
	s := &study{Cell: c, population: p, order: seeded.New(c.Seed, forOrder).Perm(len(p.values))}
	s.answers = (c.Rounds + n/c.Users - 1) / (n / c.Users)
	s.out = Result{Cell: c, Respondents: n, Answers: s.answers}
	return s, s.design()
}

// cohort returns who answers a round, or the examples that stand for them. Each of the cohorts answers
// every so many rounds.
func (s *study) cohort(round int) []question.Value {
	size := cmp.Or(s.Examples, s.Users)
	from := round % (len(s.order) / size) * size
	who := make([]question.Value, size)
	for i, at := range s.order[from : from+size] {
		who[i] = s.values[at]
	}
	return who
}

// design is the plan of a round, of which a respondent answers so many. The baselines
// have that of directions: they take its steps, and nobody reports.
func (s *study) design() error {
	report, budget := s.Report, plan.Budget{Epsilon: s.Cell.Epsilon, Delta: s.Delta, Adjacency: string(account.Replacement)}
	if s.Baseline() {
		report, budget.Epsilon, s.LocalEpsilon = gradient.Direction, 0, 1
	}
	budget.LocalEpsilon = s.LocalEpsilon * float64(s.answers)
	p := measure.Draft(plan.Question{Kind: "gradient", Gradient: &plan.Gradient{
		Dimension: s.dimension, Classes: s.classes, Model: s.network, Seed: measure.PublicSeed(s.Seed), Clip: s.Clip,
		Report: plan.GradientReport{Name: report, Bits: s.Bits},
		Step:   plan.GradientStep{Rate: s.Rate, Momentum: s.Momentum, Average: s.Average, Bound: bound},
	}}, budget, s.Users)
	p.Route = measure.RouteOf(s.NoiseBy, 1, measure.Hops)
	if _, err := simulate.NewKeys(&p); err != nil {
		return err
	}
	var err error
	if s.plan, err = design.Rounds(p, s.answers); err != nil || s.Baseline() {
		return err
	}
	proto, err := protocol.New(s.plan)
	if err != nil {
		return err
	}
	return s.promise(proto)
}

// bound is far from where any of the models goes that learns.
const bound = 1e4

// promise states what a round and all that a respondent answers cost.
func (s *study) promise(proto *protocol.Protocol) error {
	promise, err := proto.Promise()
	if err != nil {
		return err
	}
	all, err := proto.Rounds(s.answers, s.Delta)
	if err != nil {
		return err
	}
	s.out.Epsilon, s.out.Round, s.out.Adjacency, s.out.Trust, s.out.Method = &all.Epsilon, &promise.Shuffled.Epsilon, string(all.Adjacency), protocol.Trust(s.plan), all.Method
	if local := promise.Statements[0].Guarantee.Epsilon; !math.IsInf(local, 1) {
		total := local * float64(s.answers)
		s.out.Local, s.out.LocalTotal = &local, &total
	}
	if s.Report == gradient.Direction {
		if g, err := literature.ESATheoremVI1(s.Users, *s.out.Local, s.answers, s.Delta); err == nil {
			s.out.Paper = &g.Epsilon
		}
		printed := printedOrder{respondents: s.out.Respondents, users: s.Users, local: *s.out.Local, delta: s.Delta}.epsilon(s.Rounds)
		s.out.Printed = &printed
	}
	s.out.Envelopes, s.out.Plan = s.plan.Envelopes.PerDevice, measure.WithoutKeys(s.plan)
	return nil
}

// points is how many of a learning curve are measured.
const points = 10

// run takes the rounds.
func (s *study) run(progress simulate.Progress) (Result, error) {
	proto, err := protocol.New(s.plan)
	if err != nil {
		return s.out, err
	}
	var last *gradient.Model
	for round := range s.Rounds {
		progress("rounds", round, s.Rounds)
		if last, err = s.round(proto.Question.(*gradient.Question), last, round); err != nil {
			return s.out, err
		}
		if every := max(1, s.Rounds/points); (round+1)%every == 0 || round+1 == s.Rounds {
			if s.out.Accuracy, err = s.accuracy(last.Network()); err != nil {
				return s.out, err
			}
			s.out.Curve = append(s.out.Curve, experiments.Point{Round: round + 1, Accuracy: s.out.Accuracy})
		}
	}
	progress("rounds", s.Rounds, s.Rounds)
	s.out.Noise, s.out.Learned = last.State.Turns[s.Rounds-1].Noise, len(last.State.Model.Params)
	s.attack(last.Network())
	if s.out.Epsilon != nil && !s.Baseline() {
		s.out.NoiseRatio = s.out.Noise / s.gaussian(*s.out.Epsilon)
	}
	return s.out, nil
}

// round returns what a cohort teaches after the round before, nil in the first: by the reports that its devices would
// make, or by its gradients themselves, which no bytes have to be fetched for.
func (s *study) round(q *gradient.Question, before *gradient.Model, round int) (*gradient.Model, error) {
	if !s.Baseline() && s.Examples == 0 {
		return s.told(q, before, round)
	}
	q, err := after(q, before)
	if err != nil {
		return nil, err
	}
	if s.Baseline() {
		return s.curated(q, round)
	}
	who := s.cohort(round)
	mean := over(nn.ClippedSum(q.Network(), s.Clip, labelled(who), len(who)), len(who))
	return q.Limit(seeded.New(s.Seed, forReports, uint64(round)), mean, s.Users)
}

// after returns the question of the round after this model.
func after(q *gradient.Question, before *gradient.Model) (*gradient.Question, error) {
	if before != nil {
		return q.At(before.State), nil
	}
	first, _, err := q.Next(nil)
	if err != nil {
		return nil, err
	}
	at, err := q.WithState(first)
	if err != nil {
		return nil, err
	}
	return at.(*gradient.Question), nil
}

const forReports = 0x52e

// told returns what the reports of a cohort teach, whose devices fetch the state of the round.
func (s *study) told(q *gradient.Question, before *gradient.Model, round int) (*gradient.Model, error) {
	var learned question.Model // nil, and no *gradient.Model that is nil
	if before != nil {
		learned = before
	}
	state, _, err := q.Next(learned)
	if err != nil {
		return nil, err
	}
	s.plan.State = plan.StateName(state)
	of, who := s.plan, s.cohort(round)
	who = who[s.hostile():]
	of.Crowd.Minimum = len(who)
	proto, err := protocol.WithState(of, state)
	if err != nil {
		return nil, err
	}
	crowds, err := distribution.Draw(proto, distribution.Values(who),
		func(part ...uint64) *rand.Rand {
			return seeded.New(s.Seed, append([]uint64{forReports, uint64(round)}, part...)...)
		}, func(int) {})
	if err != nil {
		return nil, err
	}
	if s.Liars > 0 {
		if err := s.lie(proto, who, &crowds[0], round); err != nil {
			return nil, err
		}
	}
	m, err := proto.Learn(crowds)
	if err != nil {
		return nil, err
	}
	return m.(*gradient.Model), nil
}

// accuracy returns that of a model on the test records.
func (s *study) accuracy(net *nn.Model) (float64, error) {
	e, err := hdc.Judge(nn.Classify(net, func(i int) []float32 { return s.test[i] }, len(s.test)), s.testClasses, len(s.classes))
	return e.Accuracy, err
}

// gaussian returns the deviation of a coordinate of a round's mean gradient with which a curator
// keeps epsilon in all rounds: its noise hides that two gradients lie at 2 Clip from each
// other, in as many rounds as a respondent answers.
func (s *study) gaussian(epsilon float64) float64 {
	t := calibrate.Target{Users: s.Users, Rounds: s.answers, Epsilon: epsilon, Delta: s.Delta}
	return 2 * s.Clip / (t.PerRound() * float64(s.Users))
}
