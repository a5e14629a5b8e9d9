package shuffle

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
	var o Others
	for _, m := range []int{0, 1, 2, 7, 60, 301} {
		for _, k := range []int{0, 1, m / 3, m / 2, m - 1, m} {
			if k < 0 || k > m {
				continue
			}
			for _, p := range []float64{1e-9, 1e-4, 0.03, 0.2, 0.4, 0.49999, 0.5} {
				want := exactOthers(m, k, p)
				low, w := o.law(m, k, RandomizedResponse{Flip: p}.bit(), 1e-30)
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
	var o Others
	for b.Loop() {
		o.law(39999, 20000, RandomizedResponse{Flip: 0.176}.bit(), 1e-14)
	}
}

// Where tails are deep the two runs of the recurrence end far apart in scale, on
// either side of the mode.
func TestLawOfOthersJoinsDeepTails(t *testing.T) {
	var o Others
	for _, c := range []struct {
		m    int
		p    float64
		tail float64
	}{{5988, 0.07, 1e-100}, {20160, 0.06370393231187121, 1e-250}, {300, 0.01, 1e-250}, {39999, 0.45, 1e-250}, {100000, 0.001, 1e-200}} {
		for _, k := range []int{0, 1, c.m / 50, c.m / 3, c.m / 2, c.m - c.m/50, c.m - 1, c.m} {
			low, w := o.law(c.m, k, RandomizedResponse{Flip: c.p}.bit(), c.tail)
			sum, mean := 0.0, 0.0
			for i, x := range w {
				sum += x
				mean += x * float64(low+i)
			}
			want := float64(k)*(1-c.p) + float64(c.m-k)*c.p
			variance := float64(c.m) * c.p * (1 - c.p)
			spread := 0.0
			for i, x := range w {
				d := float64(low+i) - want
				spread += x * d * d
			}
			if math.Abs(sum-1) > 1e-12 || math.Abs(mean-want) > 1e-10*(1+want) || math.Abs(spread-variance) > 1e-9*variance {
				t.Errorf("m=%d k=%d p=%v: mass %v, mean %v, variance %v; want 1, %v, %v", c.m, k, c.p, sum, mean, spread, want, variance)
			}
		}
	}
}
