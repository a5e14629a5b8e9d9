package aggregated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// said is what ten honest devices say; want is its sum.
var (
	said = []int{0, 1, 1, 3, 2, 1, 0, 3, 3, 3}
	want = []int64{2, 3, 1, 4}
)

// finish lets time pass until the analyzer has the sum, bringing up again who was killed,
// and returns what it gets.
func (w *world) finish() []byte {
	w.t.Helper()
	var last error
	for range 40 {
		for _, role := range []dap.Role{dap.Leader, dap.Helper} {
			if w.nodes[role] == nil {
				w.start(role)
			}
		}
		last = w.step()
		if status, body, _ := w.collected(); status == http.StatusOK {
			return body
		}
	}
	w.t.Fatalf("nothing comes to an end: %v", last)
	return nil
}

// killed has an aggregator die at a failpoint, the nth time that it comes there: whatever
// it does from then on fails, until it is brought up again.
func (w *world) killed(role dap.Role, name string, nth int) {
	seen, dead := 0, false
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failpoint = func(at dap.Role, now string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if at != role {
			return nil
		}
		if now == name {
			seen++
			dead = dead || seen == nth
		}
		if dead {
			return errKilled
		}
		return nil
	}
}

// revive ends what killed began: the dead are brought up on what is on disk.
func (w *world) revive(role dap.Role) {
	w.mu.Lock()
	w.failpoint = nil
	w.mu.Unlock()
	w.kill(role)
}

// shared are the steps that both aggregators come to, or the leader in what the store does,
// and several those that come more than once.
var (
	shared  = []string{"share-drawn", "helper-shared", "rows/spend", "rows/spend/committed", "rows/add", "rows/add/committed", "rows/share", "rows/share/committed"}
	several = []string{"job-verified", "helper-added", "rows/add", "rows/share"}
)

// Killed between any two steps, nothing is lost and nothing counts twice, and what has left
// once leaves again byte for byte.
func TestKilledAtEveryStep(t *testing.T) { killedAt(t, func(string) bool { return true }) }

// killedAt kills aggregators at each of those points.
func killedAt(t *testing.T, these func(point string) bool) {
	points := slices.DeleteFunc(slices.Concat(failpoints, rows.Failpoints, rows.HelperFailpoints), func(point string) bool { return !these(point) })
	reached := map[string]bool{}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		for _, point := range points {
			if role == dap.Helper != strings.HasPrefix(point, "helper-") && !slices.Contains(shared, point) || role == dap.Leader && slices.Contains(rows.HelperFailpoints, point) {
				continue
			}
			for nth := 1; nth <= 2; nth++ {
				if nth == 2 && !slices.Contains(several, point) {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s/%d", role, point, nth), func(t *testing.T) {
					w := newWorld(t, nil)
					w.sharded(2)
					hit := false
					w.killed(role, point, nth)
					inner := w.failpoint
					w.failpoint = func(at dap.Role, now string) error {
						err := inner(at, now)
						hit = hit || err != nil
						return err
					}
					for d, cell := range said {
						r := w.report(cell)
						for try := 0; w.nodes[dap.Leader] == nil || w.upload(d, r) != http.StatusOK; try++ {
							if try > 3 {
								t.Fatal("a report is never taken")
							}
							w.revive(role)
							w.start(role)
						}
					}
					w.upload(11, w.lie())
					w.close()
					w.step()
					if hit {
						reached[fmt.Sprint(role, point)] = true
						w.revive(role)
					}
					first := w.finish()
					w.want(want, uint64(len(said)))
					w.revive(dap.Leader)
					w.revive(dap.Helper)
					if again := w.finish(); !bytes.Equal(first, again) {
						t.Error("other bytes after a restart")
					}
				})
			}
		}
	}
	must := []string{"2job-verified", "2share-drawn", "2helper-shared", "2rows/take", "2rows/take/committed", "2rows/close", "2rows/jobs", "2rows/add", "2rows/share", "2rows/forget", "2rows/forget/committed", "3helper-verified", "3rows/spend", "3rows/spend/committed", "3rows/add", "3helper-added", "3share-drawn", "3rows/share/committed"}
	for _, must := range must {
		if these(must[1:]) && !reached[must] {
			t.Errorf("nobody was killed at %s: %v", must, reached)
		}
	}
}

// schedule is a run in which messages between the aggregators are lost, come twice, late
// or as another time, and both are killed now and then.
func schedule(t *testing.T, seed uint64) {
	w := newWorld(t, func(p *plan.Plan) {
		if seed%2 == 0 { // with the aggregators' noise the bytes are compared, not the sum
			p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay = plan.NoiseAggregators, plan.LawLaplace, 0.5
		}
	})
	w.sharded(1 + int(seed)%3)
	r := seeded.New(seed, 99)
	var late []func() *http.Response
	w.meddle = unreliable(r, &late)
	for d, cell := range said {
		report := w.report(cell)
		for range 1 + r.IntN(3) { // a device that was not sure
			w.upload(d, report)
		}
	}
	w.close()
	var seen []byte
	for range 60 {
		w.mishap(r, append(slices.Clone(failpoints), rows.Failpoints...))
		w.step()
		for _, role := range []dap.Role{dap.Leader, dap.Helper} {
			if w.nodes[role] == nil {
				w.start(role)
			}
		}
		if len(late) > 0 && r.IntN(3) == 0 {
			late[0]()
			late = late[1:]
		}
		status, body, _ := w.collected()
		if status == http.StatusOK && seen != nil && !bytes.Equal(seen, body) {
			t.Fatal("the analyzer is given two sums")
		}
		if status == http.StatusOK {
			seen = body
		}
	}
	for _, send := range late {
		send()
	}
	w.revive(dap.Leader)
	w.revive(dap.Helper)
	w.meddle = nil
	if body := w.finish(); seen != nil && !bytes.Equal(seen, body) {
		t.Fatal("the analyzer is given two sums")
	}
	if seed%2 == 0 {
		if _, n := w.opened(); n != uint64(len(said)) {
			t.Errorf("%d reports of %d", n, len(said))
		}
		return
	}
	w.want(want, uint64(len(said)))
}

// unreliable is a network on which requests and answers are lost, and come twice or late.
func unreliable(r *rand.Rand, late *[]func() *http.Response) func(*http.Request, func() *http.Response) (*http.Response, error) {
	return func(_ *http.Request, send func() *http.Response) (*http.Response, error) {
		switch r.IntN(6) {
		case 0: // lost
			return nil, errors.New("no route to host")
		case 1: // the answer is lost
			send()
			return nil, errors.New("connection reset")
		case 2: // twice
			send()
		case 3: // late: after all that comes later
			*late = append(*late, send)
			return nil, errors.New("timeout")
		}
		if res := send(); res != nil {
			return res, nil
		}
		return nil, errors.New("no route to host")
	}
}

// mishap kills one of the two, now or at one of some steps to come.
func (w *world) mishap(r *rand.Rand, points []string) {
	role := dap.Leader + dap.Role(r.IntN(2))
	switch r.IntN(4) {
	case 0:
		w.revive(role)
		if role == dap.Leader {
			w.start(role)
		}
	case 1:
		w.killed(role, points[r.IntN(len(points))], 1)
		w.step()
		w.revive(role)
		if role == dap.Leader {
			w.start(role)
		}
	}
}

func TestSchedules(t *testing.T) {
	n := uint64(24)
	if testing.Short() {
		n = 10
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { schedule(t, seed) })
	}
}

// A peer that lies about its batch gets no share, and none is drawn.
func TestAPeerThatLiesAboutItsBatchGetsNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.all(said...)
	w.close()
	w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
		if r.URL.Path == dap.SharesPath(w.task().ID) {
			return nil, errors.New("no route to host")
		}
		return send(), nil
	}
	if w.step() == nil {
		t.Fatal("a leader that reaches nobody says that all is well")
	}
	w.meddle = nil
	leader := w.nodes[dap.Leader].service
	c := found(leader, w.plan.Hash()).crowds[0]
	batch, err := leader.sum(t.Context(), c)
	if err != nil || batch.Reports != uint64(len(said)) {
		t.Fatal(batch.Reports, err)
	}
	own, err := c.of.kept.Share(t.Context(), 0, rows.Own)
	if err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string]func(*dap.ShareReq){
		"one report fewer": func(q *dap.ShareReq) { q.Reports-- },
		"other reports":    func(q *dap.ShareReq) { q.Checksum.Add(dap.ReportID{7}) },
		"another batch":    func(q *dap.ShareReq) { q.Batch[0] ^= 1 },
	} {
		q := dap.ShareReq{Batch: c.batch(), Reports: batch.Reports, Checksum: batch.Checksum}
		lie(&q)
		if _, _, err := leader.ask(t.Context(), c, dap.SharesPath(c.ID), dap.ShareReqType, q.Marshal(), encodeReceipts(own[:224])); err == nil {
			t.Errorf("%s: the helper gives its share", name)
		}
	}
	if kept, err := w.kept(dap.Helper).Share(t.Context(), 0, rows.Own); kept != nil || err != nil {
		t.Errorf("the helper has drawn a share for a lie: %v", err)
	}
	w.finish()
	w.want(want, uint64(len(said)))
	// And once it has left, nothing more is added.
	job := c.leader.Begin(c.batch(), []dap.Report{w.report(1)})
	answer, _, err := leader.ask(t.Context(), c, dap.AggregationPath(c.ID), dap.AggregationType, job.Request.Marshal(), "")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := dap.ParseAggregationResp(answer, job.Request); err != nil || all[0].Error != dap.BatchCollected {
		t.Errorf("a report is added to a sum that has left: %v, %v", all, err)
	}
}

// A helper that answers with something else is not believed, and nothing is counted until
// it answers as it must.
func TestAHelperThatLiesIsNotBelieved(t *testing.T) {
	for name, lie := range map[string]func([]byte) []byte{
		"nothing":         func([]byte) []byte { return nil },
		"half":            func(b []byte) []byte { return b[:len(b)/2] },
		"another message": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"another report":  func(b []byte) []byte { b[3] ^= 1; return b },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.all(said...)
			w.close()
			w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
				res := send()
				body, _ := io.ReadAll(res.Body)
				res.Body = io.NopCloser(bytes.NewReader(lie(body)))
				return res, nil
			}
			if err := w.step(); !errors.Is(err, aggregator.ErrAnswer) {
				t.Errorf("it is believed: %v", err)
			}
			if status, _, _ := w.collected(); status != http.StatusAccepted {
				t.Errorf("the analyzer is answered %d", status)
			}
			w.meddle = nil
			w.finish()
			w.want(want, uint64(len(said)))
		})
	}
}

func TestAnotherSecretIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.kill(dap.Helper)
	w.pair[dap.Helper] = aggregator.NewPair([32]byte{2})
	w.start(dap.Helper)
	w.all(0, 1, 2)
	w.close()
	if w.step() == nil {
		t.Error("a helper takes jobs of who has another secret")
	}
}

// What is kept goes when the retention is over, and a plan that was erased is not served
// again.
func TestRetention(t *testing.T) {
	w := newWorld(t, nil)
	w.all(said...)
	w.close()
	w.finish()
	w.mu.Lock()
	w.now = w.now.Add(31 * 24 * time.Hour)
	w.mu.Unlock()
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		s := w.nodes[role].service
		if err := s.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, err := w.nodes[role].service.rows.All(t.Context()); len(all) > 0 || err != nil {
			t.Errorf("%d plans are left: %v", len(all), err)
		}
		w.kill(role)
		w.start(role)
		if w.nodes[role].service.Load(t.Context(), w.signed) == nil {
			t.Error("a plan that was erased is served again")
		}
	}
}

// Reports that are damaged on disk stop their plan, at the start or where they are added, and
// nothing of it leaves; withdrawn, none of it is left.
func TestDamagedReportsStopTheirPlan(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		w := newWorld(t, nil)
		w.all(said...)
		w.spoil(dap.Leader, "reports-", bodies)
		if stopped {
			w.kill(dap.Leader)
			w.start(dap.Leader)
			if status := w.upload(11, w.report(1)); status != http.StatusNotFound {
				t.Errorf("the leader answers a device %d", status)
			}
		} else {
			w.close()
			if err := w.step(); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("the leader adds damaged reports: %v", err)
			}
		}
		s := w.nodes[dap.Leader].service
		if alarms := s.Status(t.Context()).Alarms; len(alarms) != 1 {
			t.Errorf("the alarms are %q", alarms)
		}
		statement, err := plan.Withdraw(plan.Withdrawal{Plan: w.plan.Hash(), At: w.time(), Reason: "its reports are lost"}, w.publisher)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Withdraw(t.Context(), statement); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(w.databases[dap.Leader], "*-"+w.plan.Name()+".*")); err != nil || len(left) > 0 {
			t.Errorf("of a plan that was withdrawn %q are left: %v", left, err)
		}
	}
}

// When both shares are there, no byte of what devices sent is on the leader's disk, nor the key
// that it was sealed under.
func TestReportsAreForgottenWithTheirShelf(t *testing.T) {
	w := newWorld(t, nil)
	w.all(said...)
	if _, err := os.Stat(w.file(dap.Leader, "reports-", ".key")); err != nil {
		t.Fatal(err)
	}
	w.close()
	w.finish()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(w.file(dap.Leader, "reports-", ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left: %v", left, err)
	}
	w.want(want, uint64(len(said)))
}
