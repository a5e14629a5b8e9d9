package results

import (
	"math"

	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/prob/confidence"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// confidence returns how likely the classifier says that its class is the true one: by the logistic
// scores of gradients their softmax, by least squares the score itself; ok: sums of classes have
// none.
func (l *Linear) confidence(given []float32, sums string) (class int, confidence float64, ok bool) {
	scores := l.scores(given)
	for k, s := range scores {
		if s > scores[class] {
			class = k
		}
	}
	switch sums {
	case plan.SumsMoments:
		return class, math.Max(0, math.Min(1, scores[class])), true
	case plan.SumsGradients:
		rest := 0.0
		for _, s := range scores {
			rest += math.Exp(s - scores[class])
		}
		return class, 1 / rest, true
	}
	return class, 0, false
}

// calibrationBins are of test records, by what the classifier says of itself.
const calibrationBins = 5

// calibration compares what the classifier says of itself with public test records; none where
// it says nothing.
func (l *Linear) calibration(sums string, test Records) ([]release.Metric, []release.Table) {
	var said, right [calibrationBins]float64
	var n [calibrationBins]int
	for i, y := range test.Y {
		class, confidence, ok := l.confidence(rowOf(test.X, i), sums)
		if !ok {
			return nil, nil
		}
		at := min(calibrationBins-1, int(confidence*calibrationBins))
		said[at] += confidence
		n[at]++
		if class == y {
			right[at]++
		}
	}
	t := release.Table{Name: "calibration"}
	apart := 0.0
	for at, records := range n {
		if records == 0 {
			continue
		}
		apart += math.Abs(said[at]-right[at]) / float64(len(test.Y))
		low, high := confidence.Interval(int(right[at]), records, 1-hdc.Level)
		t.Rows = append(t.Rows, []release.Cell{
			release.Interval(float64(at)/calibrationBins, float64(at+1)/calibrationBins),
			release.Number(float64(records), 0), release.Number(said[at]/float64(records), 0), release.Interval(low, high),
		})
	}
	return []release.Metric{{Name: "calibration_error", Value: apart, Records: len(test.Y)}}, []release.Table{t}
}

// byClass lists how often the records of each class are taken for another.
func byClass(classes []string, e hdc.Evaluation) release.Table {
	t := release.Table{Name: "by_class"}
	for k, name := range classes {
		records, right := classified(e, k)
		if records == 0 {
			continue
		}
		low, high := confidence.Interval(records-right, records, 1-hdc.Level)
		t.Rows = append(t.Rows, []release.Cell{release.Named(name), release.Number(float64(records), 0), release.Number(float64(records-right)/float64(records), 0), release.Interval(low, high)})
	}
	return t
}

// classified returns the test records of a class, and those of them that are found.
func classified(e hdc.Evaluation, class int) (records, right int) {
	for _, n := range e.Confusion[class] {
		records += n
	}
	return records, e.Confusion[class][class]
}
