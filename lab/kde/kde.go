// Package kde measures what KDE (shuffled differential privacy over kernel densities) measured: classifiers from
// sums of rounded bits, beside baselines. Used by lab/cmd/confetti-lab/experiment and lab/papers.
package kde

import (
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/simulate"
)

// Run measures a cell on a data set, with the accuracy of the classifier as its headline.
// progress is told of finished records.
func Run(c experiments.Cell, set *dataset.Set, classifier string, progress simulate.Progress) (experiments.Result, error) {
	start := time.Now()
	c.Dataset, c.Density.Queries, c.Density.NearestMean = set.Name, measure.DensityQueries, c.Density.InnerProduct()
	b := newBench(nil)
	b.records, b.progress = inMemory(set), progress
	m, err := b.result(c)
	if err != nil {
		return experiments.Result{}, err
	}
	headline(m.Result.Accuracies, classifier)
	m.Result.Seconds = time.Since(start).Seconds()
	return *m.Result, nil
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

// headline makes the accuracy that of the classifier.
func headline(a *measure.Accuracies, classifier string) {
	if classifier != measure.NearestMean || a.AccuracyNearestMean == 0 {
		return
	}
	a.Classifier, a.Accuracy, a.AccuracyStd, a.AccuracyNoPrivacy = measure.NearestMean, a.AccuracyNearestMean, a.AccuracyNearestMeanStd, a.AccuracyNearestMeanNoPrivacy
	a.AccuracyDebiased = 0 // measured for the highest density only
}
