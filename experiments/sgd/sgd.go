// Package sgd measures how a model learns from gradients in the rounds of studies (ESA, section
// VI): the plan that devices would be given, put to a data set, and beside it a curator who
// sees the gradients, and no privacy.
package sgd

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/theorems"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/gradient"
	"github.com/confetti-dp/confetti/question/law"
	"github.com/confetti-dp/confetti/release/findings"
	"github.com/confetti-dp/confetti/simulate"
)

// Cell is one measurement.
type Cell struct {
	Dataset      string `json:"dataset"`
	Architecture string `json:"architecture"` // one of Architectures
	Report       string `json:"report"`       // one of Reports
	// Users is how many respondents answer each round, the same in all of an epoch's; 0: all
	// of them.
	Users  int `json:"users_per_round"`
	Rounds int `json:"rounds"`
	// Epsilon is the central one of all rounds that a respondent answers, and LocalEpsilon that
	// of one report: either may be 0, and follows from the other.
	Epsilon      float64 `json:"epsilon"`
	LocalEpsilon float64 `json:"local_epsilon,omitempty"`
	Delta        float64 `json:"delta"`
	Bits         int     `json:"bits,omitempty"` // of a vector: rows that a device answers in a round; 0: one for each number

	// Directions are the public ones that a linear model of images has; 0: 351.
	Directions int     `json:"directions,omitempty"`
	Clip       float64 `json:"clip"` // 0: the architecture's
	Rate       float64 `json:"rate"` // 0: the architecture's
	Momentum   float64 `json:"momentum"`
	Average    float64 `json:"average,omitempty"`
	Seed       uint64  `json:"seed"`
}

// Reports are those of plans, and the baselines that no plan describes.
var Reports = append(slices.Clone(plan.GradientReports), experiments.Curator, experiments.NoPrivacy)

// Architectures are the models.
var Architectures = []string{"linear", "xiii"}

// Validate lists everything that is wrong with the cell.
func (c Cell) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	check(slices.Contains(Architectures, c.Architecture), "architecture %q: choose one of %s", c.Architecture, strings.Join(Architectures, ", "))
	check(slices.Contains(Reports, c.Report), "report %q: choose one of %s", c.Report, strings.Join(Reports, ", "))
	check(c.Users >= 0, "%d users per round: give a number, or all", c.Users)
	check(c.Rounds >= 1 && c.Rounds <= plan.MaxRounds, "%d rounds: give 1 to %d", c.Rounds, plan.MaxRounds)
	check(c.Delta > 0 && c.Delta < 1, "delta %v: must be between 0 and 1, both excluded", c.Delta)
	check(c.Epsilon >= 0 && c.Epsilon <= 100 && c.LocalEpsilon >= 0 && c.LocalEpsilon <= 50, "epsilon %v, local epsilon %v: give numbers above 0, up to 100 and 50", c.Epsilon, c.LocalEpsilon)
	directed := c.Report == gradient.Direction || c.Report == gradient.Cap
	check(directed || c.LocalEpsilon == 0, "local epsilon: %s has none that means anything: leave it out", c.Report)
	check(c.Epsilon > 0 || directed && c.LocalEpsilon > 0 || c.Report == experiments.NoPrivacy, "epsilon %v: give a number above 0, or of directions a local epsilon", c.Epsilon)
	check(c.Bits == 0 || c.Report == gradient.Vector && c.Bits > 0, "bits belong to vectors")
	check(c.Directions >= 0 && c.Directions <= 784 && (c.Directions == 0 || c.Architecture == "linear"), "%d directions: a linear model of images has 1 to 784", c.Directions)
	check(c.Clip >= 0 && c.Rate >= 0 && c.Momentum >= 0 && c.Momentum < 1 && c.Average >= 0 && c.Average < 1, "clip %v, rate %v, momentum %v, average %v: give positive numbers, the last two below 1", c.Clip, c.Rate, c.Momentum, c.Average)
	return errors.Join(errs...)
}

// Result is what came out.
type Result struct {
	Cell
	Accuracy    float64  `json:"accuracy"`
	Curve       []Point  `json:"curve"`
	Epsilon     *float64 `json:"epsilon"` // reached in all rounds that a respondent answers; null: none is promised
	Adjacency   string   `json:"adjacency,omitempty"`
	Method      string   `json:"method,omitempty"`
	Round       *float64 `json:"epsilon_round,omitempty"` // of one round
	Paper       *float64 `json:"epsilon_paper,omitempty"` // of directions: by ESA, Theorem VI.1, where it applies
	Local       *float64 `json:"epsilon_local_round,omitempty"`
	LocalTotal  *float64 `json:"epsilon_local_total"` // though everyone colludes; null: nothing is promised
	Answers     int      `json:"rounds_per_respondent"`
	Respondents int      `json:"respondents"`
	Learned     int      `json:"parameters"`
	Noise       float64  `json:"noise"` // standard error of a coordinate of the last round's mean gradient (gradient.Turn)
	// NoiseRatio is Noise over that of a curator's Gaussian of the same epsilon, delta, rounds and
	// respondents a round.
	NoiseRatio float64    `json:"noise_ratio,omitempty"`
	Envelopes  int        `json:"envelopes_per_device,omitempty"` // in a round
	Seconds    float64    `json:"seconds"`
	Plan       *plan.Plan `json:"plan,omitempty"` // of the first round, without keys
}

// Point is one of a learning curve.
type Point struct {
	Round    int     `json:"round"`
	Accuracy float64 `json:"accuracy"`
}

// Run measures the cell.
func Run(c Cell, set *dataset.Set, progress simulate.Progress) (Result, error) {
	start := time.Now()
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	p, err := prepare(&c, set, progress)
	if err != nil {
		return Result{}, err
	}
	s, err := newStudy(c, p)
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
	out     Result
}

func newStudy(c Cell, p population) (*study, error) {
	n := len(p.values)
	if c.Users == 0 {
		c.Users = n
	}
	if c.Users > n {
		return nil, fmt.Errorf("%d users per round, and there are %d respondents", c.Users, n)
	}
	const forOrder = 0x51d
	s := &study{Cell: c, population: p, order: replay.New(c.Seed, forOrder).Perm(n)}
	s.answers = (c.Rounds + n/c.Users - 1) / (n / c.Users)
	s.out = Result{Cell: c, Respondents: n, Answers: s.answers}
	return s, s.design()
}

// cohort is who answers a round. Each of the n/Users cohorts answers every so many rounds.
func (s *study) cohort(round int) []question.Value {
	groups := len(s.order) / s.Users
	from := round % groups * s.Users
	who := make([]question.Value, s.Users)
	for i, at := range s.order[from : from+s.Users] {
		who[i] = s.values[at]
	}
	return who
}

// design is the plan of a round, of which a respondent answers so many. The baselines
// have that of directions: they take its steps, and nobody reports.
func (s *study) design() error {
	report, budget := s.Report, plan.Budget{Epsilon: s.Cell.Epsilon, Delta: s.Delta, Adjacency: string(account.Replacement)}
	if s.baseline() {
		report, budget.Epsilon, s.LocalEpsilon = gradient.Direction, 0, 1
	}
	budget.LocalEpsilon = s.LocalEpsilon * float64(s.answers)
	p := experiments.Draft(plan.Question{Kind: "gradient", Gradient: &plan.Gradient{
		Dimension: s.dimension, Classes: s.classes, Model: s.Architecture, Seed: experiments.PublicSeed(s.Seed), Clip: s.Clip,
		Report: plan.GradientReport{Name: report, Bits: s.Bits},
		Step:   plan.GradientStep{Rate: s.Rate, Momentum: s.Momentum, Average: s.Average, Bound: bound},
	}}, budget, s.Users)
	if _, err := simulate.NewKeys(&p); err != nil {
		return err
	}
	var err error
	if s.plan, err = gradient.DesignRounds(p, s.answers); err != nil || s.baseline() {
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

func (s *study) baseline() bool {
	return s.Report == experiments.Curator || s.Report == experiments.NoPrivacy
}

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
	s.out.Epsilon, s.out.Round, s.out.Adjacency, s.out.Method = &all.Epsilon, &promise.Shuffled.Epsilon, string(all.Adjacency), all.Method
	if local := promise.Statements[0].Guarantee.Epsilon; !math.IsInf(local, 1) {
		total := local * float64(s.answers)
		s.out.Local, s.out.LocalTotal = &local, &total
	}
	if s.Report == gradient.Direction {
		if g, err := theorems.ESATheoremVI1(s.Users, *s.out.Local, s.answers, s.Delta); err == nil {
			s.out.Paper = &g.Epsilon
		}
	}
	s.out.Envelopes, s.out.Plan = s.plan.Envelopes.PerDevice, experiments.WithoutKeys(s.plan)
	return nil
}

// points is how many of a learning curve are measured.
const points = 20

// run takes the rounds.
func (s *study) run(progress simulate.Progress) (Result, error) {
	proto, err := protocol.New(s.plan)
	if err != nil {
		return s.out, err
	}
	state, _, err := findings.Next(proto.Question, nil)
	if err != nil {
		return s.out, err
	}
	for round := range s.Rounds {
		progress("rounds", round, s.Rounds)
		s.plan.State = plan.StateName(state)
		if proto, err = protocol.WithState(s.plan, state); err != nil {
			return s.out, err
		}
		model, err := s.round(proto, round)
		if err != nil {
			return s.out, err
		}
		if state, _, err = findings.Next(proto.Question, model); err != nil {
			return s.out, err
		}
		if every := max(1, s.Rounds/points); (round+1)%every == 0 || round+1 == s.Rounds {
			if s.out.Accuracy, err = s.accuracy(model.Network()); err != nil {
				return s.out, err
			}
			s.out.Curve = append(s.out.Curve, Point{round + 1, s.out.Accuracy})
		}
		last := model.State.Turns[round]
		s.out.Noise, s.out.Learned = last.Noise, len(model.State.Model.Params)
	}
	progress("rounds", s.Rounds, s.Rounds)
	if s.out.Epsilon != nil && !s.baseline() {
		s.out.NoiseRatio = s.out.Noise / s.gaussian(*s.out.Epsilon)
	}
	return s.out, nil
}

// round is what a cohort teaches: by the reports that its devices would make, or by its
// gradients themselves.
func (s *study) round(proto *protocol.Protocol, round int) (*gradient.Model, error) {
	const forReports = 0x52e
	if s.baseline() {
		return s.curated(proto, round)
	}
	crowds, err := law.Draw(proto, law.Values(s.cohort(round)),
		func(part ...uint64) *rand.Rand {
			return replay.New(s.Seed, append([]uint64{forReports, uint64(round)}, part...)...)
		}, func(int) {})
	if err != nil {
		return nil, err
	}
	m, err := proto.Learn(crowds)
	if err != nil {
		return nil, err
	}
	return m.(*gradient.Model), nil
}

// accuracy is that of a model on the test records.
func (s *study) accuracy(net *nn.Model) (float64, error) {
	e, err := hdc.Judge(nn.Classify(net, func(i int) []float32 { return s.test[i] }, len(s.test)), s.testClasses, len(s.classes))
	return e.Accuracy, err
}

// gaussian is the deviation of a coordinate of a round's mean gradient with which a curator
// keeps epsilon in all rounds: its noise hides that two gradients lie at 2 Clip from each
// other, in as many rounds as a respondent answers.
func (s *study) gaussian(epsilon float64) float64 {
	t := account.Target{Users: s.Users, Rounds: s.answers, Epsilon: epsilon, Delta: s.Delta}
	return 2 * s.Clip / (t.PerRound() * float64(s.Users))
}
