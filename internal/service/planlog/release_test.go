package planlog_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// released is a log at an address, with a plan in it whose analyzer shows what publishes says.
type released struct {
	*world
	at        *httptest.Server
	plan      plan.Plan
	publishes func() []byte
}

func newReleased(t *testing.T) *released {
	r := &released{world: newWorld(t)}
	analyzer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text := r.publishes()
		if text == nil || q.URL.Path != wire.ReleasePath(r.plan.Hash(), wire.ReceiptsFile) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(text)
	}))
	t.Cleanup(analyzer.Close)
	r.plan = example.Density("rr")
	r.plan.Envelopes = plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"}
	r.plan.Analyzer.URL = analyzer.URL
	for _, in := range r.plan.Route.Mix.Instances {
		for h := range in.Hops {
			in.Hops[h].Receipts = key(t).Public().String()
		}
	}
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	r.options.Client = analyzer.Client()
	r.open()
	server, err := serve.New(serve.Config{Name: "log", Routes: r.log.Routes(), Ready: r.log.Ready, Status: r.log.Status})
	if err != nil {
		t.Fatal(err)
	}
	r.at = httptest.NewServer(server)
	t.Cleanup(r.at.Close)
	return r
}

// release is the receipts of one release of the plan, told from others by its file.
func (r *released) release(of plan.Plan, file string) []byte {
	text, err := wire.Receipts{Format: wire.ReceiptsFormat, Plan: of.Name(), Files: map[string]string{"json": wire.FileDigest([]byte(file))}}.Marshal()
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// put asks the log to take what the analyzer publishes.
func (r *released) put(text []byte) (plan.Evidence, error) {
	r.publishes = func() []byte { return text }
	return serve.PutReleaseIntoLog(r.t.Context(), r.at.Client(), r.at.URL, r.plan.Hash())
}

func (r *released) proves(text []byte, e plan.Evidence) error {
	of := plan.Entry{Release: true, Plan: r.plan.Hash(), Digest: sha256.Sum256(text)}
	return r.policy.Verify(of.Marshal(), &e)
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
	var problem *wire.Problem
	if _, err := r.put(nil); !errors.As(err, &problem) || problem.Code == wire.NotFound {
		t.Errorf("an analyzer that shows no release yet would not come again: %v", err)
	}
	for what, text := range map[string][]byte{
		"no receipts": []byte("{}"), "another plan's": r.release(example.Density("rr"), "one"),
		"a long one": []byte(strings.Repeat(" ", wire.MaxReceiptsBytes+1)),
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
	if again, err := r.log.AddRelease(t.Context(), r.plan.Hash(), one); err != nil || again.Index != e.Index {
		t.Errorf("after a start, entry %d: %d, %v", e.Index, again.Index, err)
	}
	if _, err := r.log.AddRelease(t.Context(), r.plan.Hash(), three); err == nil {
		t.Error("after a start a third release is taken")
	}
}

// Releases that come at once leave no more than two.
func TestManyReleasesAtOnce(t *testing.T) {
	r := newReleased(t)
	if _, err := r.log.Add(t.Context(), plan.Sign(r.plan, r.publisher)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.log.AddRelease(t.Context(), r.plan.Hash(), r.release(r.plan, "first")); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 64 {
		receipts := r.release(r.plan, fmt.Sprint(i))
		all.Go(func() {
			<-begin
			if _, err := r.log.AddRelease(t.Context(), r.plan.Hash(), receipts); err == nil {
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
	var seen []string
	if _, err := planlog.Audit(t.Context(), r.at.URL, r.policy, r.at.Client(), func(l planlog.Logged) error {
		seen = append(seen, fmt.Sprint(l.Index, l.Entry.Release, l.Entry.Plan == r.plan.Hash()))
		return nil
	}); err != nil || strings.Join(seen, "; ") != "0 false true; 1 true true; 2 true true" {
		t.Error(seen, err)
	}
}

// A log whose release has no plan before it is not a log that this program writes.
func TestAReleaseWithoutItsPlanIsFound(t *testing.T) {
	r := newReleased(t)
	if _, err := r.log.AddRelease(t.Context(), r.plan.Hash(), r.release(r.plan, "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := planlog.Audit(t.Context(), r.at.URL, r.policy, r.at.Client(), func(planlog.Logged) error { return nil }); err == nil {
		t.Error("nobody noticed")
	}
}
