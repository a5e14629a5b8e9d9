package cluster

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Encode trains the network by which a device finds its cluster: on the public inputs' own
// clusters, of any number below one more than the largest. Sizes are those that it gives.
func Encode(r *rand.Rand, x blas32.General, clusters []int, tell featuremap.Progress) (*cluster.Encoder, error) {
	count := slices.Max(clusters) + 1
	const seen = 240_000 // inputs: four times those of the data sets that this was tried on
	how := training.Training{Hidden: 128, Epochs: max(4, seen/x.Rows), Batch: 100, Rate: 0.003, Loss: nn.CrossEntropy}
	m, err := training.Fit(r, x, training.OneHot(clusters, count), count, how, tell)
	if err != nil {
		return nil, err
	}
	e := &cluster.Encoder{Net: m, Sizes: make([]int, count)}
	for _, c := range e.All(x) {
		e.Sizes[c]++
	}
	return e, e.Check()
}
