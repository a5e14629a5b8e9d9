package experiments

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Measure is what one collection gives, in the numbers of a KDE's one run: those of
// its own release, so that a terminal and the page cannot differ. It adds to the
// release what only a simulation can: the accuracy without privacy. The headline of
// both is that of the classifier, HighestDensity or NearestMean.
func (c *Collected) Measure(set *dataset.Set, classifier string, progress simulate.Progress) (KDEResult, error) {
	q := c.Plan.Question.Density
	e := KDE{Kernel: encode.Kernel(q.Kernel.Name), Bandwidth: q.Kernel.Bandwidth}
	proto, err := protocol.New(c.Plan)
	if err != nil {
		return KDEResult{}, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return KDEResult{}, err
	}
	g := promise.Shuffled
	res := KDEResult{
		Dataset: set.Name, Synthetic: set.Synthetic, Kernel: q.Kernel.Name, Bitsum: q.Bitsum.Name, Accounting: q.Bitsum.Accounting,
		Repetitions: q.Repetitions, Runs: 1, LabelEpsilon: "none", Classifier: HighestDensity,
		Epsilon: &g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust), Method: g.Method, Certified: g.Certified,
		FlipProbability: q.Bitsum.FlipProbability, Noise: q.Bitsum.Noise, FloodShape: q.Bitsum.FloodShape, FloodProbability: q.Bitsum.FloodProbability,
		ChannelEpsilon: q.Bitsum.ChannelEpsilon, Theta: q.Bitsum.Theta, Drop: q.Bitsum.Drop, Size: q.Bitsum.Size,
		Mean: q.Bitsum.Mean, Shape: q.Bitsum.Shape, Probability: q.Bitsum.Probability,
		MessagesPerDevice: float64(c.Plan.Envelopes.PerDevice),
	}
	if label := c.Plan.Budget.LabelEpsilon; label != plan.Unprotected {
		res.LabelEpsilon = float64(label)
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
	if res.LabelEpsilon == "none" && len(c.Release.Withheld) == 0 {
		if res.KDERMSE, err = c.densityError(set, e); err != nil {
			return res, err
		}
	}
	res.AccuracyHighestDensity = metric(c.Release, "accuracy").Value
	res.AccuracyDebiased = metric(c.Release, "accuracy_debiased").Value
	res.AccuracyNearestMean = metric(c.Release, "accuracy_nearest_mean").Value
	res.AccuracyNoPrivacy = exactAccuracy(set, e.exact, progress)
	res.Accuracy = res.AccuracyHighestDensity
	if near := metric(c.Release, "accuracy_nearest_mean"); classifier == NearestMean && near.Name != "" {
		res.Classifier, res.Accuracy, res.AccuracyDebiased = NearestMean, near.Value, 0
		c.Release.Headline = append([]release.Metric{near}, c.Release.Headline...)
	}
	c.Release.Headline = append(c.Release.Headline, withoutPrivacy(res.AccuracyNoPrivacy))
	return res, nil
}

// densityError is the root mean square of the densities' errors at the first test records.
func (c *Collected) densityError(set *dataset.Set, e KDE) (float64, error) {
	at := set.Test.Head(densityQueries).X
	predictions, err := c.Model.Classify(at)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for class, x := range set.Train.ByClass(len(set.Classes)) {
		for i, exact := range e.exact(x, at) {
			d := predictions[i].Scores[class].Mean - exact
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(at.Rows*len(set.Classes))), nil
}

// withoutPrivacy is the baseline that a simulation has.
func withoutPrivacy(accuracy float64) release.Metric {
	return release.Metric{Name: "accuracy_no_privacy", Label: "Accuracy without any privacy", Value: accuracy, Unit: release.Share, Note: "exact kernel densities of all records"}
}

// metric is that of a name, in the headline or a section.
func metric(r release.Release, name string) release.Metric {
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

// exactAccuracy is that of the class of highest exact density.
func exactAccuracy(set *dataset.Set, exact func(records, queries blas32.General) []float64, progress simulate.Progress) float64 {
	best := make([]float64, set.Test.Len())
	class := make([]int, set.Test.Len())
	for c, x := range set.Train.ByClass(len(set.Classes)) {
		progress("the same without privacy", c, len(set.Classes))
		for i, k := range exact(x, set.Test.X) {
			if c == 0 || k > best[i] {
				best[i], class[i] = k, c
			}
		}
	}
	right := 0
	for i, y := range set.Test.Y {
		if class[i] == y {
			right++
		}
	}
	return float64(right) / float64(set.Test.Len())
}
