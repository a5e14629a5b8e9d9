package rng

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A block of m trials fails with q^m, whatever the tree that asks.
func TestSkipperBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "fraction"), rapid.IntRange(-60, 0).Draw(t, "exponent"))
		s := NewSkipper(Prob(p))
		for j := range s.fails {
			if j > 20 {
				break
			}
			h := float64(int(1) << j)
			q := math.Exp(h * math.Log1p(-p))
			if p == 1 {
				q = 0
			}
			// The reference rounds its exponent, the tree to 2^-128.
			tolerance := 1e-14*q*(1+h*math.Abs(math.Log1p(-p))) + s.Rounding(1<<20)
			if p == 1 {
				tolerance = 0
			}
			if got := s.fails[j].Float64(); math.Abs(got-q) > tolerance {
				t.Fatalf("%v trials fail with %v, want %v", h, got, q)
			}
			if got, want := s.failsFirst[j].Float64(), q/(1+q); math.Abs(got-want) > tolerance+1e-16*q {
				t.Fatalf("the first %v of %v fail with %v, want %v", h, 2*h, got, want)
			}
		}
	})
}

func TestSkipperAtTheEnds(t *testing.T) {
	r := Keyed([16]byte{2}, [16]byte{})
	for _, trials := range []int{0, 1, 5, 8, 13} {
		if got := slices.Collect(NewSkipper(Prob(0)).Successes(r, trials)); len(got) != 0 {
			t.Errorf("probability 0 succeeds at %v", got)
		}
		if got := slices.Collect(NewSkipper(Prob(1)).Successes(r, trials)); len(got) != trials || !slices.IsSorted(got) {
			t.Errorf("probability 1 succeeds at %v of %d", got, trials)
		}
	}
	for range NewSkipper(Prob(1)).Successes(r, 13) {
		break // a consumer may stop
	}
}

func BenchmarkSkipper(b *testing.B) { // 768 channels, two successes in the mean
	r, s := New(), NewSkipper(Prob(2./768))
	for b.Loop() {
		for range s.Successes(r, 768) {
		}
	}
}
