// Package ltn measures what is learned from private records though everyone colludes (LTN): each
// respondent says one symbol, of its public cluster and its label jointly, under a plan of latent
// records. To tell a novel class the symbol is the cluster alone, and the group is no secret.
package ltn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/inputs"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
	learn "github.com/confetti-dp/confetti/learn/latent"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Applications are what is learned.
const (
	collection = "collection" // classes, from records with labels
	novel      = "novel"      // a class that no public record has, from the features of two groups
)

// Applications and Mechanisms are what a cell may name.
var (
	Applications = []string{collection, novel}
	Mechanisms   = []string{symbols, "vlm", privUnit, "pca", "direct"}
)

const (
	symbols  = "symbols"  // a public cluster and the class, jointly
	privUnit = "privunit" // a direction from a cap about the code of a variational encoder
)

// Cell is one measurement.
type Cell struct {
	Dataset     string  `json:"dataset"`
	Application string  `json:"application"`
	Mechanism   string  `json:"mechanism"`
	Epsilon     float64 `json:"epsilon"`  // local, of all that a respondent says
	Clusters    int     `json:"clusters"` // 0: by the rule, from public numbers alone
	Seed        uint64  `json:"seed"`
	// Encoder, where a vector is told, is the file of the encoder, which is made and kept there
	// where it is missing; none: it is made and not kept.
	Encoder string `json:"-"`
}

// Validate lists what is wrong with the cell.
func (c Cell) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	check(slices.Contains(Applications, c.Application), "application %q: choose one of %v", c.Application, Applications)
	check(slices.Contains(Mechanisms, c.Mechanism), "mechanism %q: choose one of %v", c.Mechanism, Mechanisms)
	check(c.Epsilon >= 0.01 && c.Epsilon <= 20, "epsilon %v: give a number from 0.01 to 20", c.Epsilon)
	check(c.Mechanism == symbols || c.Clusters == 0 && c.Application == collection, "mechanism %q has no clusters, and learns from collections alone: leave out the clusters, or take %q", c.Mechanism, symbols)
	check(c.Mechanism != symbols || c.Encoder == "", "an encoder is of vectors: leave it out of %q", symbols)
	check(c.Clusters == 0 || c.Clusters >= 2 && c.Clusters <= 1000, "%d clusters: give 2 to 1000, or 0 for the rule", c.Clusters)
	return errors.Join(errs...)
}

// Result is what came out.
type Result struct {
	Cell
	AccuracyClean   float64 `json:"accuracy_clean"`   // of the model, on records as they are
	AccuracyPrivate float64 `json:"accuracy_private"` // of its answer as a device tells it, at the same local epsilon
	// AccuracyLatent is that of a record of which a device tells the vector alone, at the whole local
	// epsilon; AccuracyNoPrivacy of a network that learns from the respondents' vectors and classes as they
	// are; AccuracyPaper of LTN's own learner from the same reports. All are of vectors.
	AccuracyLatent    float64  `json:"accuracy_latent,omitempty"`
	AccuracyNoPrivacy float64  `json:"accuracy_no_privacy,omitempty"`
	AccuracyPaper     *float64 `json:"accuracy_paper_loss,omitempty"`
	EpsilonLocal      float64  `json:"epsilon_local"`
	EpsilonCentral    float64  `json:"epsilon_central"` // the same reports behind one honest hop
	Delta             float64  `json:"delta"`           // of EpsilonCentral
	Respondents       int      `json:"respondents"`
	Public            int      `json:"public"` // records without labels that made the clusters
	// Purity is the share of public records whose class is the commonest of their cluster. It
	// is for the reader: no setting comes of it.
	Purity  float64    `json:"purity,omitempty"`
	Seconds float64    `json:"seconds"`
	Plan    *plan.Plan `json:"plan,omitempty"` // without keys
}

// Shares of the training records, and delta.
const (
	publicShare     = 0.75  // LTN's D1: 45,000 of MNIST's
	respondentShare = 0.225 // of D2: 13,500, beside 1,500 that are left for validation
	delta           = 1e-6
)

// streams of a seed.
const (
	forSplit = iota + 1
	forClusters
	forReports
	forNet
	forEncoder
	forTest
)

// task is a measurement on its way.
type task struct {
	Cell
	set         *dataset.Set
	side        int            // of a picture, in pixels; 0: records are no pictures
	train, test blas32.General // what clusters are made of, of all training and test records: oriented gradients of pictures
	order       []int          // of the training records
	tell        simulate.Progress
}

// Run measures a cell on a set of square pictures, or on loans.
func Run(c Cell, set *dataset.Set, tell simulate.Progress) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	side := int(math.Round(math.Sqrt(float64(set.Dimension()))))
	switch {
	case set.Name == LoansName && (c.Mechanism != symbols || c.Application != collection):
		return Result{}, fmt.Errorf("ltn: %s is measured with %q and %q alone", set.Name, collection, symbols)
	case set.Name == LoansName:
		side = 0
	case side*side != set.Dimension() || side < 16:
		return Result{}, fmt.Errorf("ltn: %s has no square pictures, of which clusters are made", set.Name)
	}
	start := time.Now()
	t := &task{Cell: c, set: set, side: side, tell: tell}
	t.order = t.stream(forSplit).Perm(set.Train.Len())
	res, err := t.run()
	res.Seconds = time.Since(start).Seconds()
	return res, err
}

func (t *task) run() (res Result, err error) {
	if t.Mechanism != symbols {
		s := *t.set
		s.Train.X, s.Test.X = learn.Greys(s.Train.X), learn.Greys(s.Test.X)
		t.set = &s
		return t.vectors()
	}
	if t.side == 0 {
		public, _ := t.split()
		t.set = standard(t.set, public)
		t.train, t.test = t.set.Train.X, t.set.Test.X
		return t.collection()
	}
	if t.train, err = oriented(t.set.Train.X, t.side, t.tell); err != nil {
		return res, err
	}
	if t.test, err = oriented(t.set.Test.X, t.side, t.tell); err != nil {
		return res, err
	}
	if t.Application == novel {
		return t.novel()
	}
	return t.collection()
}

func oriented(x blas32.General, side int, tell simulate.Progress) (blas32.General, error) {
	return fit.Oriented(x, inputs.Size{Width: side, Height: side}, fit.Progress(tell))
}

func (t *task) stream(part uint64) *rand.Rand { return replay.New(t.Seed, part) }

// split is who is public, and who is asked.
func (t *task) split() (public, asked []int) {
	n := float64(len(t.order))
	at := int(publicShare * n)
	return t.order[:at], t.order[at : at+int(respondentShare*n)]
}

// finish adds what is said of every application.
func (t *task) finish(res Result, p plan.Plan, kinds int) Result {
	answer, a := randomize.KRR{K: kinds, Epsilon: t.Epsilon}, res.AccuracyClean
	res.AccuracyPrivate = a*answer.Prob(0, 0) + (1-a)*answer.Prob(0, 1)
	res.EpsilonLocal, res.EpsilonCentral, res.Delta = p.Budget.LocalEpsilon, min(p.Budget.Epsilon, p.Budget.LocalEpsilon), p.Budget.Delta
	res.Plan = experiments.WithoutKeys(p)
	return res
}
