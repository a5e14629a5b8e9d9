package terminal

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
)

// What is counted is reported at the end at the latest. The twin is stopped before the work.
func TestCountingTellsTheMillions(t *testing.T) {
	told := func(early bool) (last int) {
		stop := count(func(millions int) { last = millions })
		if early {
			stop()
		}
		prob.Count(5_000_000)
		if !early {
			stop()
		}
		return last
	}
	if n := told(false); n != 5 {
		t.Errorf("%d million of 5", n)
	}
	if n := told(true); n != 0 {
		t.Errorf("what was stopped tells %d million", n)
	}
}
