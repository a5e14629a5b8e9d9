package ask

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// A range is cut at both ends: of a share that noise takes far out of what a share can be it would end before it begins.
func TestARangeBeginsBeforeItEnds(t *testing.T) {
	for _, least := range []float64{0, -1} {
		for _, mean := range []float64{-30, -1, 0, .5, 1, 30} {
			e := effectOf(estimate.Value{Mean: mean, StdErr: .1}, 2, least)
			if e.Low > e.High || e.Low < least || e.High > 1 {
				t.Errorf("a share of %g from %g on has the range %g to %g", mean, least, e.Low, e.High)
			}
		}
	}
}
