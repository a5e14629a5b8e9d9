// Package labels learns classifiers of public features from what was said of their private labels, at no cost beyond
// what was said. Used by lab/cmd/confetti-lab/train and lab/labels.
package labels

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Settings are constants of the learners. They were chosen on drawn images
// (lab/labels/settle), and are the same for every data set.
type Settings struct {
	Rounds int     // how often a network learns from its own classes
	Steps  int     // of descent with sums: where these are noisy, few are the better ones
	Ridge  float64 // added to the loss for the squared length of weights, in variances of a number of the mean
}

// Usual settings.
var Usual = Settings{Rounds: 4, Steps: 4, Ridge: 2500}

// againEpochs is how long a network learns from its own classes.
const againEpochs = 3

// InClusters learns from how likely each label is in each public cluster (nil of one that was
// withheld), given the cluster of each public example: first from these, then from itself.
func (s Settings) InClusters(r *rand.Rand, x blas32.General, of []int, posteriors [][]float64, classes int, tell featuremap.Progress) (*nn.Model, error) {
	m, err := training.FromClusters(r, x, of, posteriors, classes, tell)
	if err != nil {
		return nil, err
	}
	return s.Again(r, m, x, tell)
}

// OneByOne learns from labels, one for each public example, that went through k-ary randomized
// response of a local epsilon: first from these, then from itself, unless the reports of few alike
// examples speak for themselves.
func (s Settings) OneByOne(r *rand.Rand, x blas32.General, reported []int, epsilon float64, classes int, tell featuremap.Progress) (*nn.Model, error) {
	m, err := training.Through(r, x, reported, epsilon, classes, tell)
	if err != nil || clear(randomize.KRR{K: classes, Epsilon: epsilon}) {
		return m, err
	}
	return s.Again(r, m, x, tell)
}

// clear says that counts are clear of their noise, in the root mean square over labels, among so
// few reports of one label that no cluster holds fewer.
func clear(m randomize.KRR) bool {
	return cluster.Clear*m.RMSE(cluster.Fewest) <= cluster.Fewest
}

// Again goes on from a network without being told anything: each public example counts as of
// the class that the network finds for it, another network learns these, and so on (Lee 2013).
// Examples that stand in a cluster of another label, or whose report was a lie, are mended by
// those that are like them.
func (s Settings) Again(r *rand.Rand, m *nn.Model, x blas32.General, tell featuremap.Progress) (*nn.Model, error) {
	for round := range s.Rounds {
		tell("learning from its own classes", round, s.Rounds)
		found := nn.Classify(m, func(i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }, x.Rows)
		var err error
		if m, err = training.Fit(r, x, training.OneHot(found, m.Outputs()), m.Outputs(), training.Schedule(x.Rows, againEpochs, nn.CrossEntropy), func(string, int, int) {}); err != nil {
			return nil, err
		}
	}
	return m, nil
}
