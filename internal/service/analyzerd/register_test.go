package analyzerd_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// again is the collection's plan with something changed, signed anew.
func (c *collection) again(change func(*plan.Plan)) *collection {
	p := c.signed.Plan
	instances := append([]plan.Instance(nil), p.Route.Mix.Instances...)
	for i := range instances {
		instances[i].Hops = append([]plan.Party(nil), instances[i].Hops...)
	}
	density := *p.Question.Density
	p.Question.Density = &density
	p.Route.Mix = &plan.Mix{Instances: instances}
	change(&p)
	return &collection{signed: plan.Sign(p, publisher), name: p.Name(), analyzer: c.analyzer}
}

func TestRegistrationRefuses(t *testing.T) {
	c := collect(t, nil)
	stranger := *c
	stranger.signed = plan.Sign(c.signed.Plan, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize)))
	forged := *c
	forged.signed.Signature = bytes.Clone(c.signed.Signature)
	forged.signed.Signature[0] ^= 1
	for name, s := range map[string]struct {
		c    *collection
		want string
	}{
		"a stranger's plan":              {&stranger, "nobody here trusts"},
		"a forged signature":             {&forged, "signature does not belong"},
		"a false promise":                {c.again(func(p *plan.Plan) { p.Budget.Epsilon = 2 }), "promise does not hold"},
		"another analyzer's plan":        {c.again(func(p *plan.Plan) { p.Analyzer.Key = p.Route.Mix.Instances[0].Hops[0].Key }), "private key of the plan's analyzer is not here"},
		"a plan that is over":            {c.again(func(p *plan.Plan) { p.Times.Closes = closes.Add(-2 * time.Hour) }), "nobody could answer"},
		"batches that nobody signs for":  {c.again(func(p *plan.Plan) { p.Route.Mix.Instances[1].Hops[1].Receipts = "" }), "no receipt key for the last hop of instance 2"},
		"a receipt key that is not one":  {c.again(func(p *plan.Plan) { p.Route.Mix.Instances[1].Hops[0].Receipts = "ed25519:AAAA" }), "receipt"},
		"a plan that could never be run": {c.again(func(p *plan.Plan) { p.Envelopes.PerDevice = 1 }), "per_device"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
			w := r.register(s.c)
			if w.Code < 400 {
				t.Fatalf("status %d", w.Code)
			}
			if p := web.ReadProblem(w.Result()); p.Code != wire.PlanRefused || !strings.Contains(p.Detail, s.want) {
				t.Errorf("%s: %s does not mention %q", p.Code, p.Detail, s.want)
			}
			if plans, err := r.store.Plans(t.Context()); len(plans) != 0 || err != nil {
				t.Error("something was registered", err)
			}
			if b, err := r.service.Budget(t.Context(), "residents"); len(b.Plans) != 0 || err != nil {
				t.Error("something was spent", err)
			}
		})
	}
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.do("PUT", wire.PlanPath([32]byte{}), wire.SignedPlanType, c.signed.Marshal()), 400, wire.BadRequest)
	r.wants(r.do("PUT", wire.PlanPath(c.signed.Plan.Hash()), "application/json", c.signed.Marshal()), 415, wire.UnsupportedMediaType)
	r.wants(r.do("PUT", wire.PlanPath(c.signed.Plan.Hash()), wire.SignedPlanType, []byte("{}")), 422, wire.PlanRefused)
	r.wants(r.do("PUT", wire.PlanPath(c.signed.Plan.Hash()), wire.SignedPlanType, make([]byte, plan.MaxSignedBytes+1)), 413, wire.TooLarge)
}

// What only operators may do, nobody else can.
func TestOperatorsOnly(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.token = "cft_" + strings.Repeat("A", 43)
	hash := c.signed.Plan.Hash()
	r.wants(r.register(c), 401, wire.Unauthenticated)
	r.wants(r.do("POST", wire.ClosePath(hash), "", nil), 401, wire.Unauthenticated)
	r.wants(r.get(wire.StatusPath(hash)), 401, wire.Unauthenticated)
	r.wants(r.get("/v1/budgets/residents"), 401, wire.Unauthenticated)
	r.wants(r.get("/v1/plans"), ok, "")
	r.wants(r.get("/v1/plans?after="+c.name), ok, "")
	for _, bad := range []string{"after=", "after=x", "after=" + c.name + "&after=" + c.name, "after=%zz", "after=" + strings.ToUpper(c.name[:63]) + "A", "after=../" + c.name[3:], "after=" + strings.Repeat("0", 1<<12)} {
		r.wants(r.get("/v1/plans?"+bad), 400, wire.BadRequest)
	}
	r.wants(r.get("/v1/plans?after="+strings.Repeat("0", 64)), 404, wire.NotFound)
	r.wants(r.get(wire.PlanPath(hash)), ok, "")
	if p, err := r.store.Plan(t.Context(), c.name); err != nil || !p.Closed.IsZero() {
		t.Error("a stranger closed a plan", err)
	}
}

// A population's budget holds over plans: what does not fit is refused with what
// was spent by whom, and the plan that is advised instead is taken.
func TestABudgetIsKeptAndTheAdviceFits(t *testing.T) {
	c := collect(t, nil)
	both(t, func(t *testing.T, dsn string) {
		r := start(t, dsn, c)
		r.budget = analyzerd.Population{Epsilon: 5, Delta: 3e-5, Adjacency: account.Replacement}
		r.restart()
		r.wants(r.register(c), created, "")
		second := func(change func(*plan.Plan)) *collection {
			return c.again(func(p *plan.Plan) {
				p.Title = "A second one"
				change(p)
			})
		}
		detail := r.wants(r.register(second(func(*plan.Plan) {})), 409, wire.BudgetExceeded)
		for _, part := range []string{"residents may spend epsilon 5 at delta 3e-05", "2.305 at 1e-05 (replacement) by Research with plan " + c.name[:8], "asks for 2.305"} {
			if !strings.Contains(detail, part) {
				t.Errorf("%q does not say %q", detail, part)
			}
		}
		advised := regexp.MustCompile(`budget.epsilon ([0-9.]+), or .* crowd.minimum ([0-9]+)`).FindStringSubmatch(detail)
		if advised == nil {
			t.Fatalf("no advice in %q", detail)
		}
		epsilon, _ := strconv.ParseFloat(advised[1], 64)
		n, _ := strconv.Atoi(advised[2])
		if epsilon < 1 || epsilon > 2.305 {
			t.Errorf("advised epsilon %g", epsilon)
		}
		advise := func(n int) *collection {
			return second(func(p *plan.Plan) { p.Crowd.Minimum, p.Budget.Epsilon = n, epsilon })
		}
		if w := r.register(advise(n * 9 / 10)); w.Code == created {
			t.Errorf("nine tenths of the %d people that were advised would do", n)
		}
		r.wants(r.register(advise(n)), created, "")
		r.wants(r.register(second(func(p *plan.Plan) { p.Title = "A third one" })), 409, wire.BudgetExceeded)

		var b analyzerd.Budget
		if err := json.Unmarshal(r.get("/v1/budgets/residents").Body.Bytes(), &b); err != nil {
			t.Fatal(err)
		}
		squares := 0.0
		for _, s := range b.Plans {
			squares += s.Counted.Domination.Shift * s.Counted.Domination.Shift
		}
		if f, err := account.NewFilter(5, 3e-5); err != nil || len(b.Plans) != 2 || b.Shares.Shift < squares/(f.Box.Shift*f.Box.Shift) || b.Shares.Shift > 1 || b.More != 0 || !strings.Contains(b.Plans[0].Note, "unprotected") {
			t.Errorf("%+v", b)
		}
		r.wants(r.get("/v1/budgets/others"), 404, wire.NotFound)
	})
}

// An old and a new key lie side by side: each plan finds its own.
func TestKeysRotateWithOverlap(t *testing.T) {
	old, fresh := collect(t, nil), collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), old, fresh)
	for _, c := range []*collection{old, fresh} {
		r.wants(r.register(c), created, "")
		r.wants(r.put(c.handovers[0]), created, "")
	}
	if err := os.Chmod(filepath.Join(r.keys, "1.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.wants(r.put(old.handovers[1]), created, "")
	w := r.put(fresh.handovers[1])
	r.wants(w, 500, wire.Internal)
	if strings.Contains(w.Body.String(), "1.json") {
		t.Errorf("the answer names the operator's files: %s", w.Body)
	}
}

// An analyzer whose database was lost, or put back as it once was, spent its budget
// a second time, without a word. A lost one is refused by name; an older copy registers nothing
// and raises an alarm.
func TestALostLedgerSpendsNothing(t *testing.T) {
	c := collect(t, nil)
	dsn := filepath.Join(t.TempDir(), "shelves")
	r := start(t, dsn, c)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	older := dsn + ".older"
	if err := os.CopyFS(older, os.DirFS(dsn)); err != nil {
		t.Fatal(err)
	}
	r.store = nil
	r.restart()
	r.wants(r.register(c), created, "")
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dsn); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Open(t.Context(), rows.Config{DSN: dsn}); !errors.Is(err, rows.ErrLedger) || !strings.Contains(err.Error(), dsn+" is empty") {
		t.Errorf("a lost database: %v", err)
	}
	if err := os.Rename(older, dsn); err != nil {
		t.Fatal(err)
	}
	r.store = nil
	r.restart()
	if detail := r.wants(r.register(c), 422, wire.PlanRefused); !strings.Contains(detail, "ledger") {
		t.Errorf("it says %q", detail)
	}
	if alarms := r.service.Status(t.Context()).Alarms; len(alarms) != 1 || !strings.Contains(alarms[0], "it has 0 entries and had 1") {
		t.Errorf("alarms: %q", alarms)
	}
}
