package learn

import (
	"math"

	"github.com/confetti-dp/confetti/internal/learn/moments"
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

// classified returns the share of records whose class is found.
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
// within its intervals; where targets are two, how it ranks them.
func (r records) predicted(value func(x []float32) float64, deviation float64) score {
	predicted, second, two := make([]float64, r.x.Rows), make([]bool, r.x.Rows), true
	for i, t := range r.target {
		predicted[i], second[i] = value(r.row(i)), t > 0
		two = two && math.Abs(t) == 1
	}
	if two {
		return score{value: moments.Ranked(predicted, second)}
	}
	f := moments.Judge(predicted, r.target, deviation)
	return score{value: f.Explained, coverage: f.Coverage}
}
