package issuer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func TestPlans(t *testing.T) {
	w := newWorld(t)
	register := func(s plan.Signed) (int, *wire.Problem) {
		r, _, p := w.do("PUT", wire.PlanPath(s.Plan.Hash()), "", wire.SignedPlanType, s.Marshal())
		return r.StatusCode, p
	}
	changed := func(change func(*plan.Plan)) plan.Signed {
		p := w.plan
		mix := *p.Route.Mix
		mix.Instances = []plan.Instance{{Hops: append([]plan.Party(nil), p.Route.Mix.Instances[0].Hops...)}}
		p.Route.Mix = &mix
		change(&p)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		return plan.Sign(p, w.publisher)
	}
	good := changed(func(p *plan.Plan) {
		p.Title = "another"
		for h := range p.Route.Mix.Instances[0].Hops {
			p.Route.Mix.Instances[0].Hops[h].Tokens = w.newKey(fmt.Sprintf("new-%d.json", h))
		}
	})
	if status, p := register(good); status != http.StatusCreated {
		t.Errorf("a new plan: %d, %v", status, p)
	}
	if status, p := register(good); status != http.StatusOK {
		t.Errorf("the same again: %d, %v", status, p)
	}
	if _, text, p := w.do("GET", wire.PlanPath(good.Plan.Hash()), "", "", nil); p != nil || !bytes.Equal(text, good.Marshal()) {
		t.Errorf("the plan does not come back: %v", p)
	}
	unknown, err := token.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	forged := good
	forged.Plan.Title = "forged"
	for name, s := range map[string]plan.Signed{
		"a stranger's":       plan.Sign(w.plan, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))),
		"a forged one":       forged,
		"one without an end": changed(func(p *plan.Plan) { p.Times.Closes = time.Time{} }),
		"one long over":      changed(func(p *plan.Plan) { p.Times = plan.Times{Closes: opens.Add(-48 * time.Hour)} }),
		"another's key":      changed(func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[1].Tokens = unknown.Public().String() }),
		"one without tokens": changed(func(p *plan.Plan) {
			for i := range p.Route.Mix.Instances[0].Hops {
				p.Route.Mix.Instances[0].Hops[i].Tokens = ""
			}
		}),
	} {
		if name == "a stranger's" { // under another name, as this one is here
			s = plan.Sign(changed(func(p *plan.Plan) { p.Title = "a stranger's" }).Plan, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32)))
		}
		_, p := register(s)
		wants(t, p, wire.PlanRefused, name)
	}
	_, _, p := w.do("PUT", wire.PlanPath([32]byte{}), "", wire.SignedPlanType, good.Marshal())
	wants(t, p, wire.BadRequest, "under another name")

	if len(w.service.Status(context.Background()).Tables[0].Rows) != 2 || w.service.Ready(context.Background()) != nil {
		t.Error("the status does not show two plans")
	}
	w.now = w.plan.Times.Closes.Add(defaultRetention)
	if err := w.service.Sweep(); err != nil {
		t.Fatal(err)
	}
	w.restart()
	left, err := filepath.Glob(filepath.Join(w.options.Folder, "*.*"))
	if names, unread := w.service.store.List(t.Context()); err != nil || unread != nil || len(left)+len(names) > 0 {
		t.Errorf("%v and %v are left (%v, %v)", left, names, err, unread)
	}
	asks, _ := w.ask(token.Seed{1})
	_, p = w.issue("alice", asks)
	wants(t, p, wire.UnknownPlan, "after the retention")
}

// Nothing that rests on the issuer's disk names a respondent or a request.
func TestNothingReadableRests(t *testing.T) {
	w := newWorld(t)
	asks, _ := w.ask(token.Seed{1})
	if _, p := w.issue("alice", asks); p != nil {
		t.Fatal(p)
	}
	text := disk(t, w.options.Folder)
	if strings.Contains(text, "alice") || strings.Contains(text, string(asks.Asks[0].Blinded[:16])) || !strings.Contains(text, shelfPrefix) {
		t.Error("the disk shows who asked, or for what")
	}
}

func TestOneIssuerAFolder(t *testing.T) {
	w := newWorld(t)
	if s, err := New(w.options); err == nil {
		s.Close()
		t.Error("a second issuer on the folder")
	}
}

// newKey is a token key whose private half the issuer has.
func (w *world) newKey(file string) string {
	w.t.Helper()
	key, err := token.GenerateKey()
	if err == nil {
		err = partykey.CreateTokens(filepath.Join(w.options.Keys, file), key, "test")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return key.Public().String()
}

// A respondent of two plans with one key could have both tokens signed for one of
// them: the issuer does not see which. So no second plan gets the key, neither
// beside the first nor when that is forgotten, and what is free stays free.
func TestAKeySignsForOnePlan(t *testing.T) {
	w := newWorld(t)
	fresh := w.newKey("new.json")
	second := w.plan
	second.Title, second.Times.Closes = "second", opens.Add(100*24*time.Hour)
	mix := *second.Route.Mix
	mix.Instances = []plan.Instance{{Hops: append([]plan.Party(nil), mix.Instances[0].Hops...)}}
	mix.Instances[0].Hops[0].Tokens = fresh
	second.Route.Mix = &mix
	load := func(when string) {
		t.Helper()
		err := w.service.Load(plan.Sign(second, w.publisher))
		p, _ := errors.AsType[*wire.Problem](err)
		wants(t, p, wire.PlanRefused, when)
	}
	load("beside the first")
	w.now = w.plan.Times.Closes.Add(defaultRetention)
	if err := w.service.Sweep(); err != nil {
		t.Fatal(err)
	}
	load("after the first")
	w.restart()
	load("after a restart")
	w.now = w.plan.Times.Opens // the clock was wrong
	if err := w.service.Load(w.signed); err == nil {
		t.Error("a plan is served again whose marks are gone")
	}
	mix.Instances[0].Hops[1].Tokens = ""
	if err := w.service.Load(plan.Sign(second, w.publisher)); err != nil {
		t.Errorf("a key that no plan has had: %v", err)
	}
	w.restart()
	if rows := w.service.Status(t.Context()).Tables[0].Rows; len(rows) != 1 {
		t.Errorf("%d plans after a restart", len(rows))
	}
}
