package planlog_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// released is a log at an address, and a plan for it.
type released struct {
	*world
	at   *httptest.Server
	plan plan.Plan
}

func newReleased(t *testing.T) *released {
	r := &released{world: newWorld(t)}
	r.plan = example.Density("rr")
	r.plan.Envelopes = plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"}
	for _, in := range r.plan.Route.Mix.Instances {
		for h := range in.Hops {
			in.Hops[h].Receipts = key(t).Public().String()
		}
	}
	r.serve()
	return r
}

// serve gives the log as it is now an address.
func (r *released) serve() {
	server, err := serve.New(serve.Config{Name: "log", Routes: r.log.Routes(), Ready: r.log.Ready, Status: r.log.Status})
	if err != nil {
		r.t.Fatal(err)
	}
	r.at = httptest.NewServer(server)
	r.t.Cleanup(r.at.Close)
}

// release is the receipts of one release of the plan, told from others by its file.
func (r *released) release(of plan.Plan, file string) []byte {
	text, err := relay.Receipts{Format: relay.ReceiptsFormat, Plan: of.Name(), Files: map[string]string{"json": relay.FileDigest([]byte(file))}}.Marshal()
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// signed is the signature of the analyzer whose key the plan names.
func (r *released) signed(receipts []byte) []byte {
	return example.SignRelease(relay.ReleaseOf(r.plan.Hash(), receipts))
}

// put brings a release to the log.
func (r *released) put(receipts []byte) (plan.Evidence, error) {
	return serve.PutReleaseIntoLog(r.t.Context(), r.at.Client(), r.at.URL, r.plan.Hash(), r.signed(receipts), receipts)
}

func (r *released) add(receipts []byte) (plan.Evidence, error) {
	return r.log.AddRelease(r.t.Context(), r.plan.Hash(), r.signed(receipts), receipts)
}

func (r *released) proves(text []byte, e plan.Evidence) error {
	return r.policy.Verify(relay.ReleaseOf(r.plan.Hash(), text).Marshal(), &e)
}

func TestAReleaseStandsBesideItsPlan(t *testing.T) {
	r := newReleased(t)
	one, two, three := r.release(r.plan, "one"), r.release(r.plan, "two"), r.release(r.plan, "three")
	if _, err := r.put(one); err == nil || !strings.Contains(err.Error(), "does not have the plan") {
		t.Fatalf("of a plan that is not in the log: %v", err)
	}
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{
		"no receipts": []byte("{}"), "another plan's": r.release(example.Density("rr"), "one"),
		"a long one": []byte(strings.Repeat(" ", relay.MaxReceiptsBytes+1)),
	} {
		if _, err := r.put(text); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	e, err := r.put(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.proves(one, e); err != nil {
		t.Error(err)
	}
	if err := r.proves(two, e); !isNotLogged(err) {
		t.Errorf("another release has the evidence of the first: %v", err)
	}
	if again, err := r.put(one); err != nil || again.Index != e.Index {
		t.Errorf("entry %d again: %d, %v", e.Index, again.Index, err)
	}
	// The second is shown to everybody, and there is no room for a third.
	if second, err := r.put(two); err != nil || second.Index == e.Index {
		t.Error(second.Index, err)
	}
	if _, err := r.put(three); err == nil {
		t.Error("a third release is taken")
	}
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	r.open()
	if again, err := r.add(one); err != nil || again.Index != e.Index {
		t.Errorf("after a start, entry %d: %d, %v", e.Index, again.Index, err)
	}
	if _, err := r.add(three); err == nil {
		t.Error("after a start a third release is taken")
	}
}

// Releases that come at once leave no more than two.
func TestManyReleasesAtOnce(t *testing.T) {
	r := newReleased(t)
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.add(r.release(r.plan, "first")); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 64 {
		receipts := r.release(r.plan, fmt.Sprint(i))
		all.Go(func() {
			<-begin
			if _, err := r.add(receipts); err == nil {
				taken.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d are taken beside the first", taken.Load())
	}
}

func TestAuditorsSeeReleases(t *testing.T) {
	r := newReleased(t)
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"one", "two"} {
		if _, err := r.put(r.release(r.plan, file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := serve.PutWithdrawalIntoLog(t.Context(), r.at.Client(), r.at.URL, r.withdrawal(t, r.publisher)); err != nil {
		t.Fatal(err)
	}
	var seen []string
	if _, err := planlog.Check(t.Context(), r.at.URL, r.policy, r.at.Client(), func(l planlog.Logged) error {
		seen = append(seen, fmt.Sprint(l.Index, l.Entry.Kind, l.Entry.Plan == r.plan.Hash()))
		return nil
	}); err != nil || strings.Join(seen, " ") != "0true 1releasetrue 2releasetrue 3withdrawaltrue" {
		t.Error(seen, err)
	}
}

// Whoever reads a log finds a release, and a withdrawal, of a plan that does not stand before it: a log that shows
// releases of plans which nobody could see is no log of these plans.
func TestAuditorsMissThePlanOfARelease(t *testing.T) {
	for what, c := range map[string]struct {
		entry func(r *released) (plan.Entry, []byte)
		later bool // the plan is put into the log afterwards
	}{
		"release of no plan":      {func(r *released) (plan.Entry, []byte) { return r.entry("one") }, false},
		"release before its plan": {func(r *released) (plan.Entry, []byte) { return r.entry("one") }, true},
		"withdrawal of no plan": {func(r *released) (plan.Entry, []byte) {
			text := r.withdrawal(t, r.publisher).Marshal()
			return plan.Entry{Kind: plan.WithdrawalEntry, Plan: r.plan.Hash(), Digest: sha256.Sum256(text)}, text
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			r := newReleased(t)
			e, text := c.entry(r)
			if err := r.log.Enter(t.Context(), e, text); err != nil {
				t.Fatal(err)
			}
			if c.later {
				if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
					t.Fatal(err)
				}
			}
			kind, _, _ := strings.Cut(what, " ")
			_, err := planlog.Check(t.Context(), r.at.URL, r.policy, r.at.Client(), func(l planlog.Logged) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "it is the "+kind+" of a plan that does not stand before it") {
				t.Errorf("the auditor says %v", err)
			}
		})
	}
}

// entry is that of a release, with its text.
func (r *released) entry(file string) (plan.Entry, []byte) {
	text := r.release(r.plan, file)
	return relay.ReleaseOf(r.plan.Hash(), text), text
}

// withdrawal is one of the plan by whoever has the key.
func (r *released) withdrawal(t *testing.T, key ed25519.PrivateKey) plan.SignedWithdrawal {
	t.Helper()
	w, err := plan.Withdraw(plan.Withdrawal{Plan: r.plan.Hash(), At: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "the question misled"}, key)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Nobody but the analyzer whose key the plan names has the log take a release, and a plan
// that names none has no release in it.
func TestOnlyTheAnalyzersReleaseIsTaken(t *testing.T) {
	r := newReleased(t)
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	receipts := r.release(r.plan, "one")
	of := relay.ReleaseOf(r.plan.Hash(), receipts)
	flipped := bytes.Clone(r.signed(receipts))
	flipped[len(flipped)-5] ^= 1
	for what, signature := range map[string][]byte{
		"a publisher's":      of.Sign(r.publisher),
		"of another release": r.signed(r.release(r.plan, "two")),
		"of a plan's entry":  plan.Entry{Plan: of.Plan, Digest: of.Digest}.Sign(r.publisher),
		"none":               nil, "a changed one": flipped, "a cut one": r.signed(receipts)[:20],
	} {
		if _, err := serve.PutReleaseIntoLog(t.Context(), r.at.Client(), r.at.URL, r.plan.Hash(), signature, receipts); err == nil {
			t.Errorf("with a signature that is %s, the release is taken", what)
		}
	}
	old := example.Version2(r.plan)
	if _, err := r.log.Add(t.Context(), plan.Sign(old, r.publisher)); err != nil {
		t.Fatal(err)
	}
	receipts = r.release(old, "one")
	if _, err := r.log.AddRelease(t.Context(), old.Hash(), r.signed(receipts), receipts); err == nil || !strings.Contains(err.Error(), "names nobody who signs") {
		t.Errorf("of a plan that names no key: %v", err)
	}
}

// The first withdrawal by a publisher of the plan stands in the log, and is read from it.
func TestAWithdrawalStandsBesideItsPlan(t *testing.T) {
	r := newReleased(t)
	put := func(w plan.SignedWithdrawal) error {
		return serve.PutWithdrawalIntoLog(t.Context(), r.at.Client(), r.at.URL, w)
	}
	first := r.withdrawal(t, r.publisher)
	if err := put(first); err == nil {
		t.Error("a plan that is not there is withdrawn")
	}
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	if _, found, err := serve.AskLog(t.Context(), r.at.Client(), r.at.URL, r.plan.Hash()); err != nil || found != nil {
		t.Errorf("before there is one: %v, %v", found, err)
	}
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
	if err := put(r.withdrawal(t, stranger)); err == nil {
		t.Error("a stranger withdraws the plan")
	}
	for range 2 {
		if err := put(first); err != nil {
			t.Fatal(err)
		}
	}
	entries, found, err := serve.AskLog(t.Context(), r.at.Client(), r.at.URL, r.plan.Hash())
	if err != nil || found == nil || !bytes.Equal(found.Marshal(), first.Marshal()) || len(entries) != 2 || entries[1].Kind != "withdrawal" {
		t.Errorf("%+v, %+v, %v", entries, found, err)
	}
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.serve()
	if n, err := planlog.Check(t.Context(), r.at.URL, r.policy, r.at.Client(), func(planlog.Logged) error { return nil }); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
}
