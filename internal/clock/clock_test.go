package clock

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// machine has a wall clock that can be set and a monotonic one that cannot.
type machine struct {
	wall time.Time
	mono time.Duration
}

func (m *machine) passes(d time.Duration) { m.wall, m.mono = m.wall.Add(d), m.mono+d }

func TestAClockThatWasSetIsBelievedAfterAMinute(t *testing.T) {
	m := &machine{wall: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	c := Watch(func() time.Time { return m.wall }, func() time.Duration { return m.mono })
	settled := func(want bool, when string) {
		t.Helper()
		err := c.Settled()
		if _, ok := errors.AsType[*Unsettled](err); (err == nil) != want || err != nil && !ok {
			t.Errorf("%s: %v", when, err)
		}
	}
	settled(false, "at the start")
	m.passes(59 * time.Second)
	settled(false, "before a minute")
	m.passes(2 * time.Second)
	settled(true, "after a minute")
	for range 120 {
		m.passes(time.Second)
		m.wall = m.wall.Add(500 * time.Microsecond) // slewed
	}
	settled(true, "while it is slewed")
	for _, jump := range []time.Duration{2 * time.Hour, -2 * time.Hour, 40 * 24 * time.Hour, -3 * time.Second} {
		m.wall = m.wall.Add(jump)
		settled(false, "after a jump of "+jump.String())
		m.passes(2 * time.Second)
		m.wall = m.wall.Add(-jump)
		settled(false, "after it was put right again")
		m.passes(30 * time.Second)
		settled(false, "half a minute on")
		m.passes(31 * time.Second)
		settled(true, "a minute on")
	}
	m.wall = m.wall.Add(time.Hour) // the machine was asleep, and nobody asked meanwhile
	m.passes(time.Hour)
	settled(false, "after sleep")
	if (*Clock)(nil).Settled() != nil {
		t.Error("no clock to watch is not believed")
	}
}

func TestTheSystemsClockRunsEvenly(t *testing.T) {
	c := New()
	if err := c.Settled(); err == nil {
		t.Error("believed at once")
	}
	c.since -= agreement
	if err := c.Settled(); err != nil {
		t.Error(err)
	}
}

func TestOneMachineThatAgreesIsEnough(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	says := func(d time.Duration) *http.Response {
		return &http.Response{Header: http.Header{"Date": {now.Add(d).Format(http.TimeFormat)}}}
	}
	dateless := &http.Response{Header: http.Header{"Date": {"soon"}}}
	for name, c := range map[string]struct {
		answers []*http.Response
		fine    bool
	}{
		"nobody":                  {nil, true},
		"no date":                 {[]*http.Response{dateless}, true},
		"near":                    {[]*http.Response{says(4 * time.Minute)}, true},
		"far":                     {[]*http.Response{says(-2 * time.Hour)}, false},
		"one far, one near":       {[]*http.Response{says(-2 * time.Hour), says(-time.Minute)}, true},
		"one far, one dateless":   {[]*http.Response{dateless, says(6 * time.Minute)}, false},
		"all far, each their own": {[]*http.Response{says(time.Hour), says(-time.Hour)}, false},
	} {
		err := Asked(now, c.answers)
		if (err == nil) != c.fine || err != nil && !strings.Contains(err.Error(), "differs") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
