package registry_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

var begins = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func key(of byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{of}, ed25519.SeedSize))
}

func name(of byte) string { return plan.Publisher(key(of).Public().(ed25519.PublicKey)) }

// place is a service of four places, and who brings it plans.
type place struct {
	t     *testing.T
	plans *registry.Plans[int]
}

func newPlace(t *testing.T, publishers ...byte) place {
	var names []string
	for _, p := range publishers {
		names = append(names, name(p))
	}
	kept := func(context.Context, string, plan.SignedWithdrawal) error { return nil }
	c := serve.Common{Now: func() time.Time { return begins }}
	c.Default(24 * time.Hour)
	return place{t, registry.NewPlans[int](c, serve.Trust(names...), registry.NewWithdrawals(kept), 4)}
}

// fits brings a plan.
func (p place) fits(signed plan.Signed) bool {
	p.t.Helper()
	nothing := func() error { return nil }
	err := p.plans.Load(p.t.Context(), signed, nothing, func() error { p.plans.Add(signed, 0); return nil })
	if problem, ok := err.(*wire.Problem); err != nil && (!ok || problem.Code != wire.PlanRefused) {
		p.t.Fatal(err)
	}
	return err == nil
}

func asking(title string) plan.Plan {
	p := example.Density("rr")
	p.Analyzer.Key = "x25519:" + strings.Repeat("B", 42) + "A"
	for i := range p.Route.Mix.Instances[0].Hops {
		p.Route.Mix.Instances[0].Hops[i].Key = p.Analyzer.Key
	}
	p.Title, p.Envelopes = title, plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"}
	p.Times = plan.Times{Opens: begins, Closes: begins.Add(time.Hour)}
	return p
}

func study(t *testing.T, title string, publisher byte) plan.SignedStudy {
	p := asking(title)
	p.Times = plan.Times{}
	s := plan.SignStudy(plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: 100, Takes: plan.TakesOne, Withheld: plan.WithheldRepeats,
		Coordinator: name(9), Times: plan.Times{Opens: begins, Closes: begins.Add(24 * time.Hour)},
	}, key(publisher))
	return s
}

func round(t *testing.T, s plan.SignedStudy, number int) plan.Signed {
	t.Helper()
	signed, err := s.Round(number, "", plan.Times{Opens: begins, Closes: begins.Add(time.Hour)}, key(9))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A coordinator fills the places of its study, and nobody else's: not those of the publisher's
// plans and other studies, and not another publisher's.
func TestACoordinatorFillsItsOwnPlaces(t *testing.T) {
	p := newPlace(t, 1, 2)
	filled := study(t, "the coordinator's", 1)
	for number := 1; number <= 8; number++ {
		if got := p.fits(round(t, filled, number)); got != (number <= 4) {
			t.Errorf("round %d is taken: %v", number, got)
		}
	}
	if !p.fits(round(t, study(t, "another", 1), 1)) || !p.fits(plan.Sign(asking("a plan"), key(1))) {
		t.Error("a study keeps its publisher's other plans out")
	}
	for i := range 5 { // the first publisher has one place left: two studies and a plan are there
		if got := p.fits(plan.Sign(asking(fmt.Sprint("plan ", i)), key(1))); got != (i == 0) {
			t.Errorf("plan %d is taken: %v", i, got)
		}
		if got := p.fits(plan.Sign(asking(fmt.Sprint("plan ", i, " of another")), key(2))); got != (i < 4) {
			t.Errorf("plan %d of another publisher is taken: %v", i, got)
		}
	}
	if p.fits(round(t, study(t, "one more", 1), 1)) {
		t.Error("a study has a place of a publisher who has none")
	}
	p.plans.Remove(round(t, filled, 1).Plan.Hash())
	if !p.fits(round(t, filled, 5)) || p.fits(round(t, filled, 6)) {
		t.Error("a place that a round has left is not the next one's")
	}
}

// A plan of several publishers has a place of each.
func TestAPlanOfTwoPublishersHasAPlaceOfEach(t *testing.T) {
	p := newPlace(t, 1, 2)
	for i := range 4 {
		both, err := plan.Sign(asking(fmt.Sprint(i)), key(1)).Sign(key(2))
		if err != nil {
			t.Fatal(err)
		}
		if !p.fits(both) {
			t.Errorf("plan %d is refused", i)
		}
	}
	for _, publisher := range []byte{1, 2} {
		if p.fits(plan.Sign(asking("one more"), key(publisher))) {
			t.Errorf("publisher %d has a fifth place", publisher)
		}
	}
}
