package rng

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The key stream is that of NIST SP 800-38A, example F.5.1 (CTR-AES128), read as
// little-endian words.
func TestKeyedIsAESCounterMode(t *testing.T) {
	key, _ := hex.DecodeString("2b7e151628aed2a6abf7158809cf4f3c")
	iv, _ := hex.DecodeString("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
	want, _ := hex.DecodeString("ec8cdf7398607cb0f2d21675ea9ea1e4" +
		"362b7c3c6773516318a077d7fc5073ae" + "6a2cc3787889374fbeb4c81b17ba6c44" + "e89c399ff0f198c6d40a31db156cabfe")
	r := Keyed([16]byte(key), [16]byte(iv))
	for i := 0; i < len(want); i += 8 {
		if got, want := r.Uint64(), binary.LittleEndian.Uint64(want[i:]); got != want {
			t.Fatalf("word %d is %#x, want %#x", i/8, got, want)
		}
	}
}

// A stream longer than its buffer goes on where a fresh one would.
func TestRefillContinuesTheStream(t *testing.T) {
	const words = 3*blockSize/8 + 5
	r, iv := Keyed([16]byte{1}, [16]byte{}), [16]byte{}
	for i := range words {
		got := r.Uint64()
		if i%2 == 1 {
			continue
		}
		binary.BigEndian.PutUint64(iv[8:], uint64(i/2)) // two words to a counter block
		if want := Keyed([16]byte{1}, iv).Uint64(); got != want {
			t.Fatalf("word %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestNewIsFresh(t *testing.T) {
	a, b := New(), New()
	if a.Uint64() == b.Uint64() {
		t.Fatal("two generators agree on 64 bits")
	}
}

// fixed is t as an integer multiple of 2^-128.
func (t Threshold) fixed() *big.Int {
	x := new(big.Int).SetUint64(t.hi)
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(t.lo))
	if t.one {
		x.Add(x, big.NewInt(1))
	}
	return x
}

// Arithmetic on thresholds against that on integers of any length.
func TestThresholdArithmetic(t *testing.T) {
	unit := new(big.Int).Lsh(big.NewInt(1), 128)
	check := func(t interface{ Fatalf(string, ...any) }, x Threshold) {
		if got, want := x.Complement().fixed(), new(big.Int).Sub(unit, x.fixed()); got.Cmp(want) != 0 {
			t.Fatalf("the complement of %+v is %v, want %v", x, got, want)
		}
		square := new(big.Int).Mul(x.fixed(), x.fixed())
		if got, want := x.square().fixed(), square.Rsh(square, 128); got.Cmp(want) != 0 {
			t.Fatalf("the square of %+v is %v, want %v", x, got, want)
		}
	}
	for _, hi := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
		for _, lo := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
			check(t, Threshold{hi: hi, lo: lo})
		}
	}
	check(t, certain)
	rapid.Check(t, func(t *rapid.T) {
		x := Threshold{hi: rapid.Uint64().Draw(t, "hi"), lo: rapid.Uint64().Draw(t, "lo")}
		if got := x.Complement().Complement(); got != x {
			t.Fatalf("complement twice of %+v is %+v", x, got)
		}
		check(t, x)
	})
}

func TestProbIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "fraction"), rapid.IntRange(-74, 0).Draw(t, "exponent"))
		got := new(big.Float).SetMantExp(new(big.Float).SetInt(Prob(p).fixed()), -128)
		if got.Cmp(big.NewFloat(p)) != 0 {
			t.Fatalf("Prob(%v) is %v", p, got)
		}
	})
}

func TestProbAtTheEnds(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want Threshold
	}{
		{0, Threshold{}},
		{1, Threshold{math.MaxUint64, math.MaxUint64, true}},
		{0.5, Threshold{hi: 1 << 63}},
		{1 - 0x1p-53, Threshold{hi: math.MaxUint64 - 1<<11 + 1}},
		{0x1p-128, Threshold{lo: 1}},
		{0x1.8p-128, Threshold{lo: 2}},
		{0x1p-130, Threshold{}},
		{math.SmallestNonzeroFloat64, Threshold{}},
	} {
		if got := Prob(c.p); got != c.want {
			t.Errorf("Prob(%v) is %+v, want %+v", c.p, got, c.want)
		}
	}
	for _, p := range []float64{-1e-300, 1 + 0x1p-52, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Prob(%v) did not panic", p)
				}
			}()
			Prob(p)
		}()
	}
}

// script is a source that returns the words it is given.
type script []uint64

func (s *script) Uint64() uint64 {
	u := (*s)[0]
	*s = (*s)[1:]
	return u
}

// Every way a draw can compare with a threshold, ties included.
func TestBernoulliComparesAllBits(t *testing.T) {
	half := Threshold{hi: 1 << 63, lo: 5}
	for _, c := range []struct {
		t     Threshold
		words script
		want  bool
	}{
		{half, script{1<<63 - 1}, true},
		{half, script{1<<63 + 1}, false},
		{half, script{1 << 63, 4}, true},
		{half, script{1 << 63, 5}, false},
		{Prob(0), script{0, 0}, false},
		{Prob(0), script{1}, false},
		{Prob(1), script{math.MaxUint64}, true},
		{Prob(1), script{0}, true},
	} {
		words := c.words
		if got := Bernoulli(rand.New(&words), c.t); got != c.want || len(words) != 0 {
			t.Errorf("Bernoulli(%#x, %+v) is %v with %d words left", []uint64(c.words), c.t, got, len(words))
		}
	}
}

func BenchmarkUint64(b *testing.B) {
	r := New()
	b.SetBytes(8)
	for b.Loop() {
		r.Uint64()
	}
}

func BenchmarkBernoulli(b *testing.B) {
	r, p := New(), Prob(0.3)
	for b.Loop() {
		Bernoulli(r, p)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New().Uint64()
	}
}
