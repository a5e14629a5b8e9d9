package analyzerd_test

import (
	"bytes"
	"math"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// spoiled is a batch with something done to it by its last hop, receipt included.
func (c *collection) spoiled(t *testing.T, h handover.Handover, spoil func(h *handover.Handover)) handover.Handover {
	h.Batch.Envelopes = slices.Clone(h.Batch.Envelopes)
	spoil(&h)
	return c.resign(t, h)
}

func TestBatchesThatAreRefused(t *testing.T) {
	c := collect(t, nil)
	single, double := c.handovers[0], c.handovers[2] // of one hop, of two
	withReceipts := func(h handover.Handover, change func(r []relay.SignedReceipt) []relay.SignedReceipt) handover.Handover {
		h.Receipts = change(slices.Clone(h.Receipts))
		return h
	}
	stranger, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]struct {
		h    handover.Handover
		code wire.Code
		want string
	}{
		"a receipt that a stranger signed": {withReceipts(single, func(r []relay.SignedReceipt) []relay.SignedReceipt {
			r[0] = r[0].Receipt.Sign(stranger)
			return r
		}), wire.ReceiptRefused, "hop 1"},
		"a receipt without a signature": {withReceipts(double, func(r []relay.SignedReceipt) []relay.SignedReceipt {
			r[1].Signature = [64]byte{}
			return r
		}), wire.ReceiptRefused, "hop 2"},
		"an earlier hop's receipt changed": {withReceipts(double, func(r []relay.SignedReceipt) []relay.SignedReceipt {
			r[0].Respondents++
			return r
		}), wire.ReceiptRefused, "hop 1"},
		"a missing receipt": {withReceipts(double, func(r []relay.SignedReceipt) []relay.SignedReceipt { return r[1:] }), wire.ReceiptRefused, "receipt"},
		"a batch that its receipt does not bear out": {func() handover.Handover {
			h := single
			h.Batch.Envelopes = slices.Clone(h.Batch.Envelopes)
			h.Batch.Envelopes[0], h.Batch.Envelopes[1] = h.Batch.Envelopes[1], h.Batch.Envelopes[0]
			return h
		}(), wire.ReceiptRefused, "not the one that it handed on"},
		"fewer respondents than the minimum": {c.spoiled(t, single, func(h *handover.Handover) { h.Batch.Respondents = minimum - 1 }), wire.BatchRefused, "minimum of 5"},
		"fewer envelopes than the honest send": {c.spoiled(t, single, func(h *handover.Handover) {
			h.Batch.Envelopes = h.Batch.Envelopes[:4*perDevice-1]
		}), wire.BatchRefused, "honest minimum"},
		"another instance's receipts": {withReceipts(single, func([]relay.SignedReceipt) []relay.SignedReceipt { return c.handovers[1].Receipts }), wire.ReceiptRefused, "of another batch"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
			r.wants(r.register(c), created, "")
			w := r.put(s.h)
			if w.Code < 400 {
				t.Fatalf("status %d", w.Code)
			}
			if p := web.ReadProblem(w.Result()); p.Code != s.code || !strings.Contains(p.Detail, s.want) {
				t.Errorf("%s: %s; want %s with %q", p.Code, p.Detail, s.code, s.want)
			}
			if b, err := r.store.Batches(t.Context(), c.name); len(b) != 0 || err != nil {
				t.Error("something was counted", err)
			}
			r.wants(r.put(single), created, "")
		})
	}
}

// Bodies that are no batch, on paths that are none, leave the service as it was.
func TestHostileRequests(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	h := c.handovers[0]
	good := body(t, h)
	cut := func(n int) []byte { return good[:n] }
	huge := bytes.Clone(good)
	copy(huge[3+relay.ReceiptSize+40:], []byte{0xff, 0xff, 0xff, 0xff}) // 2^32-1 envelopes
	for name, b := range map[string][]byte{
		"nothing": nil, "one byte": cut(1), "half": cut(len(good) / 2), "all but a byte": cut(len(good) - 1), "a byte too many": append(bytes.Clone(good), 0),
		"a number of envelopes that is not there": huge, "noise": bytes.Repeat([]byte{0xa5}, 10000), "a plan": c.signed.Marshal(),
	} {
		if w := r.do("PUT", path(h), wire.BatchType, b); w.Code != 422 {
			t.Errorf("%s: status %d, %s", name, w.Code, w.Body)
		}
	}
	for i := range relay.ReceiptSize + 60 { // every byte of receipts and headers
		b := bytes.Clone(good)
		b[i] ^= 0x41
		if w := r.do("PUT", path(h), wire.BatchType, b); w.Code != 422 && w.Code != 400 {
			t.Errorf("byte %d changed: status %d", i, w.Code)
		}
	}
	r.wants(r.do("PUT", path(h), "application/octet-stream", good), 415, wire.UnsupportedMediaType)
	r.wants(r.do("PUT", path(c.handovers[1]), wire.BatchType, good), 422, wire.ReceiptRefused)
	plan := h.Batch.Plan
	r.wants(r.do("PUT", wire.BatchPath(plan, 0, 0, 0), wire.BatchType, good), 421, wire.WrongRole)
	r.wants(r.do("PUT", wire.BatchPath(plan, 7, 1, 0), wire.BatchType, good), 421, wire.WrongRole)
	r.wants(r.do("PUT", strings.Replace(path(h), "instances/0", "instances/00", 1), wire.BatchType, good), 400, wire.BadRequest)
	r.wants(r.do("PUT", wire.BatchPath([32]byte{1}, 0, 1, 0), wire.BatchType, good), 404, wire.UnknownPlan)
	r.wants(r.put(h), created, "")
}

// endless is a body that somebody would go on sending for ever.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) { e.read += len(b); return len(b), nil }
func (e *endless) Close() error               { return nil }

// Who cannot show a receipt of the last hop is not listened to any further.
func TestBodiesWithoutAReceiptAreNotRead(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	sent := &endless{}
	q := httptest.NewRequest("PUT", path(c.handovers[0]), sent)
	q.Header.Set("Content-Type", wire.BatchType)
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, q)
	r.wants(w, 422, wire.ReceiptRefused)
	if sent.read > 1000 {
		t.Errorf("%d bytes of it were read", sent.read)
	}
}

// A crowd that was counted is not counted again, whatever comes in its name.
func TestAnotherBatchOfACrowdIsRefused(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	h := c.handovers[0]
	r.wants(r.put(h), created, "")
	r.wants(r.put(c.spoiled(t, h, func(h *handover.Handover) { h.Batch.Envelopes = h.Batch.Envelopes[1:] })), 409, wire.BatchTaken)
	r.wants(r.put(h), ok, "")
}

// However often and at once a batch comes, it counts once.
func TestABatchFromManyAtOnceCountsOnce(t *testing.T) {
	c := collect(t, nil)
	both(t, func(t *testing.T, dsn string) {
		r := start(t, dsn, c)
		r.wants(r.register(c), created, "")
		var wg sync.WaitGroup
		statuses := make([]int, 12)
		for i := range statuses {
			wg.Go(func() { statuses[i] = r.put(c.handovers[i%3]).Code })
		}
		wg.Wait()
		slices.Sort(statuses)
		if want := []int{200, 200, 200, 200, 200, 200, 200, 200, 200, 201, 201, 201}; !slices.Equal(statuses, want) {
			t.Errorf("answers %v", statuses)
		}
		r.countedOnce(c, 3)
	})
}

// countedOnce compares what is on disk with the batches themselves.
func (r *rig) countedOnce(c *collection, batches int) {
	r.t.Helper()
	stored, err := r.store.Batches(r.t.Context(), c.name)
	if err != nil || len(stored) != batches {
		r.t.Fatalf("%d batches on disk, want %d, %v", len(stored), batches, err)
	}
	for _, b := range stored {
		at := slices.IndexFunc(c.handovers, func(h handover.Handover) bool {
			return int(h.Batch.Instance) == b.Instance && int(h.Batch.Crowd) == b.Crowd
		})
		h := c.handovers[at]
		counts := c.protocol.NewTally().(*tally.Counts)
		kept, err := r.store.Tally(r.t.Context(), b)
		if err == nil {
			err = counts.UnmarshalBinary(kept)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		n := counts.N
		// One message in each of the three channels from every respondent.
		for channel := range 3 {
			if n[2*channel]+n[2*channel+1] != uint64(h.Batch.Respondents) {
				r.t.Errorf("channel %d of instance %d, crowd %d: %d and %d messages of %d respondents", channel, b.Instance, b.Crowd, n[2*channel], n[2*channel+1], h.Batch.Respondents)
			}
		}
		if b.SHA256 != h.Digest || len(b.Receipts) != relay.ReceiptSize*len(h.Receipts) {
			r.t.Errorf("mark or receipts of instance %d, crowd %d are others", b.Instance, b.Crowd)
		}
	}
}

// Envelopes that do not open leave a batch with fewer whole contributions than
// respondents. Where the promise does not survive that, nothing is published.
func TestAReleaseWhosePromiseFailsIsWithheld(t *testing.T) {
	// At a delta as small as usual, so few hide nothing of each other.
	c := collect(t, func(p *plan.Plan) { p.Budget.Epsilon, p.Budget.Delta = 2.1, 0.01 })
	both(t, func(t *testing.T, dsn string) {
		r := start(t, dsn, c)
		r.budget.Delta = 0.5
		r.restart()
		r.wants(r.register(c), created, "")
		for i, h := range c.handovers {
			if i == 0 { // 4 whole contributions are left: n_h of them came, f of them may lie
				h = c.spoiled(t, h, func(h *handover.Handover) {
					for i := 4 * perDevice; i < len(h.Batch.Envelopes); i++ {
						h.Batch.Envelopes[i] = bytes.Repeat([]byte{7}, len(h.Batch.Envelopes[i]))
					}
				})
			}
			r.wants(r.put(h), created, "")
		}
		r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
		for _, format := range []string{".json", ".counts.csv", ".html", ".receipts.json"} {
			why := r.wants(r.get("/v1/releases/"+c.name+format), 410, wire.Withheld)
			if !strings.Contains(why, "4 whole contributions, 3 of them honest") || !strings.Contains(why, "2.1 was promised") {
				t.Errorf("withheld because %q", why)
			}
		}
		p, err := r.store.Plan(t.Context(), c.name)
		if err != nil || p.Released || p.Reason == "" || p.Closer != "operator" {
			t.Errorf("%+v, %v", p, err)
		}
		if status := r.service.Status(t.Context()); len(status.Alarms) != 1 || !strings.Contains(status.Alarms[0], "withheld") {
			t.Errorf("alarms %q", status.Alarms)
		}
		r.at(r.now().Add(31 * 24 * time.Hour)) // retention is over
		if status := r.service.Status(t.Context()); len(status.Alarms) != 0 || status.Tables[0].Rows[0][2] != "withheld" {
			t.Errorf("alarms %q in %q", status.Alarms, status.Tables[0].Rows)
		}
		r.wants(r.put(c.handovers[1]), ok, "")
		r.wants(r.put(c.handovers[0]), 409, wire.BatchTaken)
	})
}

func TestNothingCameIsWithheld(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
	if why := r.wants(r.get("/v1/releases/"+c.name+".json"), 410, wire.Withheld); !strings.Contains(why, "no batch came") {
		t.Errorf("withheld because %q", why)
	}
	r.wants(r.put(c.handovers[0]), 410, wire.EpochOver)
	r.wants(r.do("POST", wire.ClosePath([32]byte{1}), "", nil), 404, wire.UnknownPlan)
}

// A full disk is the operator's to mend, and the hop is told to come again.
func TestAFullDiskIsSaid(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.fail("rows/count", keep.ErrFull)
	r.wants(r.put(c.handovers[0]), 507, wire.StorageFull)
	r.fail("", nil)
	r.wants(r.put(c.handovers[0]), created, "")
}

// A count of respondents that no machine's integers hold is a number like others.
func TestRespondentsBeyondReason(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.wants(r.put(c.spoiled(t, c.handovers[0], func(h *handover.Handover) { h.Batch.Respondents = math.MaxUint32 })), created, "")
	if o, err := r.service.Take(t.Context(), c.handovers[0]); o != rows.Failed || err == nil {
		t.Error(o, err)
	}
}
