package account

import (
	"math"
	"math/big"
	"testing"
)

// exactOthers multiplies out the generating function in 300-bit floats.
func exactOthers(m, k int, p float64) []*big.Float {
	bf := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	one := bf(1)
	w := []*big.Float{bf(1)}
	for i := range m {
		up := bf(p)
		if i < k {
			up = new(big.Float).Sub(one, up)
		}
		down := new(big.Float).Sub(one, up)
		next := make([]*big.Float, len(w)+1)
		for j := range next {
			next[j] = bf(0)
			if j < len(w) {
				next[j].Add(next[j], new(big.Float).Mul(w[j], down))
			}
			if j > 0 {
				next[j].Add(next[j], new(big.Float).Mul(w[j-1], up))
			}
		}
		w = next
	}
	return w
}

func TestLawOfOthers(t *testing.T) {
	var o others
	for _, m := range []int{0, 1, 2, 7, 60, 301} {
		for _, k := range []int{0, 1, m / 3, m / 2, m - 1, m} {
			if k < 0 || k > m {
				continue
			}
			for _, p := range []float64{1e-9, 1e-4, 0.03, 0.2, 0.4, 0.49999, 0.5} {
				want := exactOthers(m, k, p)
				low, w := o.law(m, k, p, 1e-30)
				outside := 0.0
				for t1, x := range want {
					exact, _ := x.Float64()
					if t1 < low || t1 >= low+len(w) {
						outside += exact
						continue
					}
					got := w[t1-low]
					if math.Abs(got-exact) > 1e-12*exact+1e-322 { // subnormal numbers hold fewer digits
						t.Fatalf("m=%d k=%d p=%v: P(%d) = %v, want %v", m, k, p, t1, got, exact)
					}
				}
				if outside > 2e-30 {
					t.Errorf("m=%d k=%d p=%v: %v outside the window", m, k, p, outside)
				}
			}
		}
	}
}

func BenchmarkLawOfOthers(b *testing.B) {
	var o others
	for b.Loop() {
		o.law(39999, 20000, 0.176, 1e-14)
	}
}

// The two runs of the recurrence end 10^200 apart where tails are deep.
func TestLawOfOthersJoinsDeepTails(t *testing.T) {
	var o others
	for _, k := range []int{0, 108, 2994, 5880, 5988} {
		low, w := o.law(5988, k, 0.07, 1e-100)
		sum, mean := 0.0, 0.0
		for i, x := range w {
			sum += x
			mean += x * float64(low+i)
		}
		if want := float64(k)*0.93 + float64(5988-k)*0.07; math.Abs(sum-1) > 1e-12 || math.Abs(mean-want) > 1e-8 {
			t.Errorf("k=%d: mass %v, mean %v, want 1 and %v", k, sum, mean, want)
		}
	}
}
