package aggregated

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Of the versions of a round that a coordinator signs both aggregators serve the first that
// comes to them, after a restart too.
func TestOneVersionOfARound(t *testing.T) {
	w := newWorld(t, nil)
	p := w.plan
	p.Times = plan.Times{}
	study := plan.SignStudy(plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: 3, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(w.publisher.Public().(ed25519.PublicKey)), Times: plan.Times{Opens: w.now.Add(-time.Hour), Closes: w.now.Add(100 * time.Hour)},
	}, w.publisher)
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		for range 2 {
			for _, number := range []int{3, 1} {
				for version := range 3 {
					signed, err := study.Round(number, "", plan.Times{Opens: study.Study.Times.Opens.Add(time.Duration(version) * time.Second), Closes: w.now.Add(time.Hour)}, w.publisher)
					if err != nil {
						t.Fatal(err)
					}
					err = w.nodes[role].service.Load(t.Context(), signed)
					if p, ok := err.(*wire.Problem); version == 0 && err != nil || version > 0 && (!ok || p.Code != wire.PlanRefused) {
						t.Errorf("%v: version %d of round %d: %v", role, version, number, err)
					}
				}
			}
			w.kill(role)
			w.start(role)
		}
	}
}
