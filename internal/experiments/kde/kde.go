// Package kde measures what KDE (shuffled differential privacy over kernel densities)
// measured: classifiers from sums of rounded bits, by plans of density questions and beside
// baselines.
package kde

import (
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/experiments"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// DensityQueries is the number of test records at which densities are compared
// with the exact ones.
const DensityQueries = 200

// Run measures a cell on a data set, with the accuracy of the classifier as its headline.
// progress is told of finished records.
func Run(c experiments.Cell, set *dataset.Set, classifier string, progress simulate.Progress) (experiments.Result, error) {
	start := time.Now()
	c.Dataset, c.Density.Queries, c.Density.NearestMean = set.Name, DensityQueries, c.Density.InnerProduct()
	b := newBench(nil)
	b.records, b.progress = inMemory(set), progress
	m, err := b.result(c)
	if err != nil {
		return experiments.Result{}, err
	}
	m.Result.Headline(classifier)
	m.Result.Seconds = time.Since(start).Seconds()
	return *m.Result, nil
}

// Exact is the density of the records at each query without any randomness.
func Exact(k plan.Kernel, records, queries blas32.General) []float64 {
	switch encode.Kernel(k.Name) {
	case encode.Gaussian, encode.GaussianPaired, encode.GaussianProjected:
		return kde.ExactGaussian(records, queries, k.Bandwidth)
	case encode.Laplacian, encode.LaplacianSign:
		return kde.ExactLaplacian(records, queries, k.Bandwidth)
	case encode.Exponential, encode.ExponentialSign:
		return kde.ExactExponential(records, queries, k.Bandwidth)
	}
	return kde.ExactInner(records, queries)
}

func accuracy(m *hdc.Model, test dataset.Labelled) (float64, error) {
	e, err := m.Evaluate(test.X, test.Y)
	return e.Accuracy, err
}

func nearestMean(m *hdc.Model, test dataset.Labelled) (float64, error) {
	near, err := m.NearestMean()
	if err != nil {
		return 0, err
	}
	return accuracy(near, test)
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }
