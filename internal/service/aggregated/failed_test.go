package aggregated

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// engines runs a test with a folder for each aggregator, and with PostgreSQL.
func engines(t *testing.T, test func(t *testing.T)) {
	t.Run("folder", test)
	folder := database
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	defer func() { database = folder }()
	t.Run("postgres", test)
}

// unanswered has nobody reach the helper for its share, until all reports are added.
func (w *world) unanswered() {
	w.t.Helper()
	w.all(said...)
	w.close()
	w.unshared()
}

// unshared has the leader of a closed plan add all that came and draw its share, and get none.
func (w *world) unshared() {
	w.t.Helper()
	w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		if r.URL.Path == dap.SharesPath(w.task().ID) {
			return nil, errors.New("no route to host")
		}
		return send(), nil
	}
	if w.step() == nil {
		w.t.Fatal("a leader that reaches nobody says that all is well")
	}
	w.meddle = nil
}

// asked counts the requests that the leader makes of the helper for its share.
func (w *world) asked() *int {
	n := 0
	w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		if r.URL.Path == dap.SharesPath(w.task().ID) {
			n++
		}
		return send(), nil
	}
	return &n
}

// says has an aggregator say of its crowd that the sum can never be had: in the plan's status, by
// an alarm whose remedy is a withdrawal, and by a number for who watches it; and ready it stays.
func (w *world) says(role dap.Role, phase string) {
	w.t.Helper()
	s := w.nodes[role].service
	st, err := s.status(w.t.Context(), found(s, w.plan.Hash()))
	if err != nil || st.Crowds[0].Phase != phase || st.Crowds[0].Failure == "" {
		w.t.Errorf("aggregator %d: %+v, %v", role, st, err)
	}
	alarms := strings.Join(s.Status(w.t.Context()).Alarms, "\n")
	if !strings.Contains(alarms, "can never be had") || !strings.Contains(alarms, "withdraw the plan") || strings.Contains(alarms, "backup") || strings.Contains(alarms, "restore") {
		w.t.Errorf("aggregator %d has the alarms %q", role, alarms)
	}
	server, err := serve.New(serve.Config{Name: s.Role(), Routes: s.Routes(), Ready: s.Ready, Metrics: s.o.Metrics})
	if err != nil {
		w.t.Fatal(err)
	}
	for path, want := range map[string]string{"/metrics": "confetti_aggregator_sums_failed 1\n", "/readyz": ""} {
		rec := httptest.NewRecorder()
		server.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), want) {
			w.t.Errorf("%s of aggregator %d: %d, without %q", path, role, rec.Code, want)
		}
	}
}

// A sum that cannot be had, for one of the two has lost or changed rows of it, is tried three times
// and given up: both say so, the analyzer is told, and nobody asks again before a restart. When the
// rows are as they were, a restart or the operator's word has it tried again, and nothing was lost.
func TestASumThatCanNeverBeHad(t *testing.T) {
	engines(t, func(t *testing.T) {
		for name, damage := range map[string]struct {
			role dap.Role
			sum  func([]byte) []byte // nil: a bit of its row flips
		}{
			"the helper lost a report":  {dap.Helper, func(b []byte) []byte { b[7]--; return b }},
			"the helper added another":  {dap.Helper, func(b []byte) []byte { b[20] ^= 1; return b }},
			"the helper's is cut":       {dap.Helper, func(b []byte) []byte { return b[:5] }},
			"the leader's is cut":       {dap.Leader, func(b []byte) []byte { return b[:5] }},
			"the leader's is shorter":   {dap.Leader, func(b []byte) []byte { return b[:len(b)-1] }},
			"a bit of the helper's sum": {dap.Helper, nil},
			"a bit of the leader's sum": {dap.Leader, nil},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, nil)
				w.unanswered()
				prefix := map[dap.Role]string{dap.Leader: "reports-", dap.Helper: "plan-"}[damage.role]
				var mend func()
				if damage.sum == nil {
					mend = w.spoil(damage.role, prefix, sums)
				} else {
					whole, err := w.sum(damage.role)
					if err != nil {
						t.Fatal(err)
					}
					write := func(body []byte) {
						if err := w.shelf(damage.role, prefix).Update(context.Background(), func(tx keep.Tx) error { tx.Put(sums, first, body); return nil }); err != nil {
							t.Fatal(err)
						}
					}
					write(damage.sum(bytes.Clone(whole)))
					mend = func() { write(whole) }
				}
				n := w.asked()
				for try := range enough {
					if w.step() == nil {
						t.Fatalf("attempt %d: all is well", try+1)
					}
				}
				first := *n
				for range 3 {
					if err := w.step(); err != nil {
						t.Errorf("it is tried again: %v", err)
					}
				}
				if *n != first {
					t.Errorf("the helper is asked %d times more", *n-first)
				}
				w.says(dap.Leader, unattainable)
				if damage.role == dap.Helper {
					w.says(dap.Helper, unattainable)
				}
				if status, body, _ := w.collected(); status != http.StatusGone || !bytes.Contains(body, []byte(wire.SumFailed)) {
					t.Errorf("the analyzer is answered %d: %s", status, body)
				}
				if damage.sum != nil { // or the plan is not served
					w.kill(dap.Leader)
					w.start(dap.Leader)
					if w.step() == nil {
						t.Error("after a restart nobody tries again")
					}
					for range enough {
						w.step()
					}
					w.says(dap.Leader, unattainable)
				}
				mend()
				found(w.nodes[dap.Leader].service, w.plan.Hash()).retry()
				w.finish()
				w.want(want, uint64(len(said)))
				if st := w.nodes[dap.Helper].service.Status(t.Context()); len(st.Alarms) > 0 {
					t.Errorf("the helper's alarms stay: %q", st.Alarms)
				}
			})
		}
	})
}

// What may go better later is tried again for ever, and is no sum that can never be had.
func TestWhatMayGoBetterIsTriedAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.unanswered()
	w.meddle = func(*http.Request, func() *http.Response) (*http.Response, error) {
		return nil, errors.New("no route to host")
	}
	for range 3 * enough {
		if w.step() == nil {
			t.Fatal("a leader that reaches nobody says that all is well")
		}
	}
	if status, _, _ := w.collected(); status != http.StatusAccepted {
		t.Errorf("the analyzer is answered %d", status)
	}
	w.meddle = nil
	w.finish()
	w.want(want, uint64(len(said)))
}

// A report whose proof did not hold is remembered: it is verified once, whatever else the leader
// says of it.
func TestAReportIsVerifiedOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.close()
	leader := w.nodes[dap.Leader].service
	c := found(leader, w.plan.Hash()).crowds[0]
	job := c.leader.Begin(c.batch(), []dap.Report{w.report(1)})
	verified := func() dap.ReportError {
		t.Helper()
		answer, _, err := leader.ask(t.Context(), c, dap.AggregationPath(c.ID), dap.AggregationType, job.Request.Marshal(), "")
		if err != nil {
			t.Fatal(err)
		}
		all, err := dap.ParseAggregationResp(answer, job.Request)
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Error
	}
	right := bytes.Clone(job.Request.Reports[0].Part)
	job.Request.Reports[0].Part[len(right)-1] ^= 1
	if e := verified(); e != dap.VerifyFailed && e != dap.InvalidMessage {
		t.Fatalf("another part of the verification: error %v", e)
	}
	job.Request.Reports[0].Part = right
	if e := verified(); e != dap.ReportReplayed {
		t.Errorf("a report is verified again: error %v", e)
	}
}

// Whoever asks how far a plan has come has no sum read: the numbers are there without it.
func TestAStatusReadsNoSum(t *testing.T) {
	engines(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.all(said...)
		w.upload(11, w.lie())
		w.close()
		w.finish()
		for _, role := range []dap.Role{dap.Leader, dap.Helper} {
			w.spoil(role, "plan-", shares)
			if role == dap.Helper {
				w.spoil(role, "plan-", sums)
			}
			s := w.nodes[role].service
			st, err := s.status(t.Context(), found(s, w.plan.Hash()))
			if err != nil || st.Crowds[0] != (CrowdStatus{Phase: HandedOn, Reports: uint64(len(said)), Refused: 1}) {
				t.Errorf("aggregator %d: %+v, %v", role, st, err)
			}
			w.spoil(role, "plan-", told)
			if _, err := s.status(t.Context(), found(s, w.plan.Hash())); !damaged(err) {
				t.Errorf("aggregator %d: %v", role, err)
			}
		}
	})
}

// An aggregator on an older copy of its database is told by its neighbours what it has drawn, and
// does not start; one that starts while it reaches none of them draws nothing until it does. What
// is said is that its plans are to be withdrawn, and nothing of putting a copy back.
func TestARestoredAggregatorDoesNotStart(t *testing.T) {
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		engines(t, func(t *testing.T) {
			w := newWorld(t, nil)
			w.all(said...)
			w.close()
			older := w.older(role)
			var asks []byte // of the helper's share
			w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
				if r.URL.Path == dap.SharesPath(w.task().ID) {
					body, err := r.GetBody() // it was read on the way
					if err != nil {
						return nil, err
					}
					asks, _ = io.ReadAll(body)
				}
				return send(), nil
			}
			first := w.finish()
			w.meddle = nil
			for _, role := range []dap.Role{dap.Leader, dap.Helper} {
				if err := w.nodes[role].service.Compare(t.Context()); err != nil {
					t.Errorf("aggregator %d, which is as it was: %v", role, err)
				}
			}
			older()
			s := w.nodes[role].service
			err := s.Compare(t.Context())
			if !errors.Is(err, errOlder) || !strings.Contains(err.Error(), "withdraw its plans") || strings.Contains(err.Error(), "backup") || strings.Contains(err.Error(), "restore") {
				t.Errorf("it starts: %v", err)
			}
			// It was up already, and is asked to go on.
			c := found(s, w.plan.Hash()).crowds[0]
			for range enough {
				if role == dap.Leader {
					w.step()
					continue
				}
				leader := w.nodes[dap.Leader].service
				l := found(leader, w.plan.Hash()).crowds[0]
				own, err := l.of.kept.Share(t.Context(), 0, rows.Own)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := leader.ask(t.Context(), l, dap.SharesPath(l.ID), dap.ShareReqType, asks, encodeReceipts(own[:relay.ReceiptSize])); err == nil {
					t.Error("the helper draws its share again")
				}
			}
			if own, err := c.of.kept.Share(t.Context(), 0, rows.Own); own != nil || err != nil {
				t.Errorf("noise is drawn again: %v", err)
			}
			w.says(role, unattainable)
			if !strings.Contains(c.failed(), "older copy") {
				t.Errorf("it fails for %q", c.failed())
			}
			if role == dap.Helper { // whose leader has both
				if _, again, _ := w.collected(); !bytes.Equal(again, first) {
					t.Error("another sum")
				}
			}
		})
	}
}

// The analyzer, too, knows which shares it was given, when the other aggregator is gone.
func TestAnAnalyzerKnowsWhatWasDrawn(t *testing.T) {
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		w := newWorld(t, nil)
		w.all(said...)
		w.close()
		older := w.older(role)
		w.finish()
		_, _, header := w.collected()
		receipts, err := decodeReceipts(header, 2)
		if err != nil {
			t.Fatal(err)
		}
		last, err := relay.ParseReceipt(receipts[relay.ReceiptSize:])
		if err != nil {
			t.Fatal(err)
		}
		w.atAnalyzer = func(r *http.Request) *http.Response {
			rec := httptest.NewRecorder()
			if r.URL.Path != wire.BatchPath(w.plan.Hash(), 0, toAnalyzer, 0) {
				rec.WriteHeader(http.StatusNotFound)
			} else if err := serve.WriteJSON(rec, handover.Held{Received: hexOf(last.BatchOut)}); err != nil {
				t.Error(err)
			}
			return rec.Result()
		}
		s := w.nodes[role].service
		if err := s.Compare(t.Context()); err != nil {
			t.Errorf("aggregator %d, which is as it was: %v", role, err)
		}
		w.kill(dap.Leader + dap.Helper - role)
		older()
		s = w.nodes[role].service
		if err := s.Compare(t.Context()); !errors.Is(err, errOlder) {
			t.Errorf("aggregator %d starts: %v", role, err)
		}
		// And on a new folder, to which the plan is brought again.
		w.kill(role)
		w.databases[role] = filepath.Join(t.TempDir(), "new")
		w.start(role)
		if err := w.nodes[role].service.Load(t.Context(), w.signed); err == nil || !strings.Contains(err.Error(), "older copy") {
			t.Errorf("aggregator %d takes a plan up of which it has drawn a share: %v", role, err)
		}
	}
}

// A folder that is put back as it once was, byte for byte, is found like any other older copy.
func TestAFolderThatIsPutBack(t *testing.T) {
	w := newWorld(t, nil)
	w.unanswered()
	w.kill(dap.Helper)
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(w.databases[dap.Helper])); err != nil {
		t.Fatal(err)
	}
	w.start(dap.Helper)
	w.finish()
	w.kill(dap.Helper)
	w.databases[dap.Helper] = older
	w.start(dap.Helper)
	if err := w.nodes[dap.Helper].service.Compare(t.Context()); !errors.Is(err, errOlder) {
		t.Errorf("it starts: %v", err)
	}
}

// A helper that is asked with another share of the leader than before says that the leader runs on
// an older copy.
func TestAHelperKnowsALeaderThatDrewAnew(t *testing.T) {
	w := newWorld(t, nil)
	w.all(said...)
	w.close()
	older := w.older(dap.Leader)
	w.finish()
	older()
	w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		if r.Method == http.MethodGet { // what the helper has, it is not asked
			return &http.Response{StatusCode: http.StatusTeapot, Body: io.NopCloser(strings.NewReader(""))}, nil
		}
		return send(), nil
	}
	for range enough {
		if w.step() == nil {
			t.Fatal("the helper takes another share of the leader")
		}
	}
	w.says(dap.Leader, unattainable)
	w.says(dap.Helper, HandedOn)
}
