package analyzerd_test

import (
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// large is a batch of so many envelopes for the first instance's analyzer, with a
// receipt that bears it out: what its only hop would hand on.
func (c *collection) large(b *testing.B, envelopes int) handover.Handover {
	h := c.handovers[0]
	payload, hop := c.signed.Plan.Envelopes.PayloadBytes, c.hops[0][0]
	layers := envelope.Route(h.Batch.Plan, h.Batch.Instance, h.Batch.Crowd, hop.Public(), c.analyzer.Public())
	sealer, err := envelope.NewSealer(layers, payload)
	if err != nil {
		b.Fatal(err)
	}
	opener, err := envelope.NewOpener(hop, h.Batch.Plan, h.Batch.Instance, 0, envelope.Size(layers, payload))
	if err != nil {
		b.Fatal(err)
	}
	h.Batch.Respondents, h.Batch.Envelopes = uint64(envelopes/perDevice), make([][]byte, envelopes)
	for i := range h.Batch.Envelopes {
		// A message in channel 0, 1 or 2, or a dummy.
		payload := []byte{1, 0, 0, 0, byte(i % 4), byte(i / 4 % 2), 0, 0}
		if i%4 == 3 {
			payload = make([]byte, 8)
		}
		sealed, err := sealer.Seal(payload)
		if err == nil {
			h.Batch.Envelopes[i], err = opener.Open(h.Batch.Crowd, sealed)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	r := h.Receipts[0].Receipt
	r.In, r.Out, r.Respondents = uint64(envelopes), uint64(envelopes), h.Batch.Respondents
	h.Digest = digest(b, h.Batch)
	r.BatchOut = h.Digest
	h.Receipts = []relay.SignedReceipt{r.Sign(c.signers[h.Batch.Instance][0])}
	return h
}

// BenchmarkBatch takes a batch of so many envelopes, from the request's body to the
// tally on disk and the answer, beside as many bare crypto/hpke openings on all
// cores. The target is 70 % of the bare rate with 20,000.
func BenchmarkBatch(b *testing.B) {
	c := collect(b, nil)
	made := map[int]handover.Handover{}

	kem, kdf, aead := hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.AES128GCM()
	key, err := kem.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	info := make([]byte, 52)
	enc, sender, err := hpke.NewSender(key.PublicKey(), kdf, aead, info)
	if err != nil {
		b.Fatal(err)
	}
	sealed, err := sender.Seal(nil, make([]byte, 8))
	if err != nil {
		b.Fatal(err)
	}
	bare := func(envelopes int) {
		var wg sync.WaitGroup
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			wg.Go(func() {
				for i := w; i < envelopes; i += workers {
					r, err := hpke.NewRecipient(enc, key, kdf, aead, info)
					if err == nil {
						_, err = r.Open(nil, sealed)
					}
					if err != nil {
						panic(err)
					}
				}
			})
		}
		wg.Wait()
	}

	for name, fresh := range map[string]func() string{
		"folder":   func() string { return filepath.Join(b.TempDir(), "shelves") },
		"postgres": func() string { return postgrestest.Postgres(b) },
	} {
		for _, envelopes := range []int{500, 20_000} {
			b.Run(fmt.Sprintf("%s/envelopes=%d", name, envelopes), func(b *testing.B) {
				if _, there := made[envelopes]; !there {
					made[envelopes] = c.large(b, envelopes)
				}
				h := made[envelopes]
				sent, at := body(b, h), path(h)
				var ours, theirs time.Duration
				for b.Loop() {
					r := start(b, fresh(), c)
					r.wants(r.register(c), created, "")
					begin := time.Now()
					r.wants(r.do("PUT", at, wire.BatchType, sent), created, "")
					ours += time.Since(begin)
					begin = time.Now()
					bare(envelopes)
					theirs += time.Since(begin)
				}
				all := float64(b.N * envelopes)
				b.ReportMetric(all/ours.Seconds(), "envelopes/s")
				b.ReportMetric(all/theirs.Seconds(), "bare-envelopes/s")
				b.ReportMetric(theirs.Seconds()/ours.Seconds(), "share-of-bare")
				b.ReportMetric(0, "ns/op") // both together: of no meaning
			})
		}
	}
}
