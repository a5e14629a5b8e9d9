package shuffle

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/central"
)

// The least flips that keep a local epsilon, against the loss of one report.
func TestLocalFlip(t *testing.T) {
	logit := func(p float64) float64 { return math.Log((1 - p) / p) }
	for name, c := range map[string]struct {
		event func(flip float64) account.Event
		most  float64
		local func(flip float64) float64
	}{
		"rr":                   {func(p float64) account.Event { return account.Repeat{Event: RandomizedResponse{1000, p}, Rounds: 4} }, 0.5, func(p float64) float64 { return 4 * logit(p) }},
		"one-hot, removal":     {func(p float64) account.Event { return OneHot{Users: 1000, Flip: p, Adjacency: account.Removal} }, 0.5, logit},
		"one-hot, replacement": {func(p float64) account.Event { return OneHot{Users: 1000, Flip: p, Adjacency: account.Replacement} }, 0.5, func(p float64) float64 { return 2 * logit(p) }},
		"asymmetric, replacement": {func(p float64) account.Event {
			return OneHot{Users: 1000, Flip: p, Adjacency: account.Replacement, Keep: 0.5}
		}, 0.5 - 1e-12, logit},
	} {
		for _, epsilon := range []float64{0.01, 1, 7} {
			flip, err := LocalFlip(epsilon, c.most, c.event)
			if err != nil {
				t.Errorf("%s, %v: %v", name, epsilon, err)
				continue
			}
			if got := c.local(flip); got > epsilon || got < epsilon*(1-1e-6) {
				t.Errorf("%s: flip %v has local epsilon %v, want %v", name, flip, got, epsilon)
			}
		}
	}
	for name, event := range map[string]func(float64) account.Event{
		"3nb": func(float64) account.Event {
			return bitnoise.ThreeNB{Users: 500, Noise: 0.5, FloodShape: 12, FloodProb: 0.98}
		}, "a curator": func(float64) account.Event { return central.Gaussian{Sigma: 1, Sensitivity: 1} }, "nothing": func(float64) account.Event { return nil },
	} {
		if flip, err := LocalFlip(1, 0.5, event); err == nil {
			t.Errorf("%s: flip %v", name, flip)
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if flip, err := LocalFlip(bad, 0.5, func(p float64) account.Event { return RandomizedResponse{10, p} }); err == nil {
			t.Errorf("local epsilon %v: flip %v", bad, flip)
		}
	}
}
