package analyzerd_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A wall clock that is wrong for some seconds closes no collection, whose budget
// would be spent for nothing.
func TestAWrongClockClosesNothing(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
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

// hopsAt answers for hops whose clocks show a time.
type hopsAt struct{ now func() time.Time }

func (h hopsAt) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/healthz" {
		return nil, errors.New("nobody asked for that")
	}
	return &http.Response{StatusCode: ok, Header: http.Header{"Date": {h.now().UTC().Format(http.TimeFormat)}}, Body: http.NoBody, Request: r}, nil
}

// An analyzer whose clock was wrong before it was started writes nothing up either:
// its hops have another time.
func TestAClockThatNoHopSharesClosesNothing(t *testing.T) {
	c := collect(t, func(p *plan.Plan) {
		for i := range p.Route.Mix.Instances {
			for h := range p.Route.Mix.Instances[i].Hops {
				p.Route.Mix.Instances[i].Hops[h].URL = fmt.Sprintf("https://hop%d.%d.example", i, h)
			}
		}
	})
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	var mono time.Duration
	var right time.Time
	r.watched = clock.Watch(r.now, func() time.Duration { return mono })
	r.client = &http.Client{Transport: hopsAt{func() time.Time { return right }}}
	right = r.now()
	r.restart()
	r.wants(r.register(c), created, "")
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	r.at(closes.Add(24 * time.Hour))
	r.service.Step(t.Context()) // it notices that the clock was set
	mono += 2 * time.Minute
	r.at(r.now().Add(2 * time.Minute))
	err := r.service.Step(t.Context())
	if _, unsettled := errors.AsType[*clock.Unsettled](err); !unsettled {
		t.Errorf("the step: %v", err)
	}
	if alarms := strings.Join(r.service.Status(t.Context()).Alarms, " "); !strings.Contains(alarms, "waits to be written up: clock: it differs from that of other machines") {
		t.Errorf("alarms %q", alarms)
	}
	right = r.now() // they agree now
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alarms := r.service.Status(t.Context()).Alarms; len(alarms) > 0 {
		t.Errorf("alarms %q", alarms)
	}
	r.wants(r.get("/v1/releases/"+c.name+".json"), ok, "")
}
