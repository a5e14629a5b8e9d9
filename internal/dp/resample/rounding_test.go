package resample

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// smallest returns by what part of the least share a label is drawn less often than that, at worst: what the coins come to is added
// up exactly, for shares of noisy counts that are as far apart as noise can make them.
func smallest(r *rand.Rand, m Mechanism, tries int) (worst float64) {
	for range tries {
		q := make([]float64, m.K)
		for y := range q {
			switch r.IntN(4) {
			case 0:
				q[y] = -r.Float64()
			case 1:
				q[y] = 1 + r.Float64()
			case 2:
				q[y] = m.Least * (1 + r.Float64())
			default:
				q[y] = math.Exp(-20 * r.Float64())
			}
		}
		m.Shares(q)
		left := big.NewRat(1, 1)
		see := func(p *big.Rat) {
			part, _ := new(big.Rat).Quo(p, new(big.Rat).SetFloat64(m.Least)).Float64()
			worst = math.Max(worst, 1-part)
		}
		for _, p := range coins(q) {
			coin := new(big.Rat).SetFloat64(p)
			see(new(big.Rat).Mul(left, coin))
			left.Mul(left, coin.Sub(big.NewRat(1, 1), coin))
		}
		see(left)
	}
	return worst
}

// No label is drawn less often than the least share, but for what is charged for roundings. Of a least share that is refused they
// take more than the fixed part that was charged before.
func TestRoundingsOfSharesAreCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0.0
	for _, k := range []int{2, 3, 10, 40} {
		for _, least := range []float64{leastShare, 1e-4, 0.5 / float64(k), 1 / float64(k)} {
			m := At(k, 0.3, least)
			if err := m.Validate(); err != nil {
				t.Fatal(err)
			}
			part := smallest(r, m, 300)
			if part > m.rounded() {
				t.Errorf("%d symbols, least share %v: %v of it is missing, and %v is charged", k, least, part, m.rounded())
			}
			found = math.Max(found, part/m.rounded())
		}
	}
	if found < 1e-3 {
		t.Errorf("what is charged is %v times what is found", 1/found)
	}
	tiny := Mechanism{K: 3, Least: 1e-12, Resample: 0.5}
	if tiny.Validate() == nil {
		t.Error("a least share of 1e-12 is taken")
	}
	if part := smallest(r, tiny, 300); part < 1e-9 {
		t.Errorf("of a least share of 1e-12 roundings take %v", part)
	}
}

// The mechanism at an epsilon has no larger one, however small both are.
func TestResampledKeepsItsEpsilon(t *testing.T) {
	for _, k := range []int{2, 10, 100} {
		for _, least := range []float64{leastShare, 0.5 / float64(k)} {
			for _, epsilon := range []float64{0.01, 0.1, 1, 5} {
				m := At(k, epsilon, least)
				if got := m.Epsilon(); got > epsilon || got < epsilon*(1-3*m.rounded())-0x1p-50/least {
					t.Errorf("%d symbols, least share %v: epsilon %v for %v", k, least, got, epsilon)
				}
			}
		}
	}
}
