// Package ltn measures what is learned from private records though everyone colludes (LTN), where each respondent
// says one symbol. Used by lab/cmd/confetti-lab/experiment and lab/papers.
//
// A symbol is of a public cluster and a label jointly, under a plan of latent records. To tell a novel class the
// symbol is the cluster alone, and the group is no secret.
package ltn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/encoder"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Cell is one measurement.
type Cell struct {
	Dataset string `json:"dataset"`
	experiments.Records
	Seed uint64 `json:"seed"`
	// Encoder, where a vector is told, is the file of the encoder, which is made and kept there
	// where it is missing; none: it is made and not kept.
	Encoder string `json:"-"`
}

// Validate lists what is wrong with the cell.
func (c Cell) Validate() error {
	if c.Level == experiments.FeatureLevel && c.Encoder != "" {
		return errors.New("a file of an encoder has no way back to records, which this level needs: leave it out")
	}
	if c.Central > 0 && c.Encoder != "" {
		return errors.New("a file of an encoder holds one of public records: leave it out, or the central epsilon")
	}
	if c.Mechanism == experiments.Symbols && c.Encoder != "" {
		return errors.New("an encoder is of vectors: leave it out, or name another mechanism")
	}
	return c.Records.Validate()
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
	// AccuracyAlone is of joined columns without those of the other party. AccuracyNoPrivacy is then of
	// all of them as they are, and AccuracyPrivate of rows that are joined with noise.
	AccuracyAlone float64 `json:"accuracy_alone,omitempty"`
	// AccuracyClusters and Stated are those of experiments.Recorded.
	AccuracyClusters float64 `json:"accuracy_clusters,omitempty"`
	Stated           float64 `json:"stated,omitempty"`

	EpsilonLocal   float64 `json:"epsilon_local"`
	EpsilonCentral float64 `json:"epsilon_central"` // the same reports behind one honest hop
	Delta          float64 `json:"delta"`           // of EpsilonCentral
	// EpsilonMade, with delta 1e-5, is what the private records keep that clusters, encoder and network
	// were made of, where one counts for nothing in its place; Claim says what was promised to these records.
	EpsilonMade float64 `json:"epsilon_made,omitempty"`
	Claim       string  `json:"claim"`
	Respondents int     `json:"respondents"`
	Public      int     `json:"public"` // records without labels that made the clusters
	// Purity is the share of public records whose class is the commonest of their cluster; 0 where these
	// records are private (EpsilonMade), of whom it is not told. No setting comes of it.
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
	forNoise
	forSecond
)

// task is a measurement on its way.
type task struct {
	Cell
	*shared
	set         *dataset.Set
	side        int            // of a picture, in pixels; 0: records are no pictures
	train, test blas32.General // what clusters are made of, of all training and test records: oriented gradients of pictures
	order       []int          // of the training records
	public      int            // the first of the order that are public; 0: a share of all
	words       bool           // records are texts
	tell        simulate.Progress
}

// Run measures a cell on a set of square pictures, or on loans.
func Run(c Cell, set *dataset.Set, tell simulate.Progress) (Result, error) {
	return run(c, set, newShared(), tell)
}

// shared is what cells of one data set have in common.
type shared struct {
	made     map[string]*encoding
	first    map[string]*encoder.Trained // stages
	oriented [2]blas32.General           // gradients of all training and test pictures; none: not yet found
}

func newShared() *shared {
	return &shared{made: map[string]*encoding{}, first: map[string]*encoder.Trained{}}
}

func run(c Cell, set *dataset.Set, s *shared, tell simulate.Progress) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	side := int(math.Round(math.Sqrt(float64(set.Dimension()))))
	of, shifted := shiftOf(set.Name)
	switch loans := set.Name == LoansName; {
	case loans && c.Application == experiments.Novel || !loans && c.Application == experiments.Joining:
		return Result{}, fmt.Errorf("ltn: %s is not measured with %q: pictures have novel classes, and %s has columns to be joined", set.Name, c.Application, LoansName)
	case loans && c.Central > 0 && c.Mechanism == experiments.Symbols:
		return Result{}, fmt.Errorf("ltn: a central epsilon of %s by symbols: columns are scaled by the very records that it would be promised to: leave it out, or take vlm or pictures", set.Name)
	case loans:
		side = 0
	case shifted:
		if c.Application != experiments.Collecting || c.Mechanism != experiments.Symbols || c.Central > 0 {
			return Result{}, fmt.Errorf("ltn: %s is measured by symbols that are collected, with public clusters", set.Name)
		}
		side = 0
	case side*side != set.Dimension() || side < 16:
		return Result{}, fmt.Errorf("ltn: %s has no square pictures, of which clusters are made", set.Name)
	}
	start := time.Now()
	t := &task{Cell: c, shared: s, set: set, side: side, tell: tell}
	t.order = t.stream(forSplit).Perm(set.Train.Len())
	if shifted { // whose records are public is part of the set
		t.public, t.words = of.public, of.takes == nil
		slices.SortStableFunc(t.order, func(a, b int) int { return min(a/of.public, 1) - min(b/of.public, 1) })
	}
	res, err := t.run()
	res.Seconds = time.Since(start).Seconds()
	return res, err
}

func (t *task) run() (res Result, err error) {
	switch {
	case t.words:
		t.train, t.test = t.set.Train.X, t.set.Test.X
	case t.side == 0:
		public, _ := t.split()
		if t.Central > 0 && !t.PaperStages { // the others are private
			public = public[:len(public)/2]
		}
		t.set = standard(t.set, public)
		t.train, t.test = t.set.Train.X, t.set.Test.X
	case t.Mechanism != experiments.Symbols:
		s := *t.set
		s.Train.X, s.Test.X = encoder.Greys(s.Train.X), encoder.Greys(s.Test.X)
		t.set = &s
	default:
		for i, of := range []blas32.General{t.set.Train.X, t.set.Test.X} {
			if t.oriented[i].Rows > 0 {
				continue
			}
			if t.oriented[i], err = featuremap.Oriented(of, inputs.Size{Width: t.side, Height: t.side}, featuremap.Progress(t.tell)); err != nil {
				return res, err
			}
		}
		t.train, t.test = t.oriented[0], t.oriented[1]
	}
	switch {
	case t.Application == experiments.Joining:
		return t.joining()
	case t.Application == experiments.Novel && t.Mechanism == experiments.Symbols:
		return t.novel()
	case t.Application == experiments.Novel:
		return t.novelVectors()
	case t.Mechanism == experiments.Symbols:
		return t.collection()
	}
	return t.vectors()
}

func (t *task) stream(part uint64) *rand.Rand { return seeded.New(t.Seed, part) }

// split returns who is public, and who is asked.
func (t *task) split() (public, asked []int) {
	if t.public > 0 {
		return t.order[:t.public], t.order[t.public:]
	}
	n := float64(len(t.order))
	at := int(publicShare * n)
	return t.order[:at], t.order[at : at+int(respondentShare*n)]
}

// finish adds what is said of every application.
func (t *task) finish(res Result, p plan.Plan, kinds int) Result {
	answer, a := randomize.KRR{K: kinds, Epsilon: t.Epsilon}, res.AccuracyClean
	res.AccuracyPrivate = a*answer.Prob(0, 0) + (1-a)*answer.Prob(0, 1)
	res.EpsilonLocal, res.EpsilonCentral, res.Delta = p.Budget.LocalEpsilon, min(p.Budget.Epsilon, p.Budget.LocalEpsilon), p.Budget.Delta
	if res.Claim == "" {
		res.Claim = device.ClaimPublic
	}
	res.Plan = measure.WithoutKeys(p)
	return res
}
