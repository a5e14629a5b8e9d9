// Package lift tells how much more of something people of one arm have than those of another: the vector of a
// respondent, and sums of vectors read back. Used by question/experiment, internal/release/results and internal/release/trend.
package lift

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/plan"
)

// Person holds an arm, by number, and by metric the metric itself, what was known before, and what it is divided by.
type Person struct {
	Arm     int
	Numbers []float64
}

// Each is how many numbers an arm and a metric have: how far up in its range the metric is, how far below the end, and
// how far from both.
const Each = 3

// Scale is what 1 is told as where vectors are of whole numbers.
const Scale = 1<<16 - 1

// SquaredGap is the largest |v - v'|^2 of two vectors: their numbers are not below zero, and their lengths at most 1.
const SquaredGap = 2

var spread = math.Sqrt(8) // of the third number: u^2 + (1-u)^2 + 8 (u (1-u))^2 is at most 1

// Numbers returns how many a vector of an experiment has.
func Numbers(e plan.Experiment) int { return len(e.Arms) * len(e.Metrics) * Each }

// At returns where the numbers of an arm and a metric begin.
func At(e plan.Experiment, arm, metric int) int { return (arm*len(e.Metrics) + metric) * Each }

// Held returns how many numbers a respondent holds of a metric: itself, and what it is compared with or divided by.
func Held(m plan.Measure) int {
	n := 1
	if m.Before != "" {
		n++
	}
	if m.Per != "" {
		n++
	}
	return n
}

// Left returns what is left of a metric without what is subtracted, of the numbers that a respondent holds.
func Left(m plan.Measure, held []float64) float64 {
	left, at := held[0], 1
	if m.Before != "" {
		left -= float64(m.Times * math.Min(held[at], m.Most))
		at++
	}
	if m.Per != "" {
		left -= float64(m.Rate * held[at])
	}
	return left
}

// unit returns the place in the metric's range.
func unit(m plan.Measure, held []float64) float64 {
	return math.Max(0, math.Min(1, float64(Left(m, held)-m.Low)/float64(m.High-m.Low)))
}

// Check says why a respondent's numbers do not fit.
func Check(e plan.Experiment, arm int, held []float64) error {
	if arm < 0 || arm >= len(e.Arms) {
		return fmt.Errorf("experiment: the arm is none of the plan's %d", len(e.Arms))
	}
	want := 0
	for _, m := range e.Metrics {
		want += Held(m)
	}
	if len(held) != want {
		return fmt.Errorf("experiment: the record has not the plan's %d numbers", want)
	}
	at := 0
	for _, m := range e.Metrics {
		if left := Left(m, held[at:]); math.IsNaN(left) || math.IsInf(left, 0) || math.IsNaN(unit(m, held[at:])) {
			return fmt.Errorf("experiment: a number is not finite, or too large")
		}
		at += Held(m)
	}
	return nil
}

// Write writes the vector of a respondent whose numbers fit, of norm at most 1, to out, which is zero.
func Write(e plan.Experiment, arm int, held []float64, out []float32) {
	w, at := math.Sqrt(1/float64(len(e.Metrics))), At(e, arm, 0)
	for _, m := range e.Metrics {
		u := unit(m, held)
		for i, x := range [Each]float64{u, 1 - u, float64(spread*u) * (1 - u)} {
			out[at+i] = float32(w * x)
		}
		held, at = held[Held(m):], at+Each
	}
}

// Whole writes Scale times the vector, but for the metrics' common weight, in whole numbers: of each metric the squares of
// the three sum to at most that of Scale, as 8 (a b/Scale)^2 <= 2 a b where a + b is Scale.
func Whole(e plan.Experiment, arm int, held []float64, out []uint64) {
	at := At(e, arm, 0)
	for _, m := range e.Metrics {
		a := math.Floor(float64(unit(m, held)*Scale) + 0.5)
		b := Scale - a
		for i, x := range [Each]float64{a, b, math.Floor(float64(float64(spread*a)*b) / Scale)} {
			out[at+i] = uint64(x)
		}
		held, at = held[Held(m):], at+Each
	}
}

// SquaredShift returns the largest |v - v'|^2 of two vectors of whole numbers.
func SquaredShift(e plan.Experiment) float64 {
	return SquaredGap * Scale * Scale * float64(len(e.Metrics))
}

// Reach returns the largest sum of the sizes of a vector's numbers: u + (1-u) + sqrt 8/4 of each metric.
func Reach(e plan.Experiment) float64 {
	return math.Sqrt(float64(len(e.Metrics))) * (1 + spread/4)
}
