// Package labels measures how well classifiers learn from labels whose features are public, beside no privacy. Used
// by lab/cmd/confetti-lab/experiment.
package labels

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/ldc"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// Cell is one measurement.
type Cell struct {
	Dataset  string  `json:"dataset"`
	Method   string  `json:"method"` // one of Methods
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Clusters int     `json:"clusters,omitempty"` // 0: by a rule from public numbers
	Seed     uint64  `json:"seed"`
}

// Result is what came out.
type Result struct {
	Cell
	Accuracy          float64    `json:"accuracy"`
	AccuracyNoPrivacy float64    `json:"accuracy_no_privacy"` // of the same learner, told every label
	Local             *float64   `json:"epsilon_local"`       // though everyone colludes; null: nothing is promised
	Central           *float64   `json:"epsilon_central"`
	Trust             string     `json:"trust"` // who is relied upon for Epsilon
	Adjacency         string     `json:"adjacency"`
	Accounting        string     `json:"accounted_by"`
	Wrong             []float64  `json:"wrong_by_class"`
	Respondents       int        `json:"respondents"`
	Smallest          int        `json:"smallest_cluster,omitempty"`
	Largest           int        `json:"largest_cluster,omitempty"`
	Noise             float64    `json:"standard_error,omitempty"` // of a count in a typical cluster, or of a number of the sum
	Envelopes         int        `json:"envelopes_per_device,omitempty"`
	Seconds           float64    `json:"seconds"`
	Plan              *plan.Plan `json:"plan,omitempty"` // without keys
}

// methods are the ways of ours.
var methods = map[string]func(*task) error{"crowds": (*task).crowds, "xy": (*task).xy, "rr": (*task).rr}

// papers are the ways of the paper (package ldc).
var papers = []string{experiments.ClusterRR, experiments.UniformRR, experiments.TwoStages, experiments.DPSGD}

// Methods returns the names of all ways.
func Methods() []string { return append(slices.Sorted(maps.Keys(methods)), papers...) }

// paper measures a way of the paper, as it learned: regression on principal components of pixels.
func (t *task) paper(set *dataset.Set) error {
	const guess = 0.03 // at phi: public, as the paper has it
	cell := experiments.Labels{Method: t.Method, Epsilon: t.Epsilon}
	switch t.Method {
	case experiments.ClusterRR:
		cell.Clusters, cell.Heterogeneity = cmp.Or(t.Clusters, 100), guess
	case experiments.DPSGD:
		cell.Delta = t.Delta
	}
	r, err := ldc.Run(experiments.Cell{Dataset: t.Dataset, Seed: t.Seed, Runs: 1, Labels: cell}, set, t.tell)
	if err != nil {
		return err
	}
	t.out.Accuracy, t.out.AccuracyNoPrivacy = r.Learned.Accuracy, r.Learned.AccuracyNoPrivacy
	t.out.Clusters, t.out.Central, t.out.Local = cell.Clusters, r.Epsilon, r.EpsilonLocal
	t.out.Trust, t.out.Adjacency, t.out.Accounting = r.Trust, r.Adjacency, r.Method
	return nil
}

// Validate lists everything that is wrong with the cell.
func (c Cell) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	check(slices.Contains(Methods(), c.Method), "method %q: choose one of %s", c.Method, strings.Join(Methods(), ", "))
	check(c.Epsilon > 0 && c.Epsilon <= 50, "epsilon %v: give a number above 0, up to 50", c.Epsilon)
	check(c.Delta > 0 && c.Delta < 1, "delta %v: must be between 0 and 1, both excluded", c.Delta)
	check(c.Clusters >= 0 && c.Clusters <= cluster.Most && (c.Clusters == 0 || c.Method == "crowds" || c.Method == experiments.ClusterRR), "%d clusters: give at most %d, of crowds or cluster-rr", c.Clusters, cluster.Most)
	return errors.Join(errs...)
}

// task is a cell on its way.
type task struct {
	Cell
	classes []string
	x, test blas32.General // features
	y, want []int
	scale   training.Scale
	tell    simulate.Progress
	out     Result
}

// Run measures the cell.
func Run(c Cell, set *dataset.Set, progress simulate.Progress) (Result, error) {
	start := time.Now()
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	t := &task{Cell: c, classes: set.Classes, y: set.Train.Y, want: set.Test.Y, tell: progress, out: Result{Cell: c, Respondents: set.Train.Len()}}
	var err error
	if slices.Contains(papers, c.Method) {
		err = t.paper(set)
		t.out.Seconds = time.Since(start).Seconds()
		return t.out, err
	}
	if t.x, err = inputsOf(set.Train.X, progress); err == nil {
		t.test, err = inputsOf(set.Test.X, progress)
	}
	if err != nil {
		return Result{}, err
	}
	t.scale = training.NewScale(t.x)
	err = methods[c.Method](t)
	t.out.Seconds = time.Since(start).Seconds()
	return t.out, err
}

// inputsOf returns the features of images of 28x28, or rows as they are.
func inputsOf(x blas32.General, tell simulate.Progress) (blas32.General, error) {
	const side = 28
	if x.Cols != side*side {
		return x, nil
	}
	return featuremap.Oriented(x, inputs.Size{Width: side, Height: side}, featuremap.Progress(tell))
}

// What randomness is for.
const (
	forClusters = 0x1ab1 + iota
	forReports
	forTraining
	forKnown
)

// dishonest is the share of respondents whose noise is not relied upon.
const dishonest = 0.1

// learned puts a plan to the respondents and gives what their reports teach.
func (t *task) learned(ask plan.Label, minimum int, state []byte) (*label.Model, error) {
	ask.Classes = t.classes
	p := measure.Draft(plan.Question{Kind: "label", Label: &ask},
		plan.Budget{Epsilon: t.Epsilon, Delta: t.Delta, Adjacency: plan.AdjacencyLabel, DishonestShare: dishonest}, minimum)
	p, envelopes, err := measure.Designed(p)
	if err != nil {
		return nil, err
	}
	var proto *protocol.Protocol
	if state == nil {
		proto, err = protocol.New(p)
	} else {
		p.State = plan.StateName(state)
		proto, err = protocol.WithState(p, state)
	}
	if err != nil {
		return nil, err
	}
	if err := t.promise(proto); err != nil {
		return nil, err
	}
	t.out.Envelopes, t.out.Plan = envelopes, measure.WithoutKeys(p)
	values := make(distribution.Values, len(t.y))
	for i, y := range t.y {
		values[i] = label.Record{Features: t.x.Data[i*t.x.Stride:][:t.x.Cols], Number: i, Class: y}
	}
	crowds, err := distribution.Draw(proto, values, func(part ...uint64) *rand.Rand {
		return seeded.New(t.Seed, append([]uint64{forReports}, part...)...)
	}, func(int) {})
	if _, err := question.Fits(err); err != nil {
		return nil, err
	}
	m, err := proto.Learn(crowds)
	if err != nil {
		return nil, err
	}
	return m.(*label.Model), nil
}

// promise states what the plan costs a respondent.
func (t *task) promise(proto *protocol.Protocol) error {
	promise, err := proto.Promise()
	if err != nil {
		return err
	}
	for _, s := range promise.Statements {
		g := s.Guarantee
		switch {
		case g.Trust == account.Local && !math.IsInf(g.Epsilon, 1):
			t.out.Local = &g.Epsilon
		case g.Trust == account.Shuffled:
			t.out.Central, t.out.Adjacency, t.out.Accounting = &g.Epsilon, string(g.Adjacency), g.Method
		}
	}
	t.out.Trust = string(account.Shuffled)
	return nil
}

// judge evaluates a network on the test records.
func (t *task) judge(m *nn.Model) error {
	e, err := hdc.Judge(t.classified(m), t.want, len(t.classes))
	if err != nil {
		return err
	}
	t.judged(e)
	known, err := training.Known(seeded.New(t.Seed, forKnown), t.scale.Examples(t.x), t.y, len(t.classes), featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	if e, err = hdc.Judge(t.classified(known), t.want, len(t.classes)); err == nil {
		t.out.AccuracyNoPrivacy = e.Accuracy
	}
	return err
}

// judged keeps how often each class is taken for another.
func (t *task) judged(e hdc.Evaluation) {
	t.out.Accuracy = e.Accuracy
	for class, row := range e.Confusion {
		all := 0
		for _, n := range row {
			all += n
		}
		t.out.Wrong = append(t.out.Wrong, 1-float64(row[class])/float64(max(1, all)))
	}
}

func (t *task) classified(m *nn.Model) []int {
	x := t.scale.Examples(t.test)
	return nn.Classify(m, func(i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }, x.Rows)
}
