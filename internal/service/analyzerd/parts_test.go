package analyzerd_test

import (
	"bytes"
	"crypto/ed25519"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/analyzer/shards"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// parted is a handover in parts of so many envelopes, which its last hop has signed for.
type parted struct {
	leg      wire.Leg
	receipts []relay.SignedReceipt
	manifest handover.Manifest
	parts    [][]byte
}

func (c *collection) inParts(h handover.Handover, each int) parted {
	b := h.Batch
	p := parted{leg: wire.Leg{Plan: b.Plan, Instance: b.Instance, Hop: b.Hop, Crowd: b.Crowd}, receipts: slices.Clone(h.Receipts)}
	cut := handover.NewCutter(uint64(each), len(b.Envelopes[0]))
	for some := range slices.Chunk(b.Envelopes, each) {
		part := bytes.Join(some, nil)
		cut.Write(part)
		p.parts = append(p.parts, part)
	}
	p.manifest = cut.Manifest(b.Head())
	last := len(p.receipts) - 1
	r := p.receipts[last].Receipt
	r.BatchOut = p.manifest.Digest()
	p.receipts[last] = r.Sign(c.signers[b.Instance][last])
	return p
}

func (r *rig) putManifest(p parted) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("PUT", wire.BatchPath(p.leg.Plan, p.leg.Instance, p.leg.Hop, p.leg.Crowd), wire.PartedType, append(handover.MarshalReceipts(p.receipts, true), p.manifest.Bytes()...))
}

func (r *rig) putPart(p parted, n int) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("PUT", wire.PartPath(p.leg, n), wire.PartType, append(handover.MarshalReceipts(p.receipts, false), p.parts[n]...))
}

// handOver does what a hop does: what failed begins with the manifest. It counts the parts
// that were taken.
func (r *rig) handOver(p parted, failed func()) (taken int) {
	r.t.Helper()
	for try := 0; ; try++ {
		if try > 50 {
			r.t.Fatal("it has no end")
		}
		w := r.putManifest(p)
		if w.Code == 201 || w.Code == 200 {
			return taken
		}
		if w.Code != 202 {
			failed()
			continue
		}
		m, err := handover.ParseMissing(w.Body.Bytes(), len(p.parts))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, n := range m.Parts {
			w := r.putPart(p, n)
			if w.Code >= 300 {
				failed()
				break
			}
			if w.Code == 201 {
				taken++
			}
		}
	}
}

// A batch that comes in parts, in whatever order and through whatever crash, is counted
// once, and the release is that of batches that came as a whole.
func TestABatchInParts(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	for _, point := range append(slices.Concat(shards.PartFailpoints, shards.Failpoints), "rows/count", "rows/count/committed") {
		t.Run(strings.ReplaceAll(point, "/", "-"), func(t *testing.T) {
			r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
			r.wants(r.register(c), created, "")
			crashed := 0
			for i, h := range c.handovers {
				p := c.inParts(h, 3)
				if i == 1 {
					r.fail(point, errCrash)
				}
				taken := r.handOver(p, func() {
					crashed++
					r.fail("", nil)
					r.restart()
				})
				if taken > len(p.parts) {
					t.Errorf("%d parts were taken of %d", taken, len(p.parts))
				}
				r.wants(r.putManifest(p), ok, "")
				r.wants(r.putPart(p, 0), ok, "")
			}
			if crashed != 1 {
				t.Errorf("%d crashes", crashed)
			}
			if got := r.released(c); got != want {
				t.Error("another release came out than of batches that came as a whole")
			}
			if left := r.left(); len(left) > 0 {
				t.Errorf("%d blobs are left", len(left))
			}
		})
	}
}

func TestHostilePartsAtTheAnalyzer(t *testing.T) {
	c := collect(t, nil)
	r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	p := c.inParts(c.handovers[0], 3)
	r.wants(r.putPart(p, 0), 404, wire.NotFound)
	stranger := p
	stranger.receipts = slices.Clone(p.receipts)
	stranger.receipts[len(p.receipts)-1].Signature[0] ^= 1
	r.wants(r.putManifest(stranger), 422, wire.ReceiptRefused)
	other := p
	other.manifest.Parts = slices.Clone(p.manifest.Parts)
	other.manifest.Parts[0], other.manifest.Parts[1] = other.manifest.Parts[1], other.manifest.Parts[0]
	r.wants(r.putManifest(other), 422, wire.ReceiptRefused)
	lied := p
	lied.manifest.Head.Envelopes++
	r.wants(r.putManifest(lied), 422, wire.BatchRefused)

	r.wants(r.putManifest(p), 202, "")
	r.wants(r.putPart(stranger, 0), 422, wire.ReceiptRefused)
	changed := p
	changed.parts = slices.Clone(p.parts)
	changed.parts[0] = bytes.Clone(p.parts[0])
	changed.parts[0][5] ^= 1
	r.wants(r.putPart(changed, 0), 422, wire.BatchRefused)
	changed.parts[0] = p.parts[1]
	r.wants(r.putPart(changed, 0), 422, wire.BatchRefused)
	changed.parts = append(changed.parts, p.parts[0])
	r.wants(r.putPart(changed, len(p.parts)), 422, wire.BatchRefused)
	r.handOver(p, func() { t.Error("refused") })

	second := c.handovers[0]
	second.Batch.Envelopes = slices.Clone(second.Batch.Envelopes)
	slices.Reverse(second.Batch.Envelopes)
	r.wants(r.putManifest(c.inParts(second, 3)), 409, wire.BatchTaken)
}

// Without a store for parts the analyzer says what it reads; what an earlier configuration
// has left is forgotten with the plan.
func TestPartsWithoutAFolder(t *testing.T) {
	c := collect(t, nil)
	r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.fail("shard-counted", errCrash)
	if w := r.put(c.handovers[0]); w.Code < 300 {
		t.Fatalf("%d: nothing failed", w.Code)
	}
	r.fail("", nil)
	folder := r.blobs
	r.blobs = ""
	r.restart()
	w := r.putManifest(c.inParts(c.handovers[0], 3))
	if r.wants(w, 415, wire.UnsupportedMediaType); w.Header().Get("Accept") != wire.BatchType {
		t.Errorf("it reads %q", w.Header().Get("Accept"))
	}
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	shared := func() int {
		sh, err := r.store.Shared(t.Context(), rows.Batch{Plan: c.name, SHA256: c.handovers[0].Digest})
		if err != nil {
			t.Fatal(err)
		}
		return sh.All
	}
	if shared() == 0 {
		t.Fatal("nothing was left")
	}
	r.released(c)
	r.at(closes.Add(2 * time.Hour))
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := shared(); n > 0 {
		t.Errorf("%d shards stay for good", n)
	}
	// The folder is there again: what lies in it goes too.
	r.blobs = folder
	r.restart()
	if err := r.service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("%d blobs are left", len(left))
	}
}

// A plan whose publisher is not trusted any more while a batch is counted gets no tally,
// until they are trusted again.
func TestTrustIsLostWhileABatchIsCounted(t *testing.T) {
	c := collect(t, nil)
	r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
	file := filepath.Join(t.TempDir(), "publishers.txt")
	trust := func(key ed25519.PrivateKey, want int) {
		t.Helper()
		if err := os.WriteFile(file, plan.Trust(plan.Publisher(key.Public().(ed25519.PublicKey))).Marshal(), 0o600); err != nil {
			t.Fatal(err)
		}
		if r.publishers == nil {
			return
		}
		for end := time.Now().Add(20 * time.Second); r.get(wire.PlanPath(c.signed.Plan.Hash())).Code != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the file has changed, and the plan is not %d", want)
			}
		}
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	trust(publisher, ok)
	if r.publishers, err = serve.ReadPublishers(file); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.wants(r.register(c), created, "")
	p := c.inParts(c.handovers[0], 3)
	r.wants(r.putManifest(p), 202, "")
	for n := range p.parts {
		r.wants(r.putPart(p, n), created, "")
	}
	lost := sync.OnceFunc(func() { trust(other, 503) })
	r.hook("shard-counted", func() error { lost(); return nil })
	r.wants(r.putManifest(p), 503, wire.PlanSuspended)
	r.hook("", nil)
	if all, err := r.store.Batches(t.Context(), c.name); err != nil || len(all) > 0 {
		t.Errorf("%d batches are counted, %v", len(all), err)
	}
	trust(publisher, ok)
	r.wants(r.putManifest(p), created, "")
}
