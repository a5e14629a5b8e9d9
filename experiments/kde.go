// Package experiments holds the papers' measurements as runnable
// specifications: the same seed gives the same numbers on every machine.
package experiments

import (
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
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
	LocalEpsilon float64 // of bits and label though everyone colludes: beside Epsilon, or instead of it; 0: no limit
	Classifier   string  // whose accuracy is the headline: HighestDensity, which "" means, or NearestMean
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
	AccuracyExact     float64  `json:"accuracy_exact,omitempty"` // of the best classifier that sees the records themselves: Exact
	ExactClassifier   string   `json:"exact_classifier,omitempty"`
	Choice            string   `json:"choice,omitempty"` // how the kernel was chosen
	Epsilon           *float64 `json:"epsilon"`          // null: no guarantee
	Delta             float64  `json:"delta"`
	LabelEpsilon      any      `json:"label_epsilon"` // number or "none"
	EpsilonLocal      *float64 `json:"epsilon_local"` // of bits and label though everyone colludes; null: no guarantee
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
	KDERMSE           float64  `json:"kde_rmse,omitempty"` // of the densities at test records, against the exact ones
	Seconds           float64  `json:"seconds"`
	AccuracyDebiased  float64  `json:"accuracy_debiased,omitempty"` // label noise taken out; only where labels are randomized
	// Both classifiers; the nearest class mean is one of inner products only.
	Classifier                   string  `json:"classifier"` // that of Accuracy
	AccuracyHighestDensity       float64 `json:"accuracy_highest_density"`
	AccuracyNearestMean          float64 `json:"accuracy_nearest_mean,omitempty"`
	AccuracyNearestMeanNoPrivacy float64 `json:"accuracy_nearest_mean_no_privacy,omitempty"`
}

// Classifiers of KDE.
const (
	HighestDensity = "highest-density" // KDE, section 3.3
	NearestMean    = "nearest-mean"    // densities of inner products with the norms of the means corrected for
)

// innerProduct says whether there is a mean to be near to.
func (e KDE) innerProduct() bool { return strings.HasPrefix(string(e.Kernel), "ip-") }

// densityQueries is the number of test records at which densities are compared
// with the exact ones.
const densityQueries = 200

// Run measures the cell on a data set. progress is told of finished records.
func (e KDE) Run(set *dataset.Set, progress simulate.Progress) (KDEResult, error) {
	start := time.Now()
	if err := e.Validate(); err != nil {
		return KDEResult{}, err
	}
	c := Cell{
		Dataset: set.Name, Kernel: e.Kernel, Bandwidth: e.Bandwidth, Clip: e.Clip, Radius: e.Radius, Buckets: e.Buckets,
		Bitsum: e.Bitsum, Accounting: e.Accounting, Epsilon: e.Epsilon, Delta: e.Delta, LabelEpsilon: e.LabelEpsilon, LocalEpsilon: e.LocalEpsilon,
		Repetitions: e.Repetitions, Seed: e.Seed, Runs: e.Runs, Queries: densityQueries,
		NearestMean: e.innerProduct(),
	}
	b := newBench(nil)
	b.records, b.progress = inMemory(set), progress
	m, err := b.result(c)
	if err != nil {
		return KDEResult{}, err
	}
	res := *m.Result
	res.Classifier, res.AccuracyHighestDensity = HighestDensity, res.Accuracy
	res.AccuracyNearestMean, res.AccuracyNearestMeanNoPrivacy = m.NearestMean, m.NearestMeanNoPrivacy
	if e.Classifier == NearestMean {
		res.Classifier = NearestMean
		res.Accuracy, res.AccuracyStd, res.AccuracyNoPrivacy = m.NearestMean, m.NearestMeanStd, m.NearestMeanNoPrivacy
		res.AccuracyDebiased = 0 // measured for the highest density only
	}
	res.Seconds = time.Since(start).Seconds()
	return res, nil
}

// spec is the cell's feature map for vectors of the given dimension, but for its seed.
func (e KDE) spec(dimension int) encode.Spec {
	s := encode.Spec{Kernel: e.Kernel, Dimension: dimension, Repetitions: e.Repetitions}
	has := plan.Kernels[string(e.Kernel)]
	if has.Bandwidth {
		s.Bandwidth = e.Bandwidth
	}
	if has.Clip {
		s.Clip = e.Clip
	}
	if has.Radius {
		s.Radius = e.Radius
	}
	if has.Buckets {
		s.Buckets = e.Buckets
	}
	switch {
	case has.Single:
		s.Repetitions = 1 // it holds all of a value
	case s.Repetitions == 0:
		s.Repetitions = dimension
	}
	return s
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

func densityOf(f *encode.Features, users int, ones func(channel int) estimate.Value) kde.Density {
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
