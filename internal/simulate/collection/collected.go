package collection

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Measure returns what one collection gives, in the numbers of a cell's one run: those of
// its own release, so that a terminal and the page cannot differ. It adds to the
// release what only a simulation can: the accuracy without privacy. The headline of
// both is that of the classifier.
func (c *Collected) Measure(set *dataset.Set, classifier string, progress simulate.Progress) (measure.Result, error) {
	kernel := c.Plan.Question.Density.Kernel
	proto, err := protocol.New(c.Plan)
	if err != nil {
		return measure.Result{}, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return measure.Result{}, err
	}
	res := measure.Result{
		Dataset: set.Name, Synthetic: set.Synthetic, Respondents: c.Devices, Plan: measure.WithoutKeys(c.Plan),
		Promised:   measure.PromisedBy(promise.Shuffled),
		Accuracies: &measure.Accuracies{Classifier: measure.HighestDensity},
	}
	res.MessagesPerDevice = float64(c.Plan.Envelopes.PerDevice)
	for _, s := range promise.Statements {
		if s.Guarantee.Trust == account.Local {
			res.EpsilonLocal = measure.Finite(s.Guarantee.Epsilon)
		}
	}
	for _, n := range c.Model.Reported {
		if n > 0 && (res.Users == 0 || n < res.Users) {
			res.Users = n
		}
	}
	squares, channels := 0.0, 0
	for _, sums := range proto.Estimate(c.Crowds) {
		for _, v := range sums {
			squares += v.StdErr * v.StdErr
		}
		channels += len(sums)
	}
	res.RMSEBitsum = math.Sqrt(squares / float64(max(1, channels)))
	if c.Plan.Budget.LabelEpsilon == plan.Unprotected && len(c.Release.Withheld) == 0 {
		if res.KDERMSE, err = c.densityError(set, kernel); err != nil {
			return res, err
		}
	}
	res.AccuracyHighestDensity = Metric(c.Release, "accuracy").Value
	res.AccuracyDebiased = Metric(c.Release, "accuracy_debiased").Value
	res.AccuracyNearestMean = Metric(c.Release, "accuracy_nearest_mean").Value
	res.AccuracyNoPrivacy = measure.ExactAccuracy(set, exactly(kernel), progress)
	res.Accuracy = res.AccuracyHighestDensity
	if near := Metric(c.Release, "accuracy_nearest_mean"); classifier == measure.NearestMean && near.Name != "" {
		res.Classifier, res.Accuracy, res.AccuracyDebiased = measure.NearestMean, near.Value, 0
		c.Release.Headline = append([]release.Metric{near}, c.Release.Headline...)
	}
	return res, c.Add("accuracy_no_privacy", res.AccuracyNoPrivacy)
}

// densityError returns the root mean square of the densities' errors at the first test records.
func (c *Collected) densityError(set *dataset.Set, kernel plan.Kernel) (float64, error) {
	at := set.Test.Head(measure.DensityQueries).X
	predictions, err := c.Model.Classify(at)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for class, x := range set.Train.ByClass(len(set.Classes)) {
		for i, exact := range measure.Exact(kernel, x, at) {
			d := predictions[i].Scores[class].Mean - exact
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(at.Rows*len(set.Classes))), nil
}

// Add adds to the headline what only a simulation knows.
func (c *Collected) Add(name string, value float64) error {
	proto, err := protocol.New(c.Plan)
	if err != nil {
		return err
	}
	c.Release.Headline = append(c.Release.Headline, release.Metric{Name: name, Value: value})
	return results.Words(c.Plan, proto.Question, &c.Release)
}

// Metric returns that of a name, in the headline or a section.
func Metric(r release.Release, name string) release.Metric {
	for _, m := range r.Headline {
		if m.Name == name {
			return m
		}
	}
	for _, s := range r.Sections {
		for _, m := range s.Metrics {
			if m.Name == name {
				return m
			}
		}
	}
	return release.Metric{}
}

// exactly returns the density without any randomness.
func exactly(kernel plan.Kernel) func(records, queries blas32.General) []float64 {
	return func(records, queries blas32.General) []float64 { return measure.Exact(kernel, records, queries) }
}
