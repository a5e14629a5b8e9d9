package issuer

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// coded checks the code of a problem.
func coded(t *testing.T, what string, err error, want wire.Code) {
	t.Helper()
	if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// The rotation of the manual: a token key is taken away after its plan. The issuer
// starts, serves the next plan, and idles the one it has no key for, whose marks stay:
// nobody gets a second token when the key is back.
func TestAPlanWithoutItsKeyIsIdle(t *testing.T) {
	w := newWorld(t)
	next := w.plan
	keys := make([]token.PrivateKey, 1)
	var err error
	if keys[0], err = token.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	if err := partykey.CreateTokens(filepath.Join(w.options.Keys, "next.json"), keys[0], "test"); err != nil {
		t.Fatal(err)
	}
	next.Title = "next"
	next.Route.Mix = &plan.Mix{Issuer: w.plan.Route.Mix.Issuer, Instances: []plan.Instance{{Hops: []plan.Party{w.plan.Route.Mix.Instances[0].Hops[0]}}}}
	next.Route.Mix.Instances[0].Hops[0].Tokens = keys[0].Public().String()
	if err := w.service.Load(plan.Sign(next, w.publisher)); err != nil {
		t.Fatal(err)
	}
	here, away := filepath.Join(w.options.Keys, "1.json"), filepath.Join(t.TempDir(), "1.json")
	if err := os.Rename(here, away); err != nil {
		t.Fatal(err)
	}
	w.service.Close()
	w.open()
	if _, err := w.service.plans.Standing(next.Hash()); err != nil {
		t.Error("the other plan: ", err)
	}
	_, err = w.service.plans.Standing(w.plan.Hash())
	coded(t, "the plan without its key", err, wire.PlanSuspended)
	if alarms := strings.Join(w.service.Status(t.Context()).Alarms, "\n"); !strings.Contains(alarms, plan.Short(w.plan.Name())+" is not served any more: the private key of the tokens of instance 1, hop 2 is not here") || strings.Contains(alarms, "orphan") {
		t.Errorf("the alarms are %q", alarms)
	}
	if err := w.service.Sweep(); err != nil {
		t.Error(err)
	}
	if names, err := w.service.store.List(t.Context()); err != nil || !slices.Contains(names, shelfName(w.plan.Hash())) {
		t.Errorf("who has tokens is forgotten: %v, %v", names, err)
	}
	if err := os.Rename(away, here); err != nil {
		t.Fatal(err)
	}
	if err := w.service.Load(w.signed); err != nil {
		t.Error("with its key: ", err)
	}
	if _, err := w.service.plans.Standing(w.plan.Hash()); err != nil {
		t.Error(err)
	}
}

// An idle plan goes when its retention is over, and can be withdrawn before.
func TestAnIdlePlanEnds(t *testing.T) {
	for _, withdrawn := range []bool{false, true} {
		w := newWorld(t)
		if err := os.Remove(filepath.Join(w.options.Keys, "1.json")); err != nil {
			t.Fatal(err)
		}
		w.service.Close()
		w.open()
		if withdrawn {
			s, err := plan.Withdraw(plan.Withdrawal{Plan: w.plan.Hash(), At: opens, Reason: "stolen"}, w.publisher)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := w.service.Withdraw(t.Context(), s); again || err != nil {
				t.Error(again, err)
			}
			if again, err := w.service.Withdraw(t.Context(), s); !again || err != nil {
				t.Error(again, err)
			}
			coded(t, "the same plan", w.service.Load(w.signed), wire.PlanWithdrawn)
		} else {
			w.now = w.plan.Times.Closes.Add(48 * 3600e9)
			if err := w.service.Sweep(); err != nil {
				t.Error(err)
			}
		}
		if _, here, err := w.service.main.Get(t.Context(), plansTable, w.plan.Name()); here || err != nil {
			t.Errorf("withdrawn %v: the plan is still here, %v", withdrawn, err)
		}
		left, err := filepath.Glob(filepath.Join(w.options.Folder, shelves.InFolder, shelfPrefix+"*"))
		if err != nil || len(left) > 0 {
			t.Errorf("withdrawn %v: %v are still here, %v", withdrawn, left, err)
		}
	}
}

// A key that is revoked before the plan closes signs for no plan that comes, and the
// plan that is here takes nothing more.
func TestTheIssuerAsksThePublishersEachTime(t *testing.T) {
	w := newWorld(t)
	key := plan.Publisher(w.publisher.Public().(ed25519.PublicKey))
	if _, err := w.service.plans.Standing(w.plan.Hash()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "publishers.txt")
	revoked := plan.Publishers{Keys: []plan.PublisherKey{{Key: key, Revoked: opens}}}
	if err := os.WriteFile(file, revoked.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	w.service.Close()
	var err error
	if w.options.Publishers, err = serve.ReadPublishers(file); err != nil {
		t.Fatal(err)
	}
	w.open()
	_, err = w.service.plans.Standing(w.plan.Hash())
	coded(t, "the plan that is here", err, wire.PlanSuspended)
	coded(t, "brought again", w.service.Load(w.signed), wire.PlanRefused)
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.options.Publishers, err = serve.ReadPublishers(file); err == nil {
		t.Error("a file that is none is read")
	}
}
