package shufflerd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/wire"
)

// passes lets time pass on both clocks of the machine.
func (w *world) passes(d time.Duration) { w.now, w.mono = w.now.Add(d), w.mono+d }

func waits(t *testing.T, err error, when string) {
	t.Helper()
	if _, ok := errors.AsType[*clock.Unsettled](err); !ok {
		t.Errorf("%s: %v", when, err)
	}
}

// A wall clock that is wrong for some seconds ends no epoch, sends nobody away for
// good, and deletes nothing.
func TestAWrongClockEndsNothing(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.clock = true
	w.restart(0)
	w.passes(2 * time.Minute)
	w.contribute(0, 1, 2)

	right := w.now
	w.now = w.plan.Times.Closes.Add(2 * time.Hour)
	waits(t, w.step(), "after a jump past the end")
	if status, code := w.do(0, w.request("device3", w.contribution(0, 3))); status != 503 || code != wire.Overloaded {
		t.Errorf("a device is told %d %s, for good", status, code)
	}
	alarms := strings.Join(w.hops[0].service.Status(t.Context()).Alarms, " ")
	if !strings.Contains(alarms, "the clock was set") {
		t.Errorf("alarms %q", alarms)
	}
	w.now = right
	w.passes(2 * time.Second)
	if err := w.step(); err != nil {
		t.Error(err)
	}
	w.contribute(0, 3)

	// The end comes, and is believed after the clock has run evenly for a minute.
	w.cut = true
	w.passes(w.plan.Times.Closes.Sub(w.now))
	waits(t, w.step(), "at the end")
	w.passes(2 * time.Minute)
	if err := w.step(); err == nil {
		t.Fatal("the analyzer is out of reach")
	}
	if e := found(w.hops[0].service, w.plan.Hash()).posts[0].entry.Mark(); !e.Closed {
		t.Fatal("the epoch does not end")
	}

	// What is not delivered yet survives a jump past the retention.
	right = w.now
	w.now = w.plan.Times.Closes.Add(defaultRetention + 10*24*time.Hour)
	waits(t, w.step(), "after a jump past the retention")
	w.now, w.cut = right, false
	w.passes(2 * time.Minute)
	if err := w.step(); err != nil {
		t.Error(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
}

// A clock that runs evenly and is wrong is noticed by that of the others, unless none
// of them can be reached; the operator's word ends an epoch whatever the time.
func TestAClockThatNobodySharesEndsNothing(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.clock = true
	w.restart(0)
	w.contribute(0, 1, 2, 3)
	w.date = w.now // everybody else's
	w.passes(w.plan.Times.Closes.Sub(w.now) + time.Minute)
	w.passes(2 * time.Minute)
	w.step()
	w.passes(2 * time.Minute)
	waits(t, w.step(), "hours ahead of everybody else")
	if alarms := strings.Join(w.hops[0].service.Status(t.Context()).Alarms, " "); !strings.Contains(alarms, "differs from that of other machines") {
		t.Errorf("alarms %q", alarms)
	}
	if err := w.hops[0].service.Close(context.Background(), w.plan.Hash()); err != nil {
		t.Fatal(err)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})

	alone := newWorld(t, 1, nil)
	alone.clock = true
	alone.restart(0)
	alone.contribute(0, 1, 2, 3)
	alone.passes(alone.plan.Times.Closes.Sub(alone.now))
	alone.step()
	alone.passes(2 * time.Minute)
	if err := alone.step(); err != nil {
		t.Errorf("nobody can be reached: %v", err)
	}
	wantCrowds(t, alone, map[uint32][]string{0: sent(1, 2, 3)})
}
