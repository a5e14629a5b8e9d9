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
	first := w.collect(t, 0, 1, minimum+1)
	later, _, err := w.hop(t, 0, 0).enter(k, first)
	if err != nil {
		t.Fatal(err)
	}
	mix := func(h *Hop, b envelope.Batch) (envelope.Batch, Receipt, error) {
		return h.mix(k, b.Head(), b.Envelopes)
	}
	if _, _, err := mix(w.hop(t, 0, 1), later); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change   func(*Collected)
		withheld bool
	}{
		"another plan":                 {func(c *Collected) { c.Plan[5] ^= 1 }, false},
		"another instance":             {func(c *Collected) { c.Instance = 1 }, false},
		"no such crowd":                {func(c *Collected) { c.Crowd = 3 }, false},
		"fewer respondents than n_min": {func(c *Collected) { c.Bodies = c.Bodies[1:minimum] }, true},
		"too few that open":            {func(c *Collected) { c.Bodies = [][]byte{c.Bodies[0], {1}, {2}, {3}, {4}} }, true},
	} {
		some := first
		c.change(&some)
		out, _, err := w.hop(t, 0, 0).enter(k, some)
		if err == nil || errors.Is(err, ErrWithheld) != c.withheld || out.Envelopes != nil {
			t.Errorf("%s at the entry: %v", name, err)
		}
	}
	honest := w.plan.MinHonest() * perDevice
	for _, c := range []struct {
		name     string
		change   func(*envelope.Batch)
		withheld bool
	}{
		{"another plan", func(b *envelope.Batch) { b.Plan[5] ^= 1 }, false},
		{"another instance", func(b *envelope.Batch) { b.Instance = 1 }, false},
		{"no such crowd", func(b *envelope.Batch) { b.Crowd = 3 }, false},
		{"a hop left out", func(b *envelope.Batch) { b.Hop = 0 }, false},
		{"a hop repeated", func(b *envelope.Batch) { b.Hop = 2 }, false},
		{"fewer respondents than n_min later", func(b *envelope.Batch) { b.Respondents, b.Envelopes = minimum-1, b.Envelopes[:(minimum-1)*perDevice] }, true},
		{"more respondents than n_max", func(b *envelope.Batch) { b.Respondents = 1001 }, false},
		{"an envelope more", func(b *envelope.Batch) { b.Envelopes = append(slices.Clone(b.Envelopes), b.Envelopes[0]) }, false},
		{"a target alone among claimed respondents", func(b *envelope.Batch) { b.Envelopes = b.Envelopes[:1] }, true},
		{"fewer envelopes than those of n_h", func(b *envelope.Batch) { b.Envelopes = b.Envelopes[:honest-1] }, true},
		{"as many, of which one is a copy", func(b *envelope.Batch) {
			b.Envelopes = append(slices.Clone(b.Envelopes[:honest-1]), b.Envelopes[0])
		}, true},
	} {
		b := later
		c.change(&b)
		out, _, err := mix(w.hop(t, 0, 1), b)
		if err == nil || errors.Is(err, ErrWithheld) != c.withheld {
			t.Errorf("%s: %v", c.name, err)
		}
		if out.Envelopes != nil {
			t.Errorf("%s: something left", c.name)
		}
	}
}

// Receipts count envelopes, at the entry too: a contribution that does not open drops all of its own.
func TestReceipt(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 3)
	c := w.collect(t, 0, 0, minimum+4)
	c.Bodies[0] = bytes.Clone(c.Bodies[0])
	c.Bodies[0][100] ^= 1          // does not open
	c.Bodies[1] = c.Bodies[1][:50] // no length of ours
	c.Bodies[2] = c.Bodies[3]      // copied under another name
	inner := w.inner(t, 0, 0, minimum+4)
	inner[0] = inner[1] // a copy within
	c.Bodies[4] = w.seal(t, w.form(0), 0, inner)
	inner = w.inner(t, 0, 0, minimum+5)
	c.Bodies[5], c.Bodies[6] = w.seal(t, w.form(0), 0, inner), w.seal(t, w.form(0), 0, inner) // the same under two seals
	n, lost := len(c.Bodies)*perDevice, 4*perDevice+1
	out, receipt, err := w.hop(t, 0, 0).enter(keyOf(3), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Receipt{In: n, Out: n - lost, Dropped: 2 * perDevice, Duplicates: 2*perDevice + 1}); receipt != want || len(out.Envelopes) != want.Out {
		t.Errorf("receipt %+v, want %+v; %d envelopes", receipt, want, len(out.Envelopes))
	}
	// The next hop takes fewer than the respondents once sent, and drops by envelopes.
	out.Envelopes[0] = bytes.Clone(out.Envelopes[0])
	out.Envelopes[0][40] ^= 1
	out.Envelopes[1] = bytes.Clone(out.Envelopes[2])
	if _, receipt, err := w.hop(t, 0, 1).mix(keyOf(4), out.Head(), out.Envelopes); err != nil || receipt != (Receipt{In: n - lost, Out: n - lost - 2, Dropped: 1, Duplicates: 1}) {
		t.Errorf("next hop: %+v, %v", receipt, err)
	}
}

// Whoever has the key of a crowd's order and the contributions that came finds no place by it: the order is
// of what is inside. Two seals round the same envelopes give the same batch.
func TestTheOrderIsOfWhatIsInside(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 2)
	one, other := w.collect(t, 0, 0, minimum), Collected{Plan: w.plan.Hash()}
	for _, body := range one.Bodies {
		inner, err := w.form(0).Open(w.hops[0][0], 0, body)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(inner)
		other.Bodies = append(other.Bodies, w.seal(t, w.form(0), 0, inner))
	}
	k := keyOf(5)
	a, _, err := w.hop(t, 0, 0).enter(k, one)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := w.hop(t, 0, 0).enter(k, other)
	if err != nil || !slices.EqualFunc(a.Envelopes, b.Envelopes, bytes.Equal) {
		t.Errorf("another seal gives another order: %v", err)
	}
}

// BenchmarkMix is the cost of one hop for each envelope, beside bare HPKE in
// turn. Run it with GOMAXPROCS=1: Mix uses all cores and the bare loop one.
func BenchmarkMix(b *testing.B) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		b.Run(string(suite), func(b *testing.B) {
			w := newWorld(b, suite, 1, 2)
			batch := w.entered(b, 0, 100)
			bare := newBare(b, suite, len(batch.Envelopes[0]))
			clock := stopwatch{b: b}
			for b.Loop() {
				clock.start()
				if _, _, err := w.hop(b, 0, 1).Mix(batch); err != nil {
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

// BenchmarkEnter is the cost of the entry for each of 768 envelopes of a contribution, beside bare HPKE in turn. Run
// it with GOMAXPROCS=1.
func BenchmarkEnter(b *testing.B) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		b.Run(string(suite), func(b *testing.B) {
			w := newWorld(b, suite, 1, 2)
			w.plan.Envelopes.PerDevice = 768
			crowd := w.collect(b, 0, 0, minimum)
			bare := newBare(b, suite, suite.Size(3, payload))
			clock := stopwatch{b: b}
			for b.Loop() {
				clock.start()
				if _, _, err := w.hop(b, 0, 0).Enter(crowd); err != nil {
					b.Fatal(err)
				}
				clock.mixed()
				for range minimum * 768 {
					bare.open(b)
				}
				clock.opened()
			}
			clock.report(b, b.N*minimum*768)
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
	c := w.collect(t, 0, 0, minimum+1)
	few, less := c, c
	few.Bodies, less.Bodies = c.Bodies[:1], c.Bodies[1:]
	if _, _, err := hop.Enter(few); err == nil {
		t.Fatal("a batch of one device's envelopes left")
	}
	if _, _, err := hop.Enter(c); err != nil { // what was refused did not use the crowd up
		t.Fatal(err)
	}
	for name, again := range map[string]Collected{"the same": c, "one respondent less": less} {
		out, _, err := hop.Enter(again)
		if !errors.Is(err, ErrMixed) || out.Envelopes != nil {
			t.Errorf("%s again: %v, %d envelopes left", name, err, len(out.Envelopes))
		}
	}
}
