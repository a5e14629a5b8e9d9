package moments

import (
	"cmp"
	"math"
	"slices"
)

// Fit is how good a regression is on records of nobody who taught it.
type Fit struct {
	Explained float64 // R^2, the share of the targets' variance
	Coverage  float64 // of prediction intervals of 95 %
}

// Within95 is how many deviations an interval of 95 % reaches to either side.
const Within95 = 1.96

// Judge compares predictions with targets.
func Judge(predicted, target []float64, deviation float64) (f Fit) {
	n, mean := float64(len(target)), 0.0
	for _, t := range target {
		mean += t / n
	}
	left, all := 0.0, 0.0
	for i, t := range target {
		left += (t - predicted[i]) * (t - predicted[i])
		all += (t - mean) * (t - mean)
		if math.Abs(t-predicted[i]) <= Within95*deviation {
			f.Coverage += 1 / n
		}
	}
	f.Explained = 1 - left/all
	return f
}

// Ranked returns the chance that of two records of either class the second class's has the larger
// prediction: the area under the curve of true and false alarms.
func Ranked(predicted []float64, second []bool) float64 {
	order := make([]int, len(predicted))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(predicted[a], predicted[b]) })
	ranks, ones := 0.0, 0.0
	for rank, i := range order {
		if second[i] {
			ranks += float64(rank + 1)
			ones++
		}
	}
	return (ranks - ones*(ones+1)/2) / (ones * (float64(len(order)) - ones))
}
