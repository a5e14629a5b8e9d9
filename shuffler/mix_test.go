package shuffler

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/stattest"
)

func TestHopRefuses(t *testing.T) {
	w := newWorld(t, envelope.X25519, 2, 2)
	r := replay.New(2)
	entry, second := w.hop(t, 0, 0), w.hop(t, 0, 1)
	first := w.collect(t, 0, 1, minimum+1)
	later, _, err := entry.mix(r, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.mix(r, later); err != nil {
		t.Fatal(err)
	}
	honest := w.plan.HonestMinimum() * perDevice
	for _, c := range []struct {
		name     string
		hop      *Hop
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
		out, _, err := c.hop.mix(r, b)
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
	out, receipt, err := w.hop(t, 0, 0).mix(replay.New(3), b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Receipt{In: n, Out: n - 4, Dropped: 2, Duplicates: 2}); receipt != want || len(out.Envelopes) != want.Out {
		t.Errorf("receipt %+v, want %+v; %d envelopes", receipt, want, len(out.Envelopes))
	}
	// The next hop takes fewer than the respondents once sent.
	if _, receipt, err := w.hop(t, 0, 1).mix(replay.New(4), out); err != nil || receipt != (Receipt{In: n - 4, Out: n - 4}) {
		t.Errorf("next hop: %+v, %v", receipt, err)
	}
}

// TestOrderIsThatOfTheGenerator runs the same generator with one worker and
// with many of uneven speed.
func TestOrderIsThatOfTheGenerator(t *testing.T) {
	in := make([][]byte, 40)
	for i := range in {
		in[i] = []byte{byte(i)}
	}
	uneven := func(e []byte) ([]byte, error) {
		if e[0]%7 == 0 {
			time.Sleep(time.Millisecond)
		}
		if e[0]%5 == 0 {
			return nil, errors.New("shut")
		}
		return e, nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want, _ := shuffle(replay.New(5), in, uneven)
	for _, workers := range []int{2, 3, 16} {
		runtime.GOMAXPROCS(workers)
		if got, _ := shuffle(replay.New(5), in, uneven); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d workers give another order", workers)
		}
	}
}

// orders checks that a mixer brings the survivors of six envelopes into all 24
// orders alike, when one of the six does not open and one is a copy. With
// 24,000 draws it catches a relative entropy of 0.002 (see stattest.GTest): an
// order that is more frequent than the others by a third, for example. The
// twins below are much further off.
func orders(t testing.TB, mixer func(*rand.Rand, [][]byte) [][]byte) {
	in := [][]byte{{0}, {1}, {99}, {2}, {3}, {1}}
	index := map[string]int{}
	for a := range byte(4) {
		for b := range byte(4) {
			for c := range byte(4) {
				if d := 6 - a - b - c; a != b && b != c && a != c {
					index[string([]byte{a, b, c, d})] = len(index)
				}
			}
		}
	}
	law, counts := make([]float64, len(index)), make([]int, len(index))
	for i := range law {
		law[i] = 1 / float64(len(law))
	}
	r := stattest.Rand(t)
	for range 24_000 {
		i, known := index[string(bytes.Join(mixer(r, in), nil))]
		if !known {
			t.Fatal("other envelopes came out")
		}
		counts[i]++
	}
	stattest.GTest(t, law, counts)
}

func opens(e []byte) ([]byte, error) {
	if e[0] == 99 {
		return nil, errors.New("shut")
	}
	return e, nil
}

func TestEveryOrderIsAsLikely(t *testing.T) {
	orders(t, func(r *rand.Rand, in [][]byte) [][]byte {
		out, _ := shuffle(r, in, opens)
		return out
	})
}

func TestBrokenMixersAreCaught(t *testing.T) {
	survivors := func([][]byte) [][]byte { return [][]byte{{0}, {1}, {2}, {3}} }
	for name, twin := range map[string]func(*rand.Rand, [][]byte) [][]byte{
		"leaves everything": func(_ *rand.Rand, in [][]byte) [][]byte { return survivors(in) },
		"leaves the first": func(r *rand.Rand, in [][]byte) [][]byte {
			out := survivors(in)
			rng.Shuffle(r, out[1:])
			return out
		},
		"never leaves one in place": func(r *rand.Rand, in [][]byte) [][]byte { // Sattolo's cycles
			out := survivors(in)
			for i := len(out) - 1; i > 0; i-- {
				j := r.IntN(i)
				out[i], out[j] = out[j], out[i]
			}
			return out
		},
		"swaps each with any": func(r *rand.Rand, in [][]byte) [][]byte { // 256 paths to 24 orders
			out := survivors(in)
			for i := range out {
				j := r.IntN(len(out))
				out[i], out[j] = out[j], out[i]
			}
			return out
		},
		"puts what came twice first": func(r *rand.Rand, in [][]byte) [][]byte { // a copy is twice as often early
			order := []int{0, 1, 3, 4, 5}
			rng.Shuffle(r, order)
			var out [][]byte
			for _, i := range order {
				if !slices.ContainsFunc(out, func(e []byte) bool { return bytes.Equal(e, in[i]) }) {
					out = append(out, in[i])
				}
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) { orders(tb, twin) })
		})
	}
}

// BenchmarkMix is the cost of one hop for each envelope, beside bare HPKE in
// turn. Run it with -cpu 1: Mix uses all cores and the bare loop one.
func BenchmarkMix(b *testing.B) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		b.Run(string(suite), func(b *testing.B) {
			w := newWorld(b, suite, 1, 2)
			batch, hop, r := w.collect(b, 0, 0, 100), w.hop(b, 0, 0), rng.New()
			bare := newBare(b, suite, len(batch.Envelopes[0]))
			var mixed, opened time.Duration
			for b.Loop() {
				start := time.Now()
				if _, _, err := hop.mix(r, batch); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				for range batch.Envelopes {
					bare.open(b)
				}
				mixed, opened = mixed+between.Sub(start), opened+time.Since(between)
			}
			n := float64(b.N * len(batch.Envelopes))
			b.ReportMetric(float64(mixed.Nanoseconds())/n, "ns/envelope")
			b.ReportMetric(float64(opened.Nanoseconds())/n, "bare-ns/envelope")
			b.ReportMetric(float64(mixed)/float64(opened), "ratio")
			b.ReportMetric(0, "ns/op") // both together: of no meaning
		})
	}
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
