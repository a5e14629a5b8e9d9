package shuffler

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestHopRefuses(t *testing.T) {
	w := newWorld(t, envelope.X25519, 2, 2)
	k := keyOf(2)
	const entry, second = 0, 1
	first := w.collect(t, 0, 1, minimum+1)
	later, _, err := w.hop(t, 0, entry).mix(k, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.hop(t, 0, second).mix(k, later); err != nil {
		t.Fatal(err)
	}
	honest := w.plan.MinHonest() * perDevice
	for _, c := range []struct {
		name     string
		hop      int
		batch    envelope.Batch
		change   func(*envelope.Batch)
		withheld bool
	}{
		{"another plan", entry, first, func(b *envelope.Batch) { b.Plan[5] ^= 1 }, false},
		{"another instance", entry, first, func(b *envelope.Batch) { b.Instance = 1 }, false},
		{"no such crowd", entry, first, func(b *envelope.Batch) { b.Crowd = 3 }, false},
		{"a hop left out", second, first, func(*envelope.Batch) {}, false},
		{"a hop repeated", entry, later, func(*envelope.Batch) {}, false},
		{"fewer respondents than n_min at the entry", entry, first, func(b *envelope.Batch) { b.Respondents, b.Envelopes = minimum-1, b.Envelopes[:(minimum-1)*perDevice] }, true},
		{"fewer respondents than n_min later", second, later, func(b *envelope.Batch) { b.Respondents, b.Envelopes = minimum-1, b.Envelopes[:(minimum-1)*perDevice] }, true},
		{"more respondents than n_max", second, later, func(b *envelope.Batch) { b.Respondents = 1001 }, false},
		{"an envelope short at the entry", entry, first, func(b *envelope.Batch) { b.Envelopes = b.Envelopes[1:] }, false},
		{"an envelope more", second, later, func(b *envelope.Batch) { b.Envelopes = append(slices.Clone(b.Envelopes), b.Envelopes[0]) }, false},
		{"a target alone among claimed respondents", second, later, func(b *envelope.Batch) { b.Envelopes = b.Envelopes[:1] }, true},
		{"fewer envelopes than those of n_h", second, later, func(b *envelope.Batch) { b.Envelopes = b.Envelopes[:honest-1] }, true},
		{"as many, of which one is a copy", second, later, func(b *envelope.Batch) {
			b.Envelopes = append(slices.Clone(b.Envelopes[:honest-1]), b.Envelopes[0])
		}, true},
	} {
		b := c.batch
		c.change(&b)
		out, _, err := w.hop(t, 0, c.hop).mix(k, b)
		if err == nil || errors.Is(err, ErrWithheld) != c.withheld {
			t.Errorf("%s: %v", c.name, err)
		}
		if out.Envelopes != nil {
			t.Errorf("%s: something left", c.name)
		}
	}
}

func TestReceipt(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 2)
	b := w.collect(t, 0, 0, minimum+2)
	b.Envelopes[0] = bytes.Clone(b.Envelopes[0])
	b.Envelopes[0][40] ^= 1              // does not open
	b.Envelopes[1] = b.Envelopes[1][:50] // no length of ours
	b.Envelopes[2] = bytes.Clone(b.Envelopes[3])
	b.Envelopes[4] = b.Envelopes[3]
	n := len(b.Envelopes)
	out, receipt, err := w.hop(t, 0, 0).mix(keyOf(3), b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Receipt{In: n, Out: n - 4, Dropped: 2, Duplicates: 2}); receipt != want || len(out.Envelopes) != want.Out {
		t.Errorf("receipt %+v, want %+v; %d envelopes", receipt, want, len(out.Envelopes))
	}
	// The next hop takes fewer than the respondents once sent.
	if _, receipt, err := w.hop(t, 0, 1).mix(keyOf(4), out); err != nil || receipt != (Receipt{In: n - 4, Out: n - 4}) {
		t.Errorf("next hop: %+v, %v", receipt, err)
	}
}

// BenchmarkMix is the cost of one hop for each envelope, beside bare HPKE in
// turn. Run it with GOMAXPROCS=1: Mix uses all cores and the bare loop one.
func BenchmarkMix(b *testing.B) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		b.Run(string(suite), func(b *testing.B) {
			w := newWorld(b, suite, 1, 2)
			batch := w.collect(b, 0, 0, 100)
			bare := newBare(b, suite, len(batch.Envelopes[0]))
			clock := stopwatch{b: b}
			for b.Loop() {
				clock.start()
				if _, _, err := w.hop(b, 0, 0).Mix(batch); err != nil {
					b.Fatal(err)
				}
				clock.mixed()
				for range batch.Envelopes {
					bare.open(b)
				}
				clock.opened()
			}
			clock.report(b, b.N*len(batch.Envelopes))
		})
	}
}

// stopwatch takes a mixer's processor time beside that of bare HPKE.
type stopwatch struct {
	b                 *testing.B
	begun, mix, opens time.Duration
}

func (s *stopwatch) start()  { s.begun = costlimit.Used(s.b) }
func (s *stopwatch) mixed()  { s.mix += costlimit.Used(s.b) - s.begun; s.start() }
func (s *stopwatch) opened() { s.opens += costlimit.Used(s.b) - s.begun }

func (s *stopwatch) report(b *testing.B, envelopes int) {
	b.ReportMetric(float64(s.mix.Nanoseconds())/float64(envelopes), "ns/envelope")
	b.ReportMetric(float64(s.opens.Nanoseconds())/float64(envelopes), "bare-ns/envelope")
	b.ReportMetric(float64(s.mix)/float64(s.opens), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// bare is one ciphertext of the same length, with crypto/hpke alone.
type bare struct {
	key        hpke.PrivateKey
	ciphertext []byte
}

func newBare(b *testing.B, suite envelope.Suite, size int) bare {
	kem := hpke.DHKEM(ecdh.X25519())
	if suite == envelope.XWing {
		kem = hpke.MLKEM768X25519()
	}
	key, err := kem.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	ciphertext, err := hpke.Seal(key.PublicKey(), hpke.HKDFSHA256(), hpke.AES128GCM(), nil, make([]byte, size-suite.Overhead()))
	if err != nil {
		b.Fatal(err)
	}
	return bare{key, ciphertext}
}

func (o bare) open(b *testing.B) {
	if _, err := hpke.Open(o.key, hpke.HKDFSHA256(), hpke.AES128GCM(), nil, o.ciphertext); err != nil {
		b.Fatal(err)
	}
}

// A second batch without one device would show which envelopes were its own.
func TestOneBatchOfACrowdLeavesAHop(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 1)
	hop := w.hop(t, 0, 0)
	b := w.collect(t, 0, 0, minimum+1)
	few := b
	few.Envelopes = b.Envelopes[:perDevice]
	if _, _, err := hop.Mix(few); err == nil {
		t.Fatal("a batch of one device's envelopes left")
	}
	if _, _, err := hop.Mix(b); err != nil { // what was refused did not use the crowd up
		t.Fatal(err)
	}
	less := b
	less.Respondents, less.Envelopes = b.Respondents-1, b.Envelopes[perDevice:]
	for name, again := range map[string]envelope.Batch{"the same": b, "one respondent less": less} {
		out, _, err := hop.Mix(again)
		if !errors.Is(err, ErrMixed) || out.Envelopes != nil {
			t.Errorf("%s again: %v, %d envelopes left", name, err, len(out.Envelopes))
		}
	}
}
