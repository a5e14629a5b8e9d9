package planlog_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Of the versions of a round one stands in the log, whatever its coordinator signs, also after
// the log was opened again.
func TestOneVersionOfARound(t *testing.T) {
	w := newWorld(t)
	round := versions(t, w)
	for range 2 {
		for _, number := range []int{2, 1} {
			for version := range 3 {
				_, err := w.log.Add(t.Context(), round(number, version))
				if p, ok := err.(*wire.Problem); version == 0 && err != nil || version > 0 && (!ok || p.Code != wire.PlanRefused) {
					t.Errorf("version %d of round %d: %v", version, number, err)
				}
			}
		}
		w.log.Close()
		w.open()
	}
}

// versions returns any version of a round of a study.
func versions(t *testing.T, w *world) func(number, version int) plan.Signed {
	begins := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	p := w.signed("a study").Plan
	p.Times = plan.Times{}
	study := plan.SignStudy(plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: 2, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(w.publisher.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: begins, Closes: begins.Add(24 * time.Hour)},
	}, w.publisher)
	return func(number, version int) plan.Signed {
		signed, err := study.Round(number, "", plan.Times{Opens: begins.Add(time.Duration(version) * time.Second), Closes: begins.Add(time.Hour)}, w.publisher)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
}
