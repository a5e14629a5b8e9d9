package shufflerd

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Of the versions of a round that a coordinator signs a hop serves the first, whatever becomes of
// it: after a restart, and when it is forgotten.
func TestOneVersionOfARound(t *testing.T) {
	w := newWorld(t, 1, nil)
	p := w.plan
	p.Times = plan.Times{}
	study := plan.SignStudy(plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: 300, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(w.publish.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: w.now.Add(-time.Hour), Closes: w.now.Add(2000 * time.Hour)},
	}, w.publish)
	round := func(number, version int, closes time.Time) plan.Signed {
		signed, err := study.Round(number, "", plan.Times{Opens: study.Study.Times.Opens.Add(time.Duration(version) * time.Second), Closes: closes}, w.publish)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	load := func(s plan.Signed, fits bool) {
		t.Helper()
		err := w.hops[0].service.Load(context.Background(), s)
		if p, ok := err.(*wire.Problem); fits && err != nil || !fits && (!ok || p.Code != wire.PlanRefused) {
			t.Errorf("round %d: %v", s.Plan.Round.Number, err)
		}
	}
	closes := w.now.Add(time.Hour)
	for range 2 {
		for version := range 20 {
			load(round(7, version, closes), version == 0)
		}
		load(round(8, 0, closes), true)
		w.restart(0)
	}
	w.now = w.now.Add(1000 * time.Hour)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	load(round(7, 3, w.now.Add(time.Hour)), false)
	load(round(9, 3, w.now.Add(time.Hour)), true)
}

// An entry of a plan of version 3 is not served, since this build opens no contribution to it: the service does not
// start while the plan is open, and says what to do. A later hop goes on, and so does an entry that is ended.
func TestEntriesOfEarlierPlans(t *testing.T) {
	for name, c := range map[string]struct {
		hop    int
		ended  bool
		starts bool
	}{"an open entry": {0, false, false}, "an entry that is ended": {0, true, true}, "a later hop": {1, false, true}} {
		w := newWorld(t, 2, nil)
		old := w.plan
		old.Version = 3
		signed := plan.Sign(old, w.publish)
		s := w.hops[c.hop].service
		if err := s.Load(t.Context(), signed); err == nil || !strings.Contains(err.Error(), "version 3 seals every envelope") {
			t.Errorf("%s, registered: %v", name, err)
		}
		if err := s.write(t.Context(), signed); err != nil {
			t.Fatal(err)
		}
		if c.ended {
			if err := s.rows.Set(t.Context(), rows.Epochs, postName(old.Hash(), 0, 0), []byte(`{"closed":true,"purged":true}`), nil); err != nil {
				t.Fatal(err)
			}
		}
		w.stop(c.hop)
		err := w.tryStart(c.hop, false)
		if c.starts != (err == nil) || !c.starts && (!strings.Contains(err.Error(), "of version 3") || !strings.Contains(err.Error(), "let the build that began it end it")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The log says of how many contributions the envelopes are that did not open.
func TestDroppedContributionsAreLogged(t *testing.T) {
	w := newWorld(t, 1, nil)
	var said strings.Builder
	w.hops[0].service.o.Log = slog.New(slog.NewTextHandler(&said, nil))
	w.contribute(0, 0, 1, 2, 3, 4)
	spoilt := w.contribution(0, 5)
	spoilt[len(spoilt)-1] ^= 1
	if status, _ := w.do(0, w.request("device5", spoilt)); status != 201 {
		t.Fatal(status)
	}
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`envelopes=%d "contributions at least"=1`, perDevice); !strings.Contains(said.String(), want) {
		t.Errorf("the log says %q, not %q", said.String(), want)
	}
}
