package service_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A wall clock that is wrong for some seconds closes no collection, whose budget
// would be spent for nothing.
func TestAWrongClockClosesNothing(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "a.db"), c)
	var mono time.Duration
	r.watched = clock.Watch(r.now, func() time.Duration { return mono })
	r.restart()
	r.wants(r.register(c), created, "")
	passes := func(d time.Duration) { r.at(r.now().Add(d)); mono += d }
	passes(2 * time.Minute)
	waits := func(when string) {
		t.Helper()
		if err := r.service.Step(t.Context()); err == nil {
			t.Errorf("%s: it is closed", when)
		} else if _, ok := errors.AsType[*clock.Unsettled](err); !ok {
			t.Errorf("%s: %v", when, err)
		}
	}
	right := r.now()
	r.at(right.Add(24 * time.Hour))
	waits("a day ahead")
	if alarms := strings.Join(r.service.Status(t.Context()).Alarms, " "); !strings.Contains(alarms, "waits to be written up: clock:") {
		t.Errorf("alarms %q", alarms)
	}
	r.at(right)
	passes(3 * time.Second)
	if err := r.service.Step(t.Context()); err != nil {
		t.Error(err)
	}
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	passes(closes.Add(time.Hour).Sub(r.now()))
	passes(2 * time.Minute)
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wants(r.get("/v1/releases/"+c.name+".json"), ok, "")
	r.wants(r.get("/v1/releases/"+strings.Repeat("0", 64)+".json"), 404, wire.UnknownPlan)
}
