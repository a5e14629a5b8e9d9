package chaos

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// ask makes a request of a service and returns its status and the code of its problem.
func (w *world) ask(name, method, path, mediaType string, body []byte) (int, wire.Code, []byte) {
	header := http.Header{"Authorization": {"Bearer " + w.ring.operator}}
	if mediaType != "" {
		header.Set("Content-Type", mediaType)
	}
	return w.call(name, method, path, header, body)
}

func (w *world) call(name, method, path string, header http.Header, body []byte) (int, wire.Code, []byte) {
	n := w.nodes[name]
	if !n.up() {
		return 0, "", nil
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header = header
	rec := httptest.NewRecorder()
	n.handler.ServeHTTP(rec, r)
	if !n.up() { // it crashed over this
		return 0, "", nil
	}
	text := bytes.Clone(rec.Body.Bytes())
	if p := web.ReadProblem(rec.Result()); p != nil {
		return rec.Code, p.Code, nil
	}
	return rec.Code, "", text
}

// statement is a publisher's withdrawal of a plan.
func statement(tb testing.TB, p plan.Plan, key ed25519.PrivateKey, reason string) plan.SignedWithdrawal {
	tb.Helper()
	w, err := plan.Withdraw(plan.Withdrawal{Plan: p.Hash(), At: opens, Reason: reason}, key)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// stranger is a publisher whom nobody trusts.
func (r *ring) stranger() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{77}, ed25519.SeedSize))
}

func (w *world) withdraw(name string, s plan.SignedWithdrawal) (int, wire.Code) {
	status, code, _ := w.ask(name, http.MethodPut, wire.WithdrawalPath(s.Plan), wire.WithdrawalType, s.Marshal())
	return status, code
}

// withdrawing is a schedule in which a plan is withdrawn, service by service, among
// everything else that happens to it.
type withdrawing struct {
	*world
	stopped  map[string]plan.SignedWithdrawal // services that have answered a withdrawal
	released bool                             // before the analyzer had it
}

// event does one thing at random.
func (w *withdrawing) event(tb testing.TB, r *rand.Rand) {
	services := w.services()
	name := services[r.IntN(len(services))]
	switch r.IntN(10) {
	case 0, 1:
		w.report(r.IntN(w.shape.devices))
	case 2:
		w.again(r.IntN(w.shape.devices))
	case 3, 4, 5:
		w.step(name)
	case 6:
		w.nodes[name].crash()
		w.nodes[name].restart()
	case 7:
		if w.now.Before(closes) {
			w.now = w.now.Add(30 * time.Minute)
		} else {
			w.now = w.now.Add(2 * time.Hour) // the grace is over
		}
	case 8:
		if status, code := w.withdraw(name, statement(tb, w.signed.Plan, w.ring.stranger(), "spite")); status/100 == 2 && w.stopped[name].Reason == "" {
			tb.Errorf("%s takes a stranger's withdrawal: %d %s", name, status, code)
		}
	case 9:
		w.stop(tb, name, r.IntN(2) == 0)
	}
}

// stop withdraws the plan at a service, which may crash over it.
func (w *withdrawing) stop(tb testing.TB, name string, crash bool) {
	s := statement(tb, w.signed.Plan, w.ring.publisher, fmt.Sprint("wrong question, as ", name, " heard"))
	if name == "analyzer" && w.stopped[name].Reason == "" {
		status, _, _ := w.ask(name, http.MethodGet, w.releasePath(), "", nil)
		w.released = status == http.StatusOK
	}
	if crash && name != "analyzer" {
		w.nodes[name].armed["withdrawn"] = 0
	}
	status, code := w.withdraw(name, s)
	switch {
	case !w.nodes[name].up():
		w.nodes[name].restart() // it was on disk by then
	case status/100 != 2:
		tb.Errorf("%s: %d %s", name, status, code)
	}
	delete(w.nodes[name].armed, "withdrawn")
	if w.stopped[name].Reason == "" {
		w.stopped[name] = s
	}
}

func (w *world) releasePath() string {
	return "/v1/releases/" + w.signed.Plan.Name() + ".json"
}

// check is what must hold at any moment of a service that has the withdrawal.
func (w *withdrawing) check(tb testing.TB) {
	path := wire.PlanPath(w.signed.Plan.Hash())
	hash := w.signed.Plan.Hash()
	for name, s := range w.stopped {
		asks := []struct{ method, path, mediaType string }{{http.MethodPut, path, wire.SignedPlanType}, {http.MethodGet, path, ""}}
		hops := len(w.signed.Plan.Route.Mix.Instances[0].Hops)
		switch kind := w.nodes[name].kind(); {
		case kind == "issuer":
			asks = append(asks, struct{ method, path, mediaType string }{http.MethodPost, wire.TokensPath(hash), wire.TokenRequestType})
		case kind == "analyzer":
			asks = append(asks, struct{ method, path, mediaType string }{http.MethodPut, wire.BatchPath(hash, 0, uint8(hops), 0), wire.BatchType})
		case kind == "hop":
			asks = append(asks, struct{ method, path, mediaType string }{http.MethodPut, wire.BatchPath(hash, 0, uint8(name[len(name)-1]-'0'), 0), wire.BatchType})
		}
		for _, one := range asks {
			status, code, _ := w.ask(name, one.method, one.path, one.mediaType, w.signed.Marshal())
			if code != wire.PlanWithdrawn && !(name == "analyzer" && w.released && one.method == http.MethodGet) {
				tb.Errorf("%s %s %s after the withdrawal: %d %s", name, one.method, one.path, status, code)
			}
		}
		status, _, text := w.ask(name, http.MethodGet, path+"/withdrawal", "", nil)
		kept, err := plan.ParseWithdrawal(text)
		if status != http.StatusOK || err != nil || !kept.Of(s.Plan, w.signed.Signers()) || kept.Reason != s.Reason {
			tb.Errorf("%s shows %d %q, %v", name, status, text, err)
		}
	}
	for _, x := range slices.Clone(w.net.past) { // whoever recorded contributions sends them again
		if _, stopped := w.stopped[x.to]; stopped {
			if status, code, _ := w.call(x.to, x.method, x.path, x.header.Clone(), x.body); code != wire.PlanWithdrawn {
				tb.Errorf("%s takes a contribution after the withdrawal: %d %s", x.to, status, code)
			}
		}
	}
	if _, stopped := w.stopped["analyzer"]; stopped && !w.released {
		if status, _, _ := w.ask("analyzer", http.MethodGet, w.releasePath(), "", nil); status == http.StatusOK {
			tb.Error("the analyzer has released after the withdrawal")
		}
	}
}

// gone is what must be left of a plan that was withdrawn: its withdrawal.
func (w *withdrawing) gone(tb testing.TB) {
	ctx, name := context.Background(), w.signed.Plan.Name()
	for at := range w.stopped {
		n := w.nodes[at]
		switch n.kind() {
		case "issuer":
			for _, kind := range []string{"plan", "log", "end"} {
				if _, err := os.Stat(filepath.Join(n.dir, name+"."+kind)); err == nil {
					tb.Errorf("the issuer has its .%s still", kind)
				}
			}
		case "analyzer":
			batches, err := n.store.Batches(ctx, name)
			if err != nil || len(batches) > 0 {
				tb.Errorf("%d batches are left at the analyzer, %v", len(batches), err)
			}
			spent, err := n.store.Spendings(ctx, "all")
			if err != nil || len(spent) != 1 {
				tb.Errorf("the budget's ledger has %d entries, %v", len(spent), err)
			}
		default:
			if left, err := n.left(name); err != nil || len(left) > 0 {
				tb.Errorf("%s has %v still, %v", at, left, err)
			}
			// The key goes with what was encrypted under it.
			if left, err := filepath.Glob(filepath.Join(n.dir, shelves.InFolder, "*"+name+"*")); err != nil || len(left) > 0 {
				tb.Errorf("%s has %v still, %v", at, left, err)
			}
		}
	}
}

// run is a schedule from its beginning to where every service has the withdrawal.
func (w *withdrawing) run(tb testing.TB, r *rand.Rand) {
	for range 25 {
		w.event(tb, r)
		w.check(tb)
	}
	services := w.services()
	r.Shuffle(len(services), func(i, j int) { services[i], services[j] = services[j], services[i] })
	for _, name := range services {
		w.stop(tb, name, r.IntN(2) == 0)
		w.check(tb)
	}
	for _, restart := range []bool{false, true} {
		for _, name := range services {
			if restart {
				w.nodes[name].crash()
				w.nodes[name].restart()
			}
			w.step(name)
		}
		w.now = w.now.Add(time.Hour)
		w.check(tb)
		w.gone(tb)
	}
	for d := range w.shape.devices {
		w.again(d)
		w.charged(tb, d)
	}
	for _, v := range w.violations {
		tb.Error(v)
	}
	if w.broken != nil {
		tb.Error(w.broken)
	}
}

// charged: what a device has spent stays spent, and nothing of it waits any more.
func (w *withdrawing) charged(tb testing.TB, d int) {
	l, err := client.ReadLedger(native.Folder{Path: w.nodes[deviceName(d)].dir})
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range l.Entries {
		if e.Charge.Epsilon <= 0 {
			tb.Errorf("device %d was charged %v", d, e.Charge)
		}
		for _, p := range e.Parts {
			if p.Status == client.Waiting && w.now.Before(closes) {
				tb.Errorf("device %d: an answer to a withdrawn plan waits", d)
			}
			if p.Status == client.Dropped && strings.Contains(p.Reason, "withdrawn") && !strings.Contains(p.Reason, "wrong question") {
				tb.Errorf("device %d is told %q", d, p.Reason)
			}
		}
	}
}

const withdrawSchedules = 24

// Whatever the order in which services hear of a withdrawal, answers come, clocks go on
// and processes crash: from the moment a service has answered it, it takes nothing,
// gives nothing and releases nothing of the plan, in this run and every later one, and
// in the end nothing of what was collected is on any disk.
func TestAWithdrawnPlanIsOverForGood(t *testing.T) {
	for seed := range uint64(withdrawSchedules) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := seeded.New(seed)
			w, err := newWorld(shape{hops: []int{2}, tokens: seed%2 == 0, minimum: 2, devices: 4, crowds: 1}, "withdrawn")
			if w != nil {
				defer w.close()
			}
			if err != nil {
				t.Fatal(err)
			}
			one := &withdrawing{world: w, stopped: map[string]plan.SignedWithdrawal{}}
			one.run(t, r)
			if t.Failed() {
				t.Log(strings.Join(w.log, "\n"))
			}
		})
	}
}

// A withdrawal that only the analyzer has heard of reaches the hops before it, which
// want to hand something on; that of a stranger, whom the analyzer would have to show,
// does not.
func TestHopsTakeUpAWithdrawalFromTheNextOne(t *testing.T) {
	w, err := newWorld(shape{hops: []int{3}, minimum: 2, devices: 3, crowds: 1}, "withdrawn")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for d := range w.shape.devices {
		w.report(d)
	}
	one := &withdrawing{world: w, stopped: map[string]plan.SignedWithdrawal{}}
	one.stop(t, "analyzer", false)
	w.now = closes
	for range 4 {
		for _, name := range w.services() {
			w.step(name)
		}
	}
	last := one.stopped["analyzer"]
	one.stopped["hop0.2"] = last
	one.check(t)
	one.gone(t)
	if status, code, _ := w.ask("hop0.0", http.MethodGet, wire.PlanPath(last.Plan), "", nil); status != http.StatusOK {
		t.Errorf("the entry, whose batch was taken, has heard of it: %d %s", status, code)
	}
	// The entry has nothing more to hand on, and goes on as before until it is told.
	one.stop(t, "hop0.1", false)
	one.stop(t, "hop0.0", false)
	for _, name := range w.services() {
		w.step(name)
	}
	one.check(t)
	one.gone(t)
}

// An entry that forgets the withdrawal when it starts again is caught.
func TestAForgottenWithdrawalIsCaught(t *testing.T) {
	stattest.Caught(t, func(tb testing.TB) {
		w, err := newWorld(shape{hops: []int{1}, minimum: 2, devices: 2, crowds: 1}, "withdrawn")
		if w != nil {
			defer w.close()
		}
		if err != nil {
			t.Fatal(err)
		}
		before := filepath.Join(w.dir, "before")
		if err := copyDisk(w.nodes["hop0.0"].dir, before); err != nil {
			t.Fatal(err)
		}
		one := &withdrawing{world: w, stopped: map[string]plan.SignedWithdrawal{}}
		one.stop(tb, "hop0.0", false)
		n := w.nodes["hop0.0"]
		n.crash()
		n.lost = before
		n.restart()
		one.check(tb)
	})
}

// A withdrawal that comes before its plan holds when the plan comes, after restarts
// too, and only for the publisher who has signed both.
func TestAWithdrawalBeforeItsPlanHolds(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, tokens: true, minimum: 2, devices: 2, crowds: 1}, "here")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.ring.plan("to come", w.shape, address, plan.Times{Opens: opens, Closes: closes})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.services() {
		if status, code := w.withdraw(name, statement(t, next.Plan, w.ring.stranger(), "spite")); code != wire.WithdrawalRefused {
			t.Errorf("%s takes a stranger's: %d %s", name, status, code)
		}
		s := statement(t, next.Plan, w.ring.publisher, "never mind")
		for i, want := range []int{http.StatusCreated, http.StatusOK} {
			if status, code := w.withdraw(name, s); status != want {
				t.Errorf("%s, time %d: %d %s", name, i+1, status, code)
			}
		}
		for range 2 {
			status, code, _ := w.ask(name, http.MethodPut, wire.PlanPath(next.Plan.Hash()), wire.SignedPlanType, next.Marshal())
			if code != wire.PlanWithdrawn {
				t.Errorf("%s: the plan comes: %d %s", name, status, code)
			}
			w.nodes[name].crash()
			w.nodes[name].restart()
		}
		// The plan that is here is none the worse.
		if status, code, _ := w.ask(name, http.MethodGet, wire.PlanPath(w.signed.Plan.Hash()), "", nil); status != http.StatusOK {
			t.Errorf("%s: the other plan: %d %s", name, status, code)
		}
	}
}

// A hostile publisher may bring so many withdrawals of plans that are nowhere, and no
// more; the others' plans go on.
func TestEarlyWithdrawalsAreBounded(t *testing.T) {
	w, err := newWorld(shape{hops: []int{1}, minimum: 2, devices: 1, crowds: 1}, "here")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, taken := w.signed.Plan, 0
	for i := range 300 {
		p.Title = fmt.Sprint("nowhere ", i)
		if status, _ := w.withdraw("analyzer", statement(t, p, w.ring.publisher, "x")); status == http.StatusCreated {
			taken++
		}
	}
	if taken != 256 {
		t.Errorf("%d withdrawals of plans that are nowhere were kept", taken)
	}
	if status, code := w.withdraw("analyzer", statement(t, w.signed.Plan, w.ring.publisher, "and this one")); status != http.StatusCreated {
		t.Errorf("its own plan cannot be withdrawn: %d %s", status, code)
	}
}
