package learn

import (
	"cmp"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/learn/moments"
)

// score is how good a model is on test records, which nobody who answered holds.
type score struct {
	value     float64
	deviation float64   // standard error of value over test records, for accuracy
	wrong     []float64 // share of each class that is taken for another
	coverage  float64   // of prediction intervals of 95 %
}

// interval of 95 % over test records.
func (s score) interval() (low, high float64) {
	return math.Max(0, s.value-1.96*s.deviation), math.Min(1, s.value+1.96*s.deviation)
}

// classified is the share of records whose class is found.
func (r records) classified(class func(x []float32) int, classes int) score {
	found := make([]int, r.x.Rows)
	each(r.x.Rows, func() struct{} { return struct{}{} }, func(_ struct{}, i int) { found[i] = class(r.row(i)) })
	s := score{wrong: make([]float64, classes)}
	count := make([]float64, classes)
	for i, y := range r.y {
		count[y]++
		if found[i] != y {
			s.wrong[y]++
		}
	}
	all, errors := float64(len(r.y)), 0.0
	for k := range s.wrong {
		errors += s.wrong[k]
		s.wrong[k] /= math.Max(1, count[k])
	}
	s.value = 1 - errors/all
	s.deviation = math.Sqrt(s.value * (1 - s.value) / all)
	return s
}

// predicted scores a regression: the share of the variance that it explains, and of targets
// within 1.96 deviations; where targets are two, the chance that the larger one's prediction is
// the larger.
func (r records) predicted(f moments.Regression) score {
	type pair struct{ prediction, target float64 }
	pairs := make([]pair, r.x.Rows)
	mean, s := 0.0, score{}
	for i, t := range r.target {
		pairs[i] = pair{f.Value(r.row(i)), t}
		mean += t / float64(len(pairs))
	}
	left, all := 0.0, 0.0
	for _, p := range pairs {
		left += (p.target - p.prediction) * (p.target - p.prediction)
		all += (p.target - mean) * (p.target - mean)
		if math.Abs(p.target-p.prediction) <= 1.96*f.Deviation {
			s.coverage += 1 / float64(len(pairs))
		}
	}
	s.value = 1 - left/all
	if !slices.ContainsFunc(pairs, func(p pair) bool { return math.Abs(p.target) != 1 }) {
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.prediction, b.prediction) })
		ranks, ones := 0.0, 0.0
		for i, p := range pairs {
			if p.target > 0 {
				ranks += float64(i + 1)
				ones++
			}
		}
		others := float64(len(pairs)) - ones
		s.value = (ranks - ones*(ones+1)/2) / (ones * others)
	}
	return s
}
