package shufflerd

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func TestPlansRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	ctx := context.Background()
	s := w.hops[0].service
	change := func(f func(*plan.Plan)) plan.Signed {
		p := w.plan
		p.Route.Mix = &plan.Mix{Instances: []plan.Instance{{Hops: slices.Clone(w.plan.Route.Mix.Instances[0].Hops)}}}
		f(&p)
		return plan.Sign(p, w.publish)
	}
	stranger, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	forged := change(func(p *plan.Plan) { p.Title = "forged" })
	forged.Signature = w.signed.Signature
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	untrusted := plan.Sign(forged.Plan, other)
	for name, signed := range map[string]plan.Signed{
		"changed after it was signed": forged,
		"by somebody else":            untrusted,
		"without an end":              change(func(p *plan.Plan) { p.Times.Closes = time.Time{} }),
		"over for long":               change(func(p *plan.Plan) { p.Times.Closes = w.now.Add(-defaultRetention) }),
		"without our key":             change(func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[0].Key = stranger.Public().String() }),
		"without receipts":            change(func(p *plan.Plan) { p.Route.Mix.Instances[0].Hops[0].Receipts = "" }),
		"nowhere to forward to":       change(func(p *plan.Plan) { p.Analyzer.URL = "" }),
		"contributions too long":      change(func(p *plan.Plan) { p.Envelopes.PerDevice, p.Question.Density.Repetitions = 1<<18, 2 }),
	} {
		r := httptest.NewRequest(http.MethodPut, wire.PlanPath(signed.Plan.Hash()), bytes.NewReader(signed.Marshal()))
		r.Header.Set("Content-Type", wire.SignedPlanType)
		status, code := w.do(0, r)
		if err := s.Load(ctx, signed); err == nil || status != 422 || code != wire.PlanRefused {
			t.Errorf("%s: %v; %d %s", name, err, status, code)
		}
	}
	fine := change(func(p *plan.Plan) { p.Title = "another" })
	register := func() int {
		r := httptest.NewRequest(http.MethodPut, wire.PlanPath(fine.Plan.Hash()), bytes.NewReader(fine.Marshal()))
		r.Header.Set("Content-Type", wire.SignedPlanType)
		status, _ := w.do(0, r)
		return status
	}
	if a, b := register(), register(); a != 201 || b != 200 {
		t.Errorf("a good plan, twice: %d, %d", a, b)
	}
	w.restart(0)
	rec := httptest.NewRecorder()
	w.hops[0].server.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, wire.PlanPath(fine.Plan.Hash()), nil))
	if rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), fine.Marshal()) {
		t.Errorf("the plan after a restart: %d", rec.Code)
	}
}

// An operator adds a key while another is in use, and needs no restart.
func TestKeysOverlap(t *testing.T) {
	w := newWorld(t, 1, nil)
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	p := w.plan
	hop := p.Route.Mix.Instances[0].Hops[0]
	hop.Key = key.Public().String()
	p.Route.Mix = &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{hop}}}}
	next := plan.Sign(p, w.publish)
	s := w.hops[0].service
	if err := s.Load(context.Background(), next); err == nil {
		t.Fatal("served without its key")
	}
	if err := partykey.CreateOpening(w.keys(0)+"/next.json", key, "next"); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	w.contribute(0, 1, 2, 3) // to the plan of the old key
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
	// A key that is taken away stops its plan and no other.
	if err := os.Remove(w.keys(0) + "/next.json"); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if s := w.hops[0].service; len(s.Statuses(t.Context())) != 1 || len(s.Status(t.Context()).Alarms) != 1 {
		t.Errorf("%+v", s.Status(t.Context()))
	}
}

// After the retention nothing is left but that the plan was here, and it cannot come
// back, even where the clock says that it is still open.
func TestRetention(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.contribute(0, 1, 2, 3)
	w.end()
	w.cut = true
	if err := w.step(); err == nil {
		t.Fatal("the analyzer is out of reach")
	}
	w.now = w.plan.Times.Closes.Add(defaultRetention)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.now = w.plan.Times.Opens
	ctx := context.Background()
	for h, n := range w.hops {
		w.settled(h)
		for _, table := range []keep.Table{rows.Plans, rows.Withdrawn, rows.Crowds, rows.Epochs, rows.Rounds} {
			err := n.service.rows.Each(ctx, table, "", func(key string, _ []byte) error {
				t.Errorf("hop %d still has the row %s of table %d", h, key, table)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if len(n.service.Statuses(t.Context())) > 0 {
			t.Error("it is still served")
		}
		if err := n.service.Load(ctx, w.signed); err == nil {
			t.Error("it came back")
		}
		if _, code := w.do(h, w.batchRequest(nil)); code != wire.UnknownPlan {
			t.Errorf("hop %d: %s", h, code)
		}
	}
}
