package issuer

import (
	"errors"
	"net/http"
	"strings"
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

// hopsAt answers for hops whose clocks show a time.
type hopsAt struct{ now time.Time }

func (h *hopsAt) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/healthz" {
		return nil, errors.New("nobody asked for that")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {h.now.UTC().Format(http.TimeFormat)}}, Body: http.NoBody, Request: r}, nil
}

// An issuer whose clock was wrong before it was started forgets nobody either: the hops
// of the plan have another time.
func TestAClockThatNoHopSharesForgetsNothing(t *testing.T) {
	w := newWorld(t)
	if len(w.plan.HopURLs()) == 0 {
		t.Fatal("no hop of the plan has a URL")
	}
	var mono time.Duration
	hops := &hopsAt{w.now}
	w.now = w.plan.Times.Closes.Add(3 * 24 * time.Hour)
	w.options.Clock = clock.Watch(func() time.Time { return w.now }, func() time.Duration { return mono })
	w.options.Client = &http.Client{Transport: hops}
	w.restart()
	w.now, mono = w.now.Add(2*time.Minute), mono+2*time.Minute
	if err := w.service.Sweep(); err != nil {
		t.Error(err)
	}
	if alarms := strings.Join(w.service.unserved(), " "); len(w.service.sorted()) != 1 || !strings.Contains(alarms, "waits to be forgotten: clock: it differs") {
		t.Errorf("%d plans, alarms %q", len(w.service.sorted()), alarms)
	}
	hops.now = w.now
	if err := w.service.Sweep(); err != nil {
		t.Error(err)
	}
	if alarms := w.service.unserved(); len(w.service.sorted()) != 0 || len(alarms) > 0 {
		t.Errorf("%d plans, alarms %q", len(w.service.sorted()), alarms)
	}
}
