package ltn

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/kmeans"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Where the records that clusters and the network are made of are the collector's private ones (LTN's D1), half of
// their epsilon and of delta is for each of the two: sums of both are what is promised.

// roundsOfPrivate are those of k-means once there are enough clusters.
const roundsOfPrivate = 5

// mostPrivate returns how many clusters, up to so many, can be told from the noise of their centres.
func (t *task) mostPrivate(rows, upTo int) (int, error) {
	return kmeans.Private{Clusters: upTo, Rounds: roundsOfPrivate}.Most(rows, t.train.Cols, t.Central/2, deltaMade/2)
}

// privateMeans are clusters by k-means with noise.
func (t *task) privateMeans(x blas32.General, n int) (*clusters, error) {
	p, g, err := kmeans.Private{Clusters: n, Rounds: roundsOfPrivate}.Keeping(x.Rows, t.Central/2, deltaMade/2)
	if err != nil {
		return nil, err
	}
	s, err := p.Fit(t.stream(forNoise), t.stream(forClusters), x, featuremap.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	s.Width, s.Height = t.side, t.side
	return &clusters{state: s.Marshal(), centres: s.Centres, all: func(x blas32.General) []int { return cluster.All(s, x) }, epsilon: g.Epsilon}, s.Prepare()
}

// privateNet learns the likeliest class of each record's cluster by noisy gradients of a linear model.
func (t *task) privateNet(x blas32.General, of []int, targets [][]float64) (*nn.Model, float64, error) {
	const epochs, forGradients = 10, 100
	how, err := dpsgd.Batches(x.Rows, min(1024, x.Rows), epochs, 4)
	if err != nil {
		return nil, 0, err
	}
	how, g, err := how.Keeping(x.Rows, t.Central/2, deltaMade/2)
	if err != nil {
		return nil, 0, err
	}
	examples := make([]dpsgd.Example, 0, x.Rows)
	for i, c := range of {
		class := 0
		for y, share := range targets[c] {
			if share > targets[c][class] {
				class = y
			}
		}
		examples = append(examples, dpsgd.Example{X: x.Data[i*x.Stride:][:x.Cols], Class: class})
	}
	m, err := nn.New(t.stream(forNet), nn.Dense{In: x.Cols, Out: len(t.set.Classes)})
	if err != nil {
		return nil, 0, err
	}
	return m, g.Epsilon, how.Fit(t.stream(forGradients), m, examples)
}
