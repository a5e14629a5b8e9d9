package shufflerd

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// trusts is a file of publishers beside a world: it names the plan's, or somebody else.
type trusts struct {
	*world
	file string
}

func (w trusts) write(theirs bool) {
	w.t.Helper()
	key := w.publish.Public().(ed25519.PublicKey)
	if !theirs {
		other, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		key = other
	}
	if err := os.WriteFile(w.file, plan.Trust(plan.Publisher(key)).Marshal(), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// until waits until the first hop has taken the file up.
func (w trusts) until(suspended bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); (w.hops[0].service.plans.Suspended(w.plan.Hash()) != nil) != suspended; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("the file of publishers has changed, and the hop has not heard of it")
		}
	}
}

// stopped has the plan's publisher lose the trust of the first hop while a crowd is at a step
// there, and wants nothing handed on before they have it again, and all of it then. asked is
// whether the hop looks at the file once it has taken the plan.
func stopped(t testing.TB, dir, at string, asked bool) {
	w := trusts{newWorld(t, 1, nil), filepath.Join(dir, "publishers.txt")}
	w.partBytes = 600
	w.write(true)
	publishers, err := serve.ReadPublishers(w.file)
	if err != nil {
		t.Fatal(err)
	}
	if asked {
		w.publishers = publishers
	}
	w.restart(0)
	w.contribute(0, 0, 1, 2, 3, 4)
	reached := false
	lose := sync.OnceFunc(func() {
		reached = true
		w.write(false)
		if asked {
			w.until(true)
		}
	})
	w.failpoint = func(_ int, name string) error {
		if name == at {
			lose()
		}
		return nil
	}
	w.end()
	for range 3 {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	if !reached {
		t.Fatalf("the crowd was never at %s", at)
	}
	if len(w.batches) > 0 {
		t.Errorf("lost at %s: the crowd left all the same", at)
		return
	}
	w.write(true)
	w.until(false)
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w.world, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
	w.settled(0)
}

// Trust that is withdrawn between the taking of a crowd and its handing on stops it there,
// whatever is being done to it, until it is given again.
func TestTrustIsAskedBeforeACrowdIsHandedOn(t *testing.T) {
	for _, at := range []string{"epoch-marked", "parts-marked", "step-done", "outbox-written", "mixed", "parts-purged", "epoch-mixed", "inbox-purged"} {
		t.Run(at, func(t *testing.T) { stopped(t, t.TempDir(), at, true) })
	}
}

// A hop that asked once, when it took the plan, is caught.
func TestAHopThatAsksForTrustOnceIsCaught(t *testing.T) {
	for _, at := range []string{"parts-marked", "mixed"} {
		stattest.Caught(t, func(tb testing.TB) { stopped(tb, t.TempDir(), at, false) })
	}
}
