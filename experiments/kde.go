// Package experiments holds the papers' measurements as runnable
// specifications: the same seed gives the same numbers on every machine.
package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
)

// KDE is one cell of the figures of KDE, section 4: a kernel, a bitsum and a
// budget on one data set, at fidelity law.
type KDE struct {
	Kernel       encode.Kernel
	Bandwidth    float64 // of kernels of a distance
	Clip         float64 // of ip-rotated
	Radius       float64 // of the exponential kernels
	Buckets      int     // of laplacian and exponential
	Bitsum       string  // "rr", "3nb", "central" (Gaussian), "local" (RR without a shuffler), "none"
	Accounting   account.Accounting
	Epsilon      float64
	Delta        float64
	LabelEpsilon float64 // 0: labels are sent as they are
	Repetitions  int     // I; 0: the dimension, as in the paper; 1 for the identity
	Seed         uint64
	Runs         int
}

// KDEResult is what a cell gives. Means are over runs, which draw new features
// and new noise.
type KDEResult struct {
	Dataset           string   `json:"dataset"`
	Synthetic         bool     `json:"synthetic"`
	Kernel            string   `json:"kernel"`
	Bitsum            string   `json:"bitsum"`
	Accounting        string   `json:"accounting"`
	Repetitions       int      `json:"repetitions"`
	Runs              int      `json:"runs"`
	Seed              uint64   `json:"seed"`
	Users             int      `json:"users"` // smallest reported class of the first run: what the noise is calibrated to
	Accuracy          float64  `json:"accuracy"`
	AccuracyStd       float64  `json:"accuracy_std"` // standard deviation over runs; 0 for one run
	AccuracyNoPrivacy float64  `json:"accuracy_no_privacy"`
	Epsilon           *float64 `json:"epsilon"` // null: no guarantee
	Delta             float64  `json:"delta"`
	LabelEpsilon      any      `json:"label_epsilon"` // number or "none"
	Adjacency         string   `json:"adjacency"`
	Trust             string   `json:"trust"`
	Method            string   `json:"method"`
	Certified         string   `json:"certified,omitempty"`
	FlipProbability   float64  `json:"flip_probability,omitempty"`
	Noise             float64  `json:"noise,omitempty"`
	FloodShape        float64  `json:"flood_shape,omitempty"`
	FloodProbability  float64  `json:"flood_probability,omitempty"`
	ChannelEpsilon    float64  `json:"channel_epsilon,omitempty"` // of pure
	Theta             float64  `json:"theta,omitempty"`
	Drop              float64  `json:"drop,omitempty"`
	Size              int      `json:"size,omitempty"`
	Mean              float64  `json:"mean,omitempty"`  // of poisson
	Shape             float64  `json:"shape,omitempty"` // of nb
	Probability       float64  `json:"probability,omitempty"`
	Sigma             float64  `json:"sigma,omitempty"`
	RMSEBitsum        float64  `json:"rmse_bitsum"` // of one channel's sum, in respondents
	MessagesPerDevice float64  `json:"messages_per_device"`
	KDERMSE           float64  `json:"kde_rmse"` // of the densities at test records, against the exact ones
	Seconds           float64  `json:"seconds"`
	AccuracyDebiased  float64  `json:"accuracy_debiased,omitempty"` // label noise taken out; only where labels are randomized
}

// densityQueries is the number of test records at which densities are compared
// with the exact ones.
const densityQueries = 200

// Run measures the cell on a data set. progress is told of finished records.
func (e KDE) Run(set *dataset.Set, progress func(stage string, done, total int)) (KDEResult, error) {
	start := time.Now()
	if err := e.Validate(); err != nil {
		return KDEResult{}, err
	}
	if e.Repetitions == 0 {
		e.Repetitions = set.Dimension()
	}
	if plan.Kernels[string(e.Kernel)].Single {
		e.Repetitions = 1 // it holds all of a value
	}
	res := KDEResult{
		Dataset: set.Name, Synthetic: set.Synthetic, Kernel: string(e.Kernel), Bitsum: e.Bitsum, Accounting: string(e.Accounting),
		Repetitions: e.Repetitions, Runs: e.Runs, Seed: e.Seed, LabelEpsilon: "none",
	}
	if e.LabelEpsilon > 0 {
		res.LabelEpsilon = e.LabelEpsilon
	}
	var accuracies, clean, noisy, squares []float64
	var m mechanism
	for run := range e.Runs {
		o, err := e.once(set, uint64(run), &m, func(stage string, done, total int) {
			progress(fmt.Sprintf("run %d of %d: %s", run+1, e.Runs, stage), done, total)
		})
		if err != nil {
			return res, err
		}
		if run == 0 {
			res.Users = o.users
		}
		accuracies, clean, squares = append(accuracies, o.accuracy), append(clean, o.noPrivacy), append(squares, o.squaredError)
		if e.LabelEpsilon > 0 {
			noisy = append(noisy, o.debiased)
		}
	}
	res.Accuracy, res.AccuracyStd = meanStd(accuracies)
	res.AccuracyNoPrivacy, _ = meanStd(clean)
	res.AccuracyDebiased, _ = meanStd(noisy)
	s, _ := meanStd(squares)
	res.KDERMSE = math.Sqrt(s)
	m.state(&res)
	res.Seconds = time.Since(start).Seconds()
	return res, nil
}

type outcome struct {
	users                         int
	accuracy, noPrivacy, debiased float64
	squaredError                  float64 // mean square of the densities' errors
}

// once is a single run. The mechanism is calibrated in the first one, to the
// smallest reported class; where a later run's is smaller still, again.
func (e KDE) once(set *dataset.Set, run uint64, m *mechanism, progress func(string, int, int)) (outcome, error) {
	const forSeed, forLabels, forBits, forTruth, forTotals = 0, 1, 2, 3, 4
	var o outcome
	spec := encode.Spec{Kernel: e.Kernel, Dimension: set.Dimension(), Repetitions: e.Repetitions}
	has := plan.Kernels[string(e.Kernel)]
	if has.Bandwidth {
		spec.Bandwidth = e.Bandwidth
	}
	if has.Clip {
		spec.Clip = e.Clip
	}
	if has.Radius {
		spec.Radius = e.Radius
	}
	if has.Buckets {
		spec.Buckets = e.Buckets
	}
	seed := replay.New(e.Seed, run, forSeed)
	for i := range spec.Seed {
		spec.Seed[i] = byte(seed.Uint32())
	}
	features, err := encode.New(spec)
	if err != nil {
		return o, err
	}

	reported := set.Train.Y
	label := randomize.KRR{K: len(set.Classes), Epsilon: e.LabelEpsilon}
	if e.LabelEpsilon > 0 {
		r := replay.New(e.Seed, run, forLabels)
		reported = make([]int, len(set.Train.Y))
		for i, y := range set.Train.Y {
			reported[i] = label.Randomize(r, y)
		}
	}
	groups := group(reported, len(set.Classes))
	o.users = set.Train.Len()
	for c, g := range groups {
		if len(g) == 0 {
			return o, fmt.Errorf("class %q has no records: every class needs some", set.Classes[c])
		}
		o.users = min(o.users, len(g))
	}
	if m.estimate == nil || o.users < m.guarantee.Users {
		if *m, err = e.calibrate(o.users, features); err != nil {
			return o, err
		}
	}

	sum := func(groups [][]int, what uint64, stage string) ([][]int, error) {
		ones := make([][]int, len(groups))
		done := 0
		for c, g := range groups {
			var err error
			ones[c], err = kde.SumBits(features, len(g), func(i int) []float32 { return row(set.Train.X, g[i]) },
				func(part int) *rand.Rand { return replay.New(e.Seed, run, what, uint64(c), uint64(part)) },
				func(n int) { progress(stage, done+n, set.Train.Len()) })
			if err != nil {
				return nil, fmt.Errorf("class %q: %w", set.Classes[c], err)
			}
			done += len(g)
		}
		return ones, nil
	}
	ones, err := sum(groups, forBits, "devices")
	if err != nil {
		return o, err
	}
	private := make([]kde.Density, len(groups))
	for c, g := range groups {
		r := replay.New(e.Seed, run, forTotals, uint64(c))
		private[c] = density(features, len(g), func(channel int) estimate.Value { return m.estimate(r, ones[c][channel], len(g)) })
	}
	model, err := hdc.New(set.Classes, private)
	if err != nil {
		return o, err
	}
	if o.accuracy, err = accuracy(model, set.Test); err != nil {
		return o, err
	}
	if e.LabelEpsilon > 0 {
		debiased, err := model.Debias(label)
		if err != nil {
			return o, err
		}
		if o.debiased, err = accuracy(debiased, set.Test); err != nil {
			return o, err
		}
	}

	// Without privacy: true labels, exact sums of the same rounded features.
	trueOnes, trueGroups := ones, groups
	if e.LabelEpsilon > 0 {
		trueGroups = group(set.Train.Y, len(set.Classes))
		if trueOnes, err = sum(trueGroups, forTruth, "no privacy"); err != nil {
			return o, err
		}
	}
	open := make([]kde.Density, len(groups))
	for c, g := range trueGroups {
		open[c] = density(features, len(g), func(channel int) estimate.Value { return estimate.Exact(float64(trueOnes[c][channel])) })
	}
	if model, err = hdc.New(set.Classes, open); err != nil {
		return o, err
	}
	if o.noPrivacy, err = accuracy(model, set.Test); err != nil {
		return o, err
	}
	o.squaredError, err = e.squaredError(set, groups, private)
	return o, err
}

// squaredError compares the densities of the reported classes with the exact
// ones of the same respondents, at the first test records.
func (e KDE) squaredError(set *dataset.Set, groups [][]int, densities []kde.Density) (float64, error) {
	queries := set.Test.Head(densityQueries).X
	sum := 0.0
	for c, g := range groups {
		x := blas32.General{Rows: len(g), Cols: set.Dimension(), Stride: set.Dimension(), Data: make([]float32, len(g)*set.Dimension())}
		for i, at := range g {
			copy(x.Data[i*x.Stride:], row(set.Train.X, at))
		}
		exact := e.exact(x, queries)
		got, err := densities[c].QueryAll(queries)
		if err != nil {
			return 0, err
		}
		for i, v := range got {
			sum += (v.Mean - exact[i]) * (v.Mean - exact[i])
		}
	}
	return sum / float64(queries.Rows*len(groups)), nil
}

// exact is the density of the records at each query without any randomness.
func (e KDE) exact(records, queries blas32.General) []float64 {
	switch e.Kernel {
	case encode.Gaussian, encode.GaussianPaired:
		return kde.ExactGaussian(records, queries, e.Bandwidth)
	case encode.Laplacian, encode.LaplacianSign:
		return kde.ExactLaplacian(records, queries, e.Bandwidth)
	case encode.Exponential, encode.ExponentialSign:
		return kde.ExactExponential(records, queries, e.Bandwidth)
	}
	return kde.ExactInner(records, queries)
}

func density(f *encode.Features, users int, ones func(channel int) estimate.Value) kde.Density {
	d := kde.Density{Features: f, Respondents: users, Sums: make([]estimate.Value, f.Channels())}
	for c := range d.Sums {
		d.Sums[c] = ones(c)
	}
	return d
}

func accuracy(m *hdc.Model, test dataset.Labelled) (float64, error) {
	e, err := m.Evaluate(test.X, test.Y)
	return e.Accuracy, err
}

// group lists the rows of each class.
func group(classes []int, k int) [][]int {
	groups := make([][]int, k)
	for i, c := range classes {
		groups[c] = append(groups[c], i)
	}
	return groups
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }

func meanStd(x []float64) (mean, std float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	if len(x) > 1 {
		std = math.Sqrt(std / float64(len(x)-1))
	}
	return mean, std
}
