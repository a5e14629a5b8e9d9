package analyzerd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// The public log is told of each release, once, and asked again later where it failed. What
// it says stands beside the release.
func TestTheLogIsToldOfReleases(t *testing.T) {
	c := collect(t, nil)
	evidence := plan.Evidence{Index: 5, Checkpoint: "log.example/plans\n6\nAAAA\n"}
	asked, withdrawn, status := 0, 0, http.StatusServiceUnavailable
	log := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch body, err := io.ReadAll(q.Body); {
		case q.Method != http.MethodPut || err != nil:
			t.Errorf("%s %s: %v", q.Method, q.URL.Path, err)
		case q.URL.Path == wire.WithdrawalPath(c.signed.Plan.Hash()):
			withdrawn++
			return
		case q.URL.Path != wire.LogReleasePath(c.signed.Plan.Hash()):
			t.Errorf("%s %s", q.Method, q.URL.Path)
		default: // signed by whom the plan names
			signature, receipts := relay.SplitSignedRelease(body)
			if err := relay.ReleaseOf(c.signed.Plan.Hash(), receipts).Verify(c.signed.Plan.Analyzer.Releases, signature); err != nil {
				t.Error(err)
			}
		}
		asked++
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		w.Write(evidence.Marshal())
	}))
	defer log.Close()
	both(t, func(t *testing.T, dsn string) {
		asked, withdrawn, status = 0, 0, http.StatusServiceUnavailable
		r := start(t, dsn, c)
		r.client, r.planLog = log.Client(), log.URL
		r.restart()
		if !slices.ContainsFunc(r.service.Status(t.Context()).Facts, func(f serve.Fact) bool { return f.Name == analyzerd.LogFact && f.Data == log.URL }) {
			t.Error("an operator is not told of the log")
		}
		r.wants(r.register(c), created, "")
		for _, h := range c.handovers {
			r.wants(r.put(h), created, "")
		}
		step := func(after time.Duration) error {
			r.at(closes.Add(time.Hour + after))
			return r.service.Step(t.Context())
		}
		if err := step(0); err != nil || asked != 0 {
			t.Fatalf("asked %d times before there was a release: %v", asked, err)
		}
		file := wire.ReleasePath(c.signed.Plan.Hash(), relay.EvidenceFile)
		if err := step(0); err == nil || asked != 1 {
			t.Errorf("asked %d times: %v", asked, err)
		}
		r.wants(r.get(file), 404, wire.NotFound)
		status = http.StatusOK
		if err := step(time.Second); err != nil || asked != 1 {
			t.Errorf("asked %d times within a second: %v", asked, err)
		}
		for range 2 {
			if err := step(2 * time.Minute); err != nil || asked != 2 {
				t.Errorf("asked %d times: %v", asked, err)
			}
		}
		if w := r.get(file); w.Code != 200 || w.Body.String() != string(evidence.Marshal()) {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		r.restart()
		if err := step(3 * time.Minute); err != nil || asked != 3 {
			t.Errorf("asked %d times after a start: %v", asked, err)
		}
		// What is withdrawn after its release says so, here and in the log.
		statement, err := plan.Withdraw(plan.Withdrawal{Plan: c.signed.Plan.Hash(), At: closes, Reason: "the question misled"}, publisher)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.service.Withdraw(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := step(4 * time.Minute); err != nil || withdrawn != 1 {
				t.Errorf("told %d times of the withdrawal: %v", withdrawn, err)
			}
		}
		all, err := r.service.Plans(t.Context())
		if err != nil || len(all) != 1 || all[0].Status != analyzerd.Released || all[0].Withdrawal == nil || all[0].Withdrawal.Reason != "the question misled" || !all[0].Withdrawal.At.Equal(closes) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
