package chaos

import (
	"crypto/ed25519"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A plan whose publisher is revoked, or taken out, is suspended everywhere, by name and
// without a restart, loses nothing, and goes on once the publisher is trusted again or
// another one has signed it.
func TestAPlanOfARevokedPublisherIsSuspended(t *testing.T) {
	file := filepath.Join(t.TempDir(), "publishers.txt")
	write := func(p plan.Publishers) {
		t.Helper()
		if err := os.WriteFile(file, p.Marshal(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func(k ed25519.PrivateKey) string { return plan.Publisher(k.Public().(ed25519.PublicKey)) }
	write(plan.Trust(rings().trusted()))
	publishers, err := serve.ReadPublishers(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorldOf(shape{hops: []int{2}, tokens: true, minimum: 2, devices: 3, crowds: 1}, "suspended", publishers)
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := wire.PlanPath(w.signed.Plan.Hash())
	w.report(0)
	w.report(1)
	// asks is what every service says of the plan, once it has looked at the file again.
	asks := func(when string, want wire.Code) {
		t.Helper()
		for _, name := range w.services() {
			var code wire.Code
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if _, code, _ = w.ask(name, http.MethodGet, path, "", nil); code == want {
					break
				}
			}
			if code != want {
				t.Errorf("%s: %s says %q", when, name, code)
			}
			alarms := strings.Join(w.nodes[name].config.Status(t.Context()).Alarms, "\n")
			if told := strings.Contains(alarms, plan.Short(w.signed.Plan.Name())+" is suspended"); told != (want == wire.PlanSuspended) {
				t.Errorf("%s: the alarms of %s are %q", when, name, alarms)
			}
		}
	}
	asks("at first", "")
	revoked := plan.Trust(rings().trusted(), key(w.ring.stranger()))
	revoked.Keys[0].Revoked = opens
	for when, publishers := range map[string]plan.Publishers{"revoked": revoked, "taken out": plan.Trust(key(w.ring.stranger()))} {
		write(publishers)
		asks(when, wire.PlanSuspended)
		w.report(2)
		w.now = closes.Add(2 * time.Hour)
		for range 3 {
			for _, name := range w.services() {
				w.nodes[name].crash()
				w.nodes[name].restart()
				w.step(name)
			}
		}
		asks(when+", and started again", wire.PlanSuspended)
		if n := w.counted(); len(n) > 0 {
			t.Errorf("%s: released", when)
		}
		w.now = opens.Add(time.Minute)
		write(plan.Trust(rings().trusted()))
		asks("trusted again", "")
	}
	// The key is stolen, and another publisher vouches for the plan.
	write(revoked)
	asks("revoked", wire.PlanSuspended)
	both, err := w.signed.Sign(w.ring.stranger())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.services() {
		if status, code, _ := w.ask(name, http.MethodPut, path, wire.SignedPlanType, w.signed.Marshal()); code != wire.PlanRefused {
			t.Errorf("%s takes it under the revoked key: %d %s", name, status, code)
		}
		if status, code, _ := w.ask(name, http.MethodPut, path, wire.SignedPlansType, both.Marshal()); status/100 != 2 {
			t.Errorf("%s refuses the plan that two have signed: %d %s", name, status, code)
		}
		w.nodes[name].crash()
		w.nodes[name].restart()
	}
	asks("signed by another", "")
	w.again(2)
	w.finish()
	for _, v := range w.violations {
		t.Error(v)
	}
	if counted := w.counted(); len(counted) != 1 {
		t.Errorf("%d crowds were released, want 1:\n%s", len(counted), strings.Join(w.log, "\n"))
	}
}
