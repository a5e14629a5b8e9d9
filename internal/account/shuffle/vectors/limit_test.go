package vectors

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Where a line foretells the limit, a search ends where halving alone does, and asks the accountant half as often.
func TestALimitIsForetold(t *testing.T) {
	const epsilon, delta, guess = 1, 1e-6, 0.19
	asked := 0
	event := func(x float64) account.Event {
		asked++
		return VectorResponse{Users: 3000, Coordinates: 256, Flip: -x, SquaredGap: 64}
	}
	flip, ok := leastFlip(guess, newLimit(epsilon, delta, event))
	foretold := asked
	low, high := guess, guess*1.1
	enough := func(flip float64) bool {
		g, err := account.Epsilon(event(-flip), delta)
		return err == nil && profile.Keeps(g.Epsilon, epsilon)
	}
	if !ok || enough(low) || !enough(high) {
		t.Fatalf("%v, and the limit is not between %v and %v", ok, low, high)
	}
	for high-low > 1e-4*high {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if halved := asked - foretold; flip != high || foretold > 8 || halved < 12 {
		t.Errorf("%v after %d runs of the accountant, and %v by halving after %d", flip, foretold, high, halved)
	}
}
