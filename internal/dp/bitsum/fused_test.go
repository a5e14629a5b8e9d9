package bitsum

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// fixed is a source that gives one word.
type fixed uint64

func (s fixed) Uint64() uint64 { return uint64(s) }

// The threshold of the one draw, found by bisection on the words of the source, is
// the law's, and within p and 1-p.
func TestRoundAndRandomizeLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]float64{0, 1e-9, 0.01, 0.3, 0.4999}).Draw(t, "flip")
		if rapid.Bool().Draw(t, "any") {
			p = rapid.Float64Range(0, 0.4999999).Draw(t, "p")
		}
		v := rapid.Float32Range(-1, 1).Draw(t, "feature")
		m, symbols := RR{p}, make([]uint8, 1)
		one := func(word uint64) bool {
			m.RoundAndRandomize(rand.New(fixed(word<<1)), []float32{v}, symbols)
			return symbols[0] == 1
		}
		low, high := uint64(0), uint64(1)<<63 // ones are the words below some threshold
		for low < high {
			if middle := low + (high-low)/2; one(middle) {
				low = middle + 1
			} else {
				high = middle
			}
		}
		want := p + (1-2*p)*(1+float64(v))/2
		if got := math.Ldexp(float64(low), -63); math.Abs(got-want) > 0x1p-52 { // the float64s of this line
			t.Fatalf("p = %v, feature %v: probability %v, want %v", p, v, got, want)
		}
		least := uint64(math.Ceil(math.Ldexp(p, 63)))
		if low < least || low > 1<<63-least {
			t.Fatalf("p = %v, feature %v: threshold %d outside of %d to its complement", p, v, low, least)
		}
	})
}

// Two channels jointly; 200,000 devices catch a flip probability off by 0.01.
func TestRoundAndRandomizeCounts(t *testing.T) {
	r, m := stattest.Rand(t), RR{0.2}
	mapped, symbols, counts := []float32{0.5, -1}, make([]uint8, 2), make([]int, 4)
	for range 200_000 {
		m.RoundAndRandomize(r, mapped, symbols)
		counts[2*symbols[0]+symbols[1]]++
	}
	law := func(p float64) []float64 {
		a, b := p+(1-2*p)*0.75, p
		return []float64{(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b}
	}
	stattest.GTest(t, law(0.2), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(0.21), counts) })
}

func TestRoundAndRandomizeAtTheEnds(t *testing.T) {
	r, symbols := stattest.Rand(t), make([]uint8, 3)
	for range 1000 {
		RR{}.RoundAndRandomize(r, []float32{-1, 1, 1.5}, symbols)
		if symbols[0] != 0 || symbols[1] != 1 || symbols[2] != 1 {
			t.Fatalf("certain bits became %v", symbols)
		}
	}
	for name, use := range map[string]func(){
		"NaN":          func() { RR{}.RoundAndRandomize(r, []float32{float32(math.NaN())}, symbols[:1]) },
		"flip of half": func() { RR{0.5}.RoundAndRandomize(r, nil, nil) },
		"lengths":      func() { RR{}.RoundAndRandomize(r, make([]float32, 2), symbols) },
	} {
		if !panics(use) {
			t.Errorf("%s passed", name)
		}
	}
}

func BenchmarkRoundAndRandomize(b *testing.B) { // a device with 768 channels
	r, m := stattest.Rand(b), RR{Flip: 0.4}
	mapped, symbols := make([]float32, 768), make([]uint8, 768)
	for b.Loop() {
		m.RoundAndRandomize(r, mapped, symbols)
	}
}
