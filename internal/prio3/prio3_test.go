package prio3

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/vdaf/prio3/histogram"
	"github.com/cloudflare/circl/vdaf/prio3/sumvec"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

var circuits = map[string]struct {
	circuit Circuit
	chunk   int
	allowed func(r *rand.Rand) []uint64
	refused map[string][]uint64
}{
	"histogram": {Histogram{11}, 3, func(r *rand.Rand) []uint64 { v := make([]uint64, 11); v[r.IntN(11)] = 1; return v },
		map[string][]uint64{"two ones": {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "none": make([]uint64, 11), "a two": {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "short": {1}, "nothing": nil}},
	"multihot": {Multihot{9, 4}, 4, func(r *rand.Rand) []uint64 {
		v := make([]uint64, 9)
		for range 4 {
			v[r.IntN(9)] = 1
		}
		return v
	}, map[string][]uint64{"five ones": {1, 1, 1, 1, 1, 0, 0, 0, 0}, "a three": {3, 0, 0, 0, 0, 0, 0, 0, 0}, "long": make([]uint64, 10)}},
	"sum": {SumVec{5, 9}, 5, func(r *rand.Rand) []uint64 {
		v := make([]uint64, 5)
		for i := range v {
			v[i] = uint64(r.IntN(10))
		}
		return v
	}, map[string][]uint64{"a ten": {10, 0, 0, 0, 0}, "largest": {math.MaxUint64, 0, 0, 0, 0}, "short": {1, 2}}},
	"bounded": {Bounded{5, 6, 11}, 4, func(r *rand.Rand) []uint64 {
		v := []uint64{3, 3, 3, 3, 3}
		v[r.IntN(5)] += uint64(r.IntN(3))
		v[r.IntN(5)]--
		return v
	}, map[string][]uint64{"one unit too long": {6, 4, 4, 4, 3}, "below": {0, 2, 4, 4, 3}, "a seven": {7, 3, 3, 3, 3}, "largest": {math.MaxUint64, 3, 3, 3, 3}, "short": {3}}},
	"one number": {SumVec{1, 1}, 1, func(r *rand.Rand) []uint64 { return []uint64{r.Uint64N(2)} }, map[string][]uint64{"a two": {2}}},
}

func made(t testing.TB, c Circuit, chunk int) *VDAF {
	t.Helper()
	v, err := New(c, chunk, []byte("a test"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type report struct {
	nonce                  [NonceSize]byte
	public, leader, helper []byte
}

func split(t testing.TB, v *VDAF, r *rand.Rand, vector []uint64) (s report) {
	t.Helper()
	rng.Reader(r).Read(s.nonce[:])
	var err error
	if s.public, s.leader, s.helper, err = v.Split(rng.Reader(r), s.nonce, vector); err != nil {
		t.Fatal(err)
	}
	return s
}

// verify is what the two aggregators do with a report.
func verify(v *VDAF, key [KeySize]byte, s report) (leader, helper Vector, err error) {
	ours, ourPart, err := v.Start(key, Leader, s.nonce, s.public, s.leader)
	if err != nil {
		return leader, helper, err
	}
	theirs, theirPart, err := v.Start(key, Helper, s.nonce, s.public, s.helper)
	if err != nil {
		return leader, helper, err
	}
	message, err := v.Decide(ourPart, theirPart)
	if err != nil {
		return leader, helper, err
	}
	leader, err = v.Finish(ours, message)
	helper, other := v.Finish(theirs, message)
	return leader, helper, errors.Join(err, other)
}

func generator() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestSumsOfAllowedVectorsAreTheirSums(t *testing.T) {
	for name, c := range circuits {
		t.Run(name, func(t *testing.T) {
			r, v := generator(), made(t, c.circuit, c.chunk)
			want := make([]int64, v.Length())
			var sums [2]Vector
			for range 30 {
				vector := c.allowed(r)
				leader, helper, err := verify(v, [KeySize]byte{7}, split(t, v, r, vector))
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(sums[0].Add(leader), sums[1].Add(helper)); err != nil {
					t.Fatal(err)
				}
				for i, x := range vector {
					want[i] += int64(x)
				}
			}
			got, err := Open(sums[0], sums[1])
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("sum %v, want %v: %v", got, want, err)
			}
		})
	}
}

func TestVectorsThatAreNotAllowedAreNotSplit(t *testing.T) {
	for name, c := range circuits {
		for fault, vector := range c.refused {
			v := made(t, c.circuit, c.chunk)
			if _, _, _, err := v.Split(rng.Reader(generator()), [NonceSize]byte{}, vector); err == nil {
				t.Errorf("%s: %s was split", name, fault)
			}
		}
	}
}

// A device that does not follow the rules splits what it likes: numbers beyond 0 and 1,
// or two ones. The proof is the best it can make, by the prover's own code.
func stuffed(t *testing.T, v *VDAF, encoded []int64) report {
	lying := *v
	lying.circuit = liar{v.circuit, encoded}
	return split(t, &lying, generator(), nil)
}

type liar struct {
	Circuit
	says []int64
}

func (l liar) encode([]uint64) (fp128.Vec, error) {
	v := Vector{make(fp128.Vec, len(l.says))}
	if err := v.AddNoise(l.says); err != nil {
		return nil, err
	}
	return v.elements, nil
}

func TestStuffedBallotsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		circuit Circuit
		encoded []int64
	}{
		"two votes in one cell":   {Histogram{4}, []int64{2, 0, 0, 0}},
		"two cells":               {Histogram{4}, []int64{1, 1, 0, 0}},
		"none":                    {Histogram{4}, []int64{0, 0, 0, 0}},
		"a vote against":          {Histogram{4}, []int64{1, 1, -1, 0}},
		"sum of one by fractions": {Histogram{4}, []int64{1 << 40, 1 - 1<<40, 0, 0}},
		"three of two":            {Multihot{4, 2}, []int64{1, 1, 1, 0, 1, 1}},
		"weight not as said":      {Multihot{4, 2}, []int64{1, 1, 0, 0, 1, 0}},
		"a bit of two":            {SumVec{2, 3}, []int64{2, 0, 0, 0}},
		"too long by one":         {Bounded{3, 6, 5}, []int64{0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1}},
		"a length beyond its own": {Bounded{3, 6, 5}, []int64{0, 1, 1, 1, 0, 1, 1, 0, 1, 2, 1, 1}},
		"squares not as said":     {Bounded{3, 6, 5}, []int64{0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			v := made(t, c.circuit, 2)
			s := stuffed(t, v, c.encoded)
			if _, _, err := verify(v, [KeySize]byte{1}, s); !errors.Is(err, errRefused) {
				t.Errorf("not refused: %v", err)
			}
			// The broken twin, an aggregator that skips the decision, counts what was stuffed.
			ours, part, err := v.Start([KeySize]byte{1}, Leader, s.nonce, s.public, s.leader)
			theirs, other, err2 := v.Start([KeySize]byte{1}, Helper, s.nonce, s.public, s.helper)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			seed := v.seed([seedSize]byte{}, jointSeed, part[len(part)-seedSize:], other[len(other)-seedSize:])
			leader, err := v.Finish(ours, seed[:])
			helper, err2 := v.Finish(theirs, seed[:])
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			split := Vector{make(fp128.Vec, len(c.encoded))}
			if err := split.AddNoise(c.encoded); err != nil {
				t.Fatal(err)
			}
			stuffed := Vector{c.circuit.truncate(split.elements)}
			want, err := Open(stuffed, Vector{make(fp128.Vec, len(stuffed.elements))})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Open(leader, helper); err != nil || !slices.Equal(got, want) {
				t.Errorf("without the decision %v is counted, want %v: %v", got, want, err)
			}
		})
	}
}

// Every byte of what travels, changed, is refused somewhere.
func TestChangedBytesAreRefused(t *testing.T) {
	for name, c := range circuits {
		t.Run(name, func(t *testing.T) {
			r, v := generator(), made(t, c.circuit, c.chunk)
			s := split(t, v, r, c.allowed(r))
			key := [KeySize]byte{3}
			parts := map[string]func(*report) []byte{
				"nonce": func(s *report) []byte { return s.nonce[:] }, "public share": func(s *report) []byte { return s.public },
				"leader's share": func(s *report) []byte { return s.leader }, "helper's share": func(s *report) []byte { return s.helper },
			}
			for part, of := range parts {
				for at := range of(&s) {
					changed := report{s.nonce, bytes.Clone(s.public), bytes.Clone(s.leader), bytes.Clone(s.helper)}
					of(&changed)[at] ^= 1 << r.IntN(8)
					if _, _, err := verify(v, key, changed); err == nil {
						t.Fatalf("byte %d of the %s changed, and nobody refused", at, part)
					}
				}
			}
			for at := range 2 * seedSize { // a part of the verification on its way
				_, part, _ := v.Start(key, Leader, s.nonce, s.public, s.leader)
				state, other, _ := v.Start(key, Helper, s.nonce, s.public, s.helper)
				part[len(part)-1-at%len(part)] ^= 1
				if message, err := v.Decide(part, other); err == nil {
					if _, err := v.Finish(state, message); err == nil {
						t.Fatalf("byte %d from the end of a part changed, and nobody refused", at)
					}
				}
			}
		})
	}
}

func TestSharesOfOthersAreRefused(t *testing.T) {
	r := generator()
	v := made(t, Histogram{8}, 3)
	a, b := split(t, v, r, []uint64{1, 0, 0, 0, 0, 0, 0, 0}), split(t, v, r, []uint64{0, 1, 0, 0, 0, 0, 0, 0})
	elsewhere, err := New(Histogram{8}, 3, []byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		v *VDAF
		s report
	}{
		"another's helper share": {v, report{a.nonce, a.public, a.leader, b.helper}},
		"another's leader share": {v, report{a.nonce, a.public, b.leader, a.helper}},
		"another's public share": {v, report{a.nonce, b.public, a.leader, a.helper}},
		"another nonce":          {v, report{b.nonce, a.public, a.leader, a.helper}},
		"another context":        {elsewhere, a},
		"another chunk":          {made(t, Histogram{8}, 4), a},
		"another circuit":        {made(t, SumVec{8, 1}, 3), a},
		"shares swapped":         {v, report{a.nonce, a.public, a.helper, a.leader}},
		"cut public share":       {v, report{a.nonce, a.public[1:], a.leader, a.helper}},
		"no share":               {v, report{a.nonce, a.public, nil, a.helper}},
		"no helper share":        {v, report{a.nonce, a.public, a.leader, nil}},
		"beyond the field":       {v, report{a.nonce, a.public, append(bytes.Repeat([]byte{255}, 16), a.leader[16:]...), a.helper}},
	} {
		if _, _, err := verify(c.v, [KeySize]byte{}, c.s); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, _, err := v.Start([KeySize]byte{}, 2, a.nonce, a.public, a.leader); err == nil {
		t.Error("there is a third aggregator")
	}
	if _, err := v.Decide(nil, nil); err == nil {
		t.Error("nothing was decided on")
	}
	if _, err := v.Finish(State{}, make([]byte, seedSize)); err == nil {
		t.Error("a state of nothing is finished")
	}
}

// The leader's share and what it sees of the helper is uniform whatever the vector:
// with the helper's seeds fixed, shares of two vectors differ by the vectors alone, and
// the helper's own share does not depend on the vector at all.
func TestTheHelpersShareTellsNothing(t *testing.T) {
	v := made(t, Histogram{6}, 2)
	random := bytes.Repeat([]byte{5}, 4*seedSize)
	_, _, one, err := v.Split(bytes.NewReader(random), [NonceSize]byte{}, []uint64{1, 0, 0, 0, 0, 0})
	_, _, other, err2 := v.Split(bytes.NewReader(random), [NonceSize]byte{}, []uint64{0, 0, 0, 0, 0, 1})
	if err != nil || err2 != nil || !bytes.Equal(one, other) {
		t.Errorf("the helper's share depends on the vector: %v, %v", err, err2)
	}
}

func TestNoiseIsAdded(t *testing.T) {
	r, v := generator(), made(t, SumVec{3, 7}, 2)
	leader, helper, err := verify(v, [KeySize]byte{}, split(t, v, r, []uint64{7, 0, 3}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(leader.AddNoise([]int64{-9, 4, 0}), helper.AddNoise([]int64{1, -5, math.MinInt32})); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(leader, helper); err != nil || !slices.Equal(got, []int64{-1, -1, 3 + math.MinInt32}) {
		t.Errorf("sum %v: %v", got, err)
	}
	if leader.AddNoise([]int64{1}) == nil || leader.Add(Vector{make(fp128.Vec, 2)}) == nil {
		t.Error("other lengths are added")
	}
	if _, err := Open(leader, Vector{make(fp128.Vec, 3)}); err == nil {
		t.Error("a share alone was opened")
	}
	if _, err := Open(leader, Vector{}); err == nil {
		t.Error("shares of other lengths were opened")
	}
}

func TestASumComesBackFromItsBytes(t *testing.T) {
	r, v := generator(), made(t, SumVec{3, 7}, 2)
	leader, helper, err := verify(v, [KeySize]byte{}, split(t, v, r, []uint64{7, 0, 3}))
	if err != nil {
		t.Fatal(err)
	}
	b, err := leader.MarshalBinary()
	var back Vector
	if err != nil || back.UnmarshalBinary(b) != nil {
		t.Fatal(err)
	}
	if got, err := Open(back, helper); err != nil || !slices.Equal(got, []int64{7, 0, 3}) {
		t.Errorf("sum %v: %v", got, err)
	}
	for _, bad := range [][]byte{b[1:], bytes.Repeat([]byte{255}, len(b))} {
		if back.UnmarshalBinary(bad) == nil {
			t.Errorf("%x is read", bad)
		}
	}
}

func TestImpossibleCircuitsAreNamed(t *testing.T) {
	for want, c := range map[string]struct {
		circuit Circuit
		chunk   int
	}{
		"vectors of 0 numbers":       {Histogram{0}, 1},
		"vectors of -1 numbers":      {SumVec{-1, 1}, 1},
		"vectors of 4194305 numbers": {Histogram{MaxEncoded + 1}, 1},
		"at most 5 ones":             {Multihot{4, 5}, 1},
		"at most 0 ones":             {Multihot{4, 0}, 1},
		"numbers of at most 0":       {SumVec{4, 0}, 1},
		"numbers of at most 3 about": {Bounded{4, 3, 1}, 1},
		"numbers of at most 0 about": {Bounded{4, 0, 1}, 1},
		"squares of at most 0":       {Bounded{4, 2, 0}, 1},
		"squares of at most 17":      {Bounded{4, 4, 17}, 1},
		"a chunk of 0":               {Histogram{4}, 0},
		"a chunk of 5":               {Histogram{4}, 5},
	} {
		if _, err := New(c.circuit, c.chunk, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, chunk %d: error %v, want one with %q", c.circuit, c.chunk, err, want)
		}
	}
	if _, err := New(Histogram{4}, 1, make([]byte, 1<<15+1)); err == nil {
		t.Error("a context of any length is taken")
	}
}

func TestRandomBytesThatEndAreAnError(t *testing.T) {
	if _, _, _, err := made(t, Histogram{2}, 1).Split(bytes.NewReader(make([]byte, 127)), [NonceSize]byte{}, []uint64{1, 0}); err == nil {
		t.Error("split with too little randomness")
	}
}

func FuzzReport(f *testing.F) {
	v := made(f, Multihot{5, 2}, 3)
	s := split(f, v, generator(), []uint64{1, 0, 0, 1, 0})
	f.Add(s.public, s.leader, s.helper)
	f.Fuzz(func(t *testing.T, public, leader, helper []byte) {
		var sum []int64
		var err error
		costlimit.Heap(t, costlimit.Factor, len(public)+len(leader)+len(helper), func() {
			var ours, theirs Vector
			if ours, theirs, err = verify(v, [KeySize]byte{}, report{s.nonce, public, leader, helper}); err == nil {
				sum, err = Open(ours, theirs)
			}
		})
		ones := int64(0)
		for _, x := range sum {
			if ones += x; x != 0 && x != 1 {
				t.Errorf("a vector with a %d was taken", x)
			}
		}
		if ones > 2 {
			t.Errorf("a vector with %d ones was taken", ones)
		}
	})
}

// Beside circl's Prio3 of an earlier draft, in turn, by the processor's time.
func BenchmarkPrio3(b *testing.B) {
	type step struct{ split, start func() }
	var nonce [NonceSize]byte
	ours := func(c Circuit, chunk int, vector []uint64) step {
		v, r := made(b, c, chunk), generator()
		s := split(b, v, r, vector)
		return step{
			func() { split(b, v, r, vector) },
			func() {
				if _, _, err := v.Start([KeySize]byte{}, Leader, s.nonce, s.public, s.leader); err != nil {
					b.Fatal(err)
				}
			},
		}
	}
	cells := func(n int) step {
		v, err := histogram.New(2, uint(n), uint(chunkFor(n)), []byte("a test"))
		if err != nil {
			b.Fatal(err)
		}
		params := v.Params()
		random := make([]byte, params.RandSize())
		public, shares, err := v.Shard(1, (*histogram.Nonce)(&nonce), random)
		if err != nil {
			b.Fatal(err)
		}
		return step{
			func() { v.Shard(1, (*histogram.Nonce)(&nonce), random) },
			func() {
				if _, _, err := v.PrepInit(&histogram.VerifyKey{}, &histogram.Nonce{}, 0, public, shares[0]); err != nil {
					b.Fatal(err)
				}
			},
		}
	}
	bits := func(n int) step {
		v, err := sumvec.New(2, uint(n), 1, uint(chunkFor(n)), []byte("a test"))
		if err != nil {
			b.Fatal(err)
		}
		params := v.Params()
		random, vector := make([]byte, params.RandSize()), make([]uint64, n)
		public, shares, err := v.Shard(vector, (*sumvec.Nonce)(&nonce), random)
		if err != nil {
			b.Fatal(err)
		}
		return step{
			func() { v.Shard(vector, (*sumvec.Nonce)(&nonce), random) },
			func() {
				if _, _, err := v.PrepInit(&sumvec.VerifyKey{}, &sumvec.Nonce{}, 0, public, shares[0]); err != nil {
					b.Fatal(err)
				}
			},
		}
	}
	one := func(n int) []uint64 { return append([]uint64{1}, make([]uint64, n-1)...) }
	beside := func(b *testing.B, ours, theirs func()) {
		var spent [2]time.Duration
		rounds := 0
		for b.Loop() {
			for i, do := range []func(){ours, theirs} {
				before := costlimit.Used(b)
				for range 10 {
					do()
				}
				spent[i] += costlimit.Used(b) - before
			}
			rounds += 10
		}
		b.ReportMetric(float64(spent[0])/float64(rounds)/1e3, "cpu-µs")
		b.ReportMetric(float64(spent[1])/float64(rounds)/1e3, "circl-cpu-µs")
		b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
		b.ReportMetric(0, "ns/op") // both together: of no meaning
	}
	for _, c := range []struct {
		name         string
		ours, theirs step
	}{
		{"bits=768", ours(SumVec{768, 1}, chunkFor(768), make([]uint64, 768)), bits(768)},
		{"cells=1024", ours(Histogram{1024}, chunkFor(1024), one(1024)), cells(1024)},
		{"cells=32768", ours(Histogram{32768}, chunkFor(32768), one(32768)), cells(32768)},
	} {
		b.Run("split/"+c.name, func(b *testing.B) { beside(b, c.ours.split, c.theirs.split) })
		b.Run("start/"+c.name, func(b *testing.B) { beside(b, c.ours.start, c.theirs.start) })
	}
}

// chunkFor is a chunk such that the calls, with the seeds, fill a power of two.
func chunkFor(n int) int {
	calls := 1
	for calls*calls < n/4 {
		calls = 2*calls + 1
	}
	return (n + calls - 1) / calls
}
