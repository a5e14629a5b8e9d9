package issuer

import (
	"net/http"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A wall clock that is wrong for some seconds makes the issuer forget nobody, and
// sends nobody away for good.
func TestAWrongClockForgetsNothing(t *testing.T) {
	w := newWorld(t)
	var mono time.Duration
	w.options.Clock = clock.Watch(func() time.Time { return w.now }, func() time.Duration { return mono })
	w.restart()
	right := w.now
	mono += 2 * time.Minute
	right = right.Add(2 * time.Minute)

	w.now = w.plan.Times.Closes.Add(3 * 24 * time.Hour)
	if err := w.service.Sweep(); err != nil {
		t.Error(err)
	}
	if len(w.service.sorted()) != 1 {
		t.Fatal("the plan is forgotten")
	}
	asks, _ := w.ask(token.Seed{1})
	_, p := w.issue("alice", asks)
	wants(t, p, wire.Overloaded, "while the clock is wrong")
	w.now = right
	if _, p := w.issue("alice", asks); p != nil {
		t.Error(p)
	}

	// The retention's end is believed after a minute.
	w.now = w.plan.Times.Closes.Add(defaultRetention)
	mono += w.now.Sub(right)
	for range 2 {
		if err := w.service.Sweep(); err != nil {
			t.Error(err)
		}
		w.now, mono = w.now.Add(2*time.Minute), mono+2*time.Minute
	}
	if len(w.service.sorted()) != 0 {
		t.Error("the plan is kept for ever")
	}
	_, _, p = w.do(http.MethodGet, wire.PlanPath(w.plan.Hash()), "", "", nil)
	wants(t, p, wire.UnknownPlan, "after the retention")
}
