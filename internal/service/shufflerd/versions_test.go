package shufflerd

import (
	"context"
	"crypto/ed25519"
	"testing"
	"time"

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
