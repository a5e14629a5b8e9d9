package shuffler

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/x25519"
)

// keyOf is a key that a test draws again.
func keyOf(seed uint64) Key { return drawKey(seeded.New(seed)) }

func drawKey(r *rand.Rand) (k Key) {
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(k[i:], r.Uint64())
	}
	return k
}

// inParts mixes toy envelopes, of which {99} does not open, by the steps that Scatter
// and Gather are made of.
func inParts(place func(e []byte) order, in [][]byte, part, buckets int) (out [][]byte) {
	gathered := make([][]record, buckets)
	for p := range slices.Chunk(in, part) {
		var records []record
		for _, e := range p {
			if e[0] != 99 {
				records = append(records, record{place(e), e})
			}
		}
		for b, some := range deal(records, func(r record) order { return r.order }, buckets) {
			gathered[b] = append(gathered[b], some...)
		}
	}
	for _, records := range gathered {
		some, _ := arrange(records)
		out = append(out, some...)
	}
	return out
}

// Six envelopes, one a copy, in whatever parts and buckets: if the values of the five are
// in any order, each as often, the five leave in any order, each as often. By enumeration
// of all 120, without chance.
func TestOrdersAreThoseOfTheValues(t *testing.T) {
	in := [][]byte{{0}, {1}, {2}, {1}, {3}, {4}}
	for _, part := range []int{1, 2, 4, 6} {
		for _, buckets := range []int{1, 3, 7} {
			seen := map[string]int{}
			permutations(5, func(rank []int) {
				out := inParts(func(e []byte) (o order) {
					o[0] = byte(50 * rank[e[0]]) // over all buckets
					return o
				}, in, part, buckets)
				seen[string(bytes.Join(out, nil))]++
				for at, e := range out {
					if rank[e[0]] != at {
						t.Fatalf("ranks %v came out as %v", rank, out)
					}
				}
			})
			if len(seen) != 120 {
				t.Errorf("parts of %d, %d buckets: %d orders of 120", part, buckets, len(seen))
			}
		}
	}
}

func permutations(n int, fn func([]int)) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var walk func(int)
	walk = func(i int) {
		if i == n {
			fn(p)
			return
		}
		for j := i; j < n; j++ {
			p[i], p[j] = p[j], p[i]
			walk(i + 1)
			p[i], p[j] = p[j], p[i]
		}
	}
	walk(0)
}

// orders checks that a mixer brings the survivors of six envelopes into all 24
// orders alike, when one of the six does not open and one is a copy. With
// 24,000 draws it catches a relative entropy of 0.002 (see stattest.GTest): an
// order that is more frequent than the others by a third, for example. The
// twins below are much further off.
func orders(t testing.TB, mixer func(*rand.Rand, [][]byte) [][]byte) {
	in := [][]byte{{0}, {1}, {99}, {2}, {3}, {1}}
	index := map[string]int{}
	permutations(4, func(p []int) { index[string([]byte{byte(p[0]), byte(p[1]), byte(p[2]), byte(p[3])})] = len(index) })
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

func TestEveryOrderIsAsLikely(t *testing.T) {
	for _, c := range []struct{ part, buckets int }{{6, 1}, {2, 3}, {1, 5}} {
		t.Run(fmt.Sprintf("parts of %d, %d buckets", c.part, c.buckets), func(t *testing.T) {
			orders(t, func(r *rand.Rand, in [][]byte) [][]byte {
				return inParts(ordering(drawKey(r).derive("order")), in, c.part, c.buckets)
			})
		})
	}
}

func TestBrokenMixersAreCaught(t *testing.T) {
	survivors := func([][]byte) [][]byte { return [][]byte{{0}, {1}, {2}, {3}} }
	const part, buckets = 3, 2
	// dealt deals toy envelopes to buckets, by a function for each part, in the order of
	// parts; then it gives each bucket to end.
	dealt := func(in [][]byte, place func(part int) func([]byte) order, end func([]record) []record) (out [][]byte) {
		gathered := make([][]record, buckets)
		for p := 0; p*part < len(in); p++ {
			of := place(p)
			for _, e := range in[p*part : min(len(in), (p+1)*part)] {
				if e[0] != 99 {
					o := of(e)
					gathered[o.bucket(buckets)] = append(gathered[o.bucket(buckets)], record{o, e})
				}
			}
		}
		for _, g := range gathered {
			for _, r := range end(g) {
				out = append(out, r.inner)
			}
		}
		return out
	}
	once := func(all []record) []record { // by the envelope: a copy that lies elsewhere falls too
		var kept []record
		for _, r := range all {
			if !slices.ContainsFunc(kept, func(k record) bool { return bytes.Equal(k.inner, r.inner) }) {
				kept = append(kept, r)
			}
		}
		return kept
	}
	distinct := func(out [][]byte) [][]byte {
		var kept [][]byte
		for _, e := range out {
			if !slices.ContainsFunc(kept, func(k []byte) bool { return bytes.Equal(k, e) }) {
				kept = append(kept, e)
			}
		}
		return kept
	}
	sorted := func(all []record) []record {
		slices.SortStableFunc(all, func(a, b record) int { return bytes.Compare(a.order[:], b.order[:]) })
		return all
	}
	for name, twin := range map[string]func(*rand.Rand, [][]byte) [][]byte{
		"a bucket in the order of its parts": func(r *rand.Rand, in [][]byte) [][]byte {
			of := ordering(drawKey(r).derive("order"))
			return distinct(dealt(in, func(int) func([]byte) order { return of }, once))
		},
		"a key for each part": func(r *rand.Rand, in [][]byte) [][]byte { // a copy has two places, and the earlier counts
			return distinct(dealt(in, func(int) func([]byte) order { return ordering(drawKey(r).derive("order")) }, sorted))
		},
		"copies fall after the order is there": func(r *rand.Rand, in [][]byte) [][]byte {
			of, place := ordering(drawKey(r).derive("order")), byte(0)
			positions := func([]byte) order { place++; return of([]byte{place}) }
			return distinct(dealt(in, func(int) func([]byte) order { return positions }, sorted))
		},
		"leaves everything": func(_ *rand.Rand, in [][]byte) [][]byte { return survivors(in) },
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
		"few values": func(r *rand.Rand, in [][]byte) [][]byte { // those who share one stay as they came
			of := ordering(drawKey(r).derive("order"))
			return distinct(dealt(in, func(int) func([]byte) order {
				return func(e []byte) order { full := of(e); return order{full[0] & 0xc0} }
			}, sorted))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) { orders(tb, twin) })
		})
	}
}

// mixInParts is a whole crowd by Scatter and Gather; steps are repeated in another order
// on processes of other sizes, and the repetition must write the same bytes.
func mixInParts(t testing.TB, w world, hop int, k Key, b envelope.Head, came [][]byte, part, buckets int) (envelope.Batch, Receipt, error) {
	h := w.hop(t, int(b.Instance), hop)
	if err := h.Check(b); err != nil {
		return envelope.Batch{}, Receipt{}, err
	}
	var parts []Scattered
	for p := range slices.Chunk(came, part) {
		one, err := h.Scatter(k, b.Crowd, p, buckets)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.hop(t, int(b.Instance), hop).Scatter(k, b.Crowd, p, buckets)
		if err != nil || !slices.EqualFunc(one.Dealt, again.Dealt, bytes.Equal) || one.Dropped != again.Dropped {
			t.Fatalf("a part that is scattered again gives other bytes (%v)", err)
		}
		parts = append(parts, one)
	}
	did, tokens := Receipt{In: int(b.Envelopes)}, []TokenID(nil)
	for _, p := range parts {
		did.Dropped += p.Dropped
	}
	out := envelope.Batch{Hop: b.Hop + 1}
	for bucket := range buckets {
		backwards := func(yield func([]byte, error) bool) { // the parts in any order
			for _, p := range slices.Backward(parts) {
				if !yield(bytes.Clone(p.Dealt[bucket]), nil) {
					return
				}
			}
		}
		g, err := h.Gather(k, b.Crowd, bucket, buckets, deals(parts, bucket))
		if err != nil {
			t.Fatal(err)
		}
		again, err := h.Gather(k, b.Crowd, bucket, buckets, backwards)
		if err != nil || !slices.EqualFunc(g.Envelopes, again.Envelopes, bytes.Equal) || g.Duplicates != again.Duplicates || !slices.Equal(g.Tokens, again.Tokens) {
			t.Fatalf("a bucket that is gathered again is another (%v)", err)
		}
		did.Out, did.Duplicates, tokens = did.Out+len(g.Envelopes), did.Duplicates+g.Duplicates, append(tokens, g.Tokens...)
		out.Envelopes = append(out.Envelopes, g.Envelopes...)
	}
	did, err := h.Leave(b, did, tokens)
	return out, did, err
}

func deals(parts []Scattered, bucket int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, p := range parts {
			if !yield(bytes.Clone(p.Dealt[bucket]), nil) {
				return
			}
		}
	}
}

// Whatever the parts and buckets, what leaves is what leaves of one part in memory, byte
// for byte, and the receipt is the same: with envelopes that do not open, and copies in
// the same part and in others.
func TestPartsEqualTheWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	w := newWorld(t, envelope.X25519, 1, 2)
	entry, later := w.collect(t, 0, 0, 9), w.entered(t, 0, 9)
	rapid.Check(t, func(rt *rapid.T) {
		k := keyOf(rapid.Uint64().Draw(rt, "key"))
		hop, head, came := 1, later.Head(), slices.Clone(later.Envelopes)
		if rapid.Bool().Draw(rt, "entry") {
			hop, head, came = 0, w.hop(t, 0, 0).in.Head(0, len(entry.Bodies)), slices.Clone(entry.Bodies)
		}
		for range rapid.IntRange(0, 3).Draw(rt, "spoilt") {
			i, j := rapid.IntRange(0, len(came)-1).Draw(rt, "one"), rapid.IntRange(0, len(came)-1).Draw(rt, "other")
			came[i] = slices.Clone(came[j])
			if rapid.Bool().Draw(rt, "shut") {
				came[i][60] ^= 1
			}
		}
		rng.Shuffle(seeded.New(rapid.Uint64().Draw(rt, "arrival")), came)
		part, buckets := rapid.IntRange(1, len(came)).Draw(rt, "part"), rapid.SampledFrom([]int{1, 2, 3, 16, 300}).Draw(rt, "buckets")
		runtime.GOMAXPROCS(rapid.IntRange(1, 4).Draw(rt, "cores"))
		want, did, err := w.hop(t, 0, hop).mix(k, head, came)
		got, also, fault := mixInParts(t, w, hop, k, head, came, part, buckets)
		if err != nil || fault != nil {
			if !errors.Is(err, ErrWithheld) || !errors.Is(fault, ErrWithheld) {
				rt.Fatalf("%v; in parts: %v", err, fault)
			}
			return
		}
		if did != also || got.Hop != want.Hop || !slices.EqualFunc(got.Envelopes, want.Envelopes, bytes.Equal) {
			rt.Fatalf("in parts of %d and %d buckets %d left, as one %d; receipts %+v, %+v", part, buckets, len(got.Envelopes), len(want.Envelopes), also, did)
		}
	})
}

// What leaves a hop is the same, byte for byte, whoever multiplies.
func TestMixedByLanesAndWithout(t *testing.T) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		w := newWorld(t, suite, 1, 2)
		b := w.entered(t, 0, 40)
		b.Envelopes[7], b.Envelopes[70] = slices.Clone(b.Envelopes[8]), slices.Clone(b.Envelopes[9])
		b.Envelopes[70][40] ^= 1
		mixed := func(way string) (envelope.Batch, Receipt) {
			t.Setenv(x25519.Switch, way)
			out, did, err := w.hop(t, 0, 1).mix(keyOf(1), b.Head(), b.Envelopes)
			if err != nil {
				t.Fatal(err)
			}
			return out, did
		}
		got, did := mixed("")
		want, standard := mixed("standard")
		if did != standard || did.Dropped != 1 || did.Duplicates != 1 || !slices.EqualFunc(got.Envelopes, want.Envelopes, bytes.Equal) {
			t.Errorf("%s: %d leave and %+v, with crypto/ecdh %d and %+v", suite, len(got.Envelopes), did, len(want.Envelopes), standard)
		}
	}
}

// Tokens count once, though two parts have them, and in whatever bucket.
func TestTokensInParts(t *testing.T) {
	w := newTokenWorld(t)
	var tokens [][]byte
	for d := range minimum {
		tokens = append(tokens, w.token(t, d))
	}
	b := w.batch(t, 0, append(slices.Clone(tokens), tokens[0], nil))
	_, did, err := mixInParts(t, w.world, 1, keyOf(1), b.Head(), b.Envelopes, 3, 4)
	if err != nil || did.Tokens != minimum {
		t.Errorf("%+v, %v", did, err)
	}
	b = w.batch(t, 0, append(slices.Clone(tokens[:minimum-1]), tokens[0], nil, nil))
	if _, did, err = mixInParts(t, w.world, 1, keyOf(1), b.Head(), b.Envelopes, 3, 4); !errors.Is(err, ErrWithheld) || did.Tokens != minimum-1 {
		t.Errorf("too few tokens: %+v, %v", did, err)
	}
}

// What is missing, doubled, altered or of another place is never handed on.
func TestStepsRefuse(t *testing.T) {
	w := newWorld(t, envelope.X25519, 1, 1)
	b := w.collect(t, 0, 0, 6)
	h, k := w.hop(t, 0, 0), keyOf(1)
	head := h.in.Head(0, len(b.Bodies))
	one, err := h.Scatter(k, 0, b.Bodies, 2)
	if err != nil {
		t.Fatal(err)
	}
	gather := func(k Key, crowd uint32, bucket, buckets int, f []byte) error {
		_, err := h.Gather(k, crowd, bucket, buckets, func(yield func([]byte, error) bool) { yield(bytes.Clone(f), nil) })
		return err
	}
	if err := gather(k, 0, 1, 2, one.Dealt[1]); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"another key":               gather(keyOf(2), 0, 1, 2, one.Dealt[1]),
		"another crowd":             gather(k, 1, 1, 2, one.Dealt[1]),
		"another bucket":            gather(k, 0, 0, 2, one.Dealt[1]),
		"another number of buckets": gather(k, 0, 1, 3, one.Dealt[1]),
		"cut short":                 gather(k, 0, 1, 2, one.Dealt[1][:20]),
		"a tail less":               gather(k, 0, 1, 2, one.Dealt[1][:len(one.Dealt[1])-1]),
		"nothing":                   gather(k, 0, 1, 2, nil),
	} {
		if !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range one.Dealt[0] {
		bad := bytes.Clone(one.Dealt[0])
		bad[i] ^= 1
		if err := gather(k, 0, 0, 2, bad); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d altered: %v", i, err)
		}
	}
	for _, buckets := range []int{-1, 0, MaxBuckets + 1} {
		if _, err := h.Scatter(k, 0, b.Bodies, buckets); err == nil {
			t.Errorf("%d buckets", buckets)
		}
	}
	n := int(head.Envelopes)
	for name, did := range map[string]Receipt{
		"a part that is missing":   {In: n - 1, Out: n - 1},
		"a bucket that is missing": {In: n, Out: n - 1},
		"a part that came twice":   {In: n, Out: n, Duplicates: 2},
	} {
		if _, err := h.Leave(head, did, nil); err == nil || errors.Is(err, ErrWithheld) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Leave(head, Receipt{In: n, Out: n}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Leave(head, Receipt{In: n, Out: n}, nil); !errors.Is(err, ErrMixed) {
		t.Errorf("a crowd that has left: %v", err)
	}
	if a, b := NewKey(), NewKey(); a == b {
		t.Error("two keys are one")
	}
}

// BenchmarkParts is the cost of both steps for each envelope, beside bare HPKE in turn.
// Run it with GOMAXPROCS=1.
func BenchmarkParts(b *testing.B) {
	w := newWorld(b, envelope.X25519, 1, 2)
	batch, hop, k := w.entered(b, 0, 1000), w.hop(b, 0, 1), NewKey()
	bare := newBare(b, envelope.X25519, len(batch.Envelopes[0]))
	const buckets = 16
	clock := stopwatch{b: b}
	for b.Loop() {
		clock.start()
		s, err := hop.Scatter(k, 0, batch.Envelopes, buckets)
		if err != nil {
			b.Fatal(err)
		}
		for i := range buckets {
			if _, err := hop.Gather(k, 0, i, buckets, deals([]Scattered{s}, i)); err != nil {
				b.Fatal(err)
			}
		}
		clock.mixed()
		for range batch.Envelopes {
			bare.open(b)
		}
		clock.opened()
	}
	clock.report(b, b.N*len(batch.Envelopes))
}
