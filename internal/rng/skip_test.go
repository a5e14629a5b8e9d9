package rng

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// q^(2^j) is too small by less than 2^j units of 2^-128, as said.
func TestPowersRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := Prob(math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "fraction"), -rapid.IntRange(0, 60).Draw(t, "exponent")))
		if rapid.Bool().Draw(t, "near one") {
			q = q.Complement()
		}
		p := NewPowers(q)
		exact := new(big.Float).SetPrec(4000).SetInt(q.fixed())
		for j := range min(p.Levels()+1, 24) {
			short := new(big.Float).Sub(exact, new(big.Float).SetInt(p.level(j).fixed()))
			if units, _ := short.Float64(); units < 0 || units > math.Ldexp(1, j) {
				t.Fatalf("level %d is too small by %v units", j, units)
			}
			exact.Mul(exact, exact)
			exact.SetMantExp(exact, -128)
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
	if d := NewSkipper(Prob(1e-6)).Rounding(1 << 20); d <= 0 || d > 0x1p-101 {
		t.Errorf("rounding over a million trials is %v", d)
	}
}

func TestGeometricRefusesAnEndlessDraw(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a geometric number without end was drawn")
		}
	}()
	NewPowers(Prob(1)).Geometric(New())
}

func BenchmarkSkipper(b *testing.B) { // 768 channels, two successes in the mean
	r, s := New(), NewSkipper(Prob(2./768))
	for b.Loop() {
		for range s.Successes(r, 768) {
		}
	}
}

func BenchmarkNewPowers(b *testing.B) {
	for b.Loop() {
		NewPowers(Prob(0.99))
	}
}

func BenchmarkGeometric(b *testing.B) {
	r, p := New(), NewPowers(Prob(0.99))
	for b.Loop() {
		p.Geometric(r)
	}
}

// Rounding bounds the total variation between the law of Successes and that of
// independent trials of exactly the threshold's probability.
//
// A block of 2^j trials, or its odds x/(1+x) whose slope in x is at most one, is
// off by less than 2^j units of 2^-128 (NewPowers). A tree over m trials has at most
// m/2^j nodes of 2^j trials, each asked at most twice: 2m for each of its levels.
func (s Skipper) Rounding(trials int) float64 {
	return 2 * float64(trials) * float64(bits.Len(uint(trials))) * 0x1p-128
}

// Powers that are kept are those of the probability that is asked for, whoever asked before or asks at once.
func TestKeptPowersAreThoseAskedFor(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 300 {
				q := []Threshold{Prob(0.5), Prob(0.999), {}, Prob(0.5).Complement(), Prob(1e-30)}[i/2%5]
				p := NewPowers(q)
				for j := range p.Levels() + 1 {
					if p.level(j) != q {
						t.Errorf("power 2^%d of %v: %v", j, q, p.level(j))
					}
					q = q.square()
				}
			}
		})
	}
	wait.Wait()
}
