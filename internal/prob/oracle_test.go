package prob

import (
	"math"
	"math/big"
	"testing"
)

// The oracle: elementary functions and log-gamma in 320-bit arithmetic, written
// with none of the tricks of the code it checks.

const oracleBits = 320

func bigNew(x float64) *big.Float { return new(big.Float).SetPrec(oracleBits).SetFloat64(x) }

func bigAdd(a, b *big.Float) *big.Float { return bigNew(0).Add(a, b) }
func bigSub(a, b *big.Float) *big.Float { return bigNew(0).Sub(a, b) }
func bigMul(a, b *big.Float) *big.Float { return bigNew(0).Mul(a, b) }
func bigQuo(a, b *big.Float) *big.Float { return bigNew(0).Quo(a, b) }

// bigExp halves the argument below 2^-20, takes the Taylor series and squares.
func bigExp(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return bigNew(1)
	}
	halvings := max(0, x.MantExp(nil)+20)
	y := bigNew(0).SetMantExp(x, -halvings)
	sum, term := bigNew(1), bigNew(1)
	for i := 1; i < 24; i++ { // 2^(-20*24)/24! is below 2^-500
		term = bigQuo(bigMul(term, y), bigNew(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ln2 is log 2 = sum of 1/(k 2^k).
var ln2 = func() *big.Float {
	sum := bigNew(0)
	for k := oracleBits; k >= 1; k-- {
		sum.Add(sum, bigQuo(bigNew(0).SetMantExp(bigNew(1), -k), bigNew(float64(k))))
	}
	return sum
}()

// bigLog is Newton's method on bigExp, from a float64 start.
func bigLog(x *big.Float) *big.Float {
	m := bigNew(0)
	exponent := x.MantExp(m) // x = m 2^exponent, m in [1/2, 1)
	start, _ := m.Float64()
	y := bigNew(math.Log(start))
	for range 4 {
		y.Add(y, bigSub(bigMul(m, bigExp(bigNew(0).Neg(y))), bigNew(1)))
	}
	return y.Add(y, bigMul(ln2, bigNew(float64(exponent))))
}

// halfLog2Pi from Machin's formula for pi.
var halfLog2Pi = func() *big.Float {
	arctanInverse := func(n float64) *big.Float {
		sum, power := bigNew(0), bigQuo(bigNew(1), bigNew(n))
		for k := 0; k < 250; k++ {
			term := bigQuo(power, bigNew(float64(2*k+1)))
			if k%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power = bigQuo(power, bigNew(n*n))
		}
		return sum
	}
	pi := bigMul(bigNew(4), bigSub(bigMul(bigNew(4), arctanInverse(5)), arctanInverse(239)))
	return bigQuo(bigLog(bigMul(bigNew(2), pi)), bigNew(2))
}()

// bernoulliNumbers are B_0 .. B_60.
var bernoulliNumbers = func() []*big.Rat {
	const top = 60
	b := make([]*big.Rat, top+1)
	for m := range b {
		sum := new(big.Rat)
		for k := range m {
			c := new(big.Rat).SetInt(new(big.Int).Binomial(int64(m+1), int64(k)))
			sum.Add(sum, c.Mul(c, b[k]))
		}
		b[m] = sum.Sub(big.NewRat(int64(boolToInt(m == 0)), 1), sum)
		b[m].Quo(b[m], big.NewRat(int64(m+1), 1))
	}
	return b
}()

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bigLogGamma is log Gamma(x), x > 0: Stirling's series after a shift above 200,
// where its thirtieth term is below 2^-300.
func bigLogGamma(x *big.Float) *big.Float {
	shift := bigNew(1)
	x = bigNew(0).Set(x)
	for x.Cmp(bigNew(200)) < 0 {
		shift.Mul(shift, x)
		x.Add(x, bigNew(1))
	}
	sum := bigSub(bigMul(bigSub(x, bigNew(0.5)), bigLog(x)), x)
	sum.Add(sum, halfLog2Pi)
	power := bigNew(0).Set(x)
	for k := 2; k < len(bernoulliNumbers); k += 2 {
		c := bigNew(0).SetRat(bernoulliNumbers[k])
		c.Quo(c, bigNew(float64(k*(k-1))))
		sum.Add(sum, bigQuo(c, power))
		power.Mul(power, bigMul(x, x))
	}
	return sum.Sub(sum, bigLog(shift))
}

// checkLog asserts that got is the log of want within tolerance, relative in
// value; where the logarithm itself is larger than 10, or want is within 1e-3 of
// one, within the same tolerance relative to the logarithm.
func checkLog(t *testing.T, got float64, want *big.Float, tolerance float64, what ...any) {
	t.Helper()
	if want.Sign() == 0 {
		if got != negInf {
			t.Errorf("%v: got %v, want log 0", what, got)
		}
		return
	}
	checkLogLog(t, got, bigLog(want), tolerance, what...)
}

// checkLogLog is checkLog for an oracle that is a logarithm already.
func checkLogLog(t *testing.T, got float64, want *big.Float, tolerance float64, what ...any) {
	t.Helper()
	w, _ := want.Float64()
	if math.IsNaN(got) || math.IsInf(got, 0) {
		t.Errorf("%v: got %v, want %v", what, got, w)
		return
	}
	e, _ := bigSub(bigNew(got), want).Float64()
	if size := math.Abs(w); size > 10 || size < 1e-3 {
		tolerance *= size
	}
	const oracleError = 1e-80 // of log x for x near one
	if !(math.Abs(e) <= tolerance+oracleError) {
		t.Errorf("%v: got %v, want %v: off by %.3g, allowed %.3g", what, got, w, e, tolerance)
	}
}
