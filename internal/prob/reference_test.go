package prob

import (
	"math"
	"math/big"
)

// Laws in 320-bit arithmetic: log-gamma differences lose the digits of n log n,
// of which there are plenty here.

func bigLogFactorial(x float64) *big.Float { return bigLogGamma(bigAdd(bigNew(x), bigNew(1))) }

func refBinomialLogPMF(k, n int, p float64) *big.Float {
	s := bigSub(bigLogFactorial(float64(n)), bigAdd(bigLogFactorial(float64(k)), bigLogFactorial(float64(n-k))))
	s.Add(s, bigMul(bigNew(float64(k)), bigLog(bigNew(p))))
	return s.Add(s, bigMul(bigNew(float64(n-k)), bigLog(bigSub(bigNew(1), bigNew(p)))))
}

func refPoissonLogPMF(k int, mean float64) *big.Float {
	s := bigMul(bigNew(float64(k)), bigLog(bigNew(mean)))
	return s.Sub(s, bigAdd(bigNew(mean), bigLogFactorial(float64(k))))
}

func refNegativeBinomialLogPMF(k int, r, p float64) *big.Float {
	s := bigLogGamma(bigAdd(bigNew(float64(k)), bigNew(r)))
	s.Sub(s, bigAdd(bigLogGamma(bigNew(r)), bigLogFactorial(float64(k))))
	s.Add(s, bigMul(bigNew(r), bigLog(bigSub(bigNew(1), bigNew(p)))))
	return s.Add(s, bigMul(bigNew(float64(k)), bigLog(bigNew(p))))
}

// refLogTail is log of the sum of P(k), P(k+step), ... given log P(k) and the
// ratio between a term and the one before, until the terms are below 1e-25 of the
// sum or run out (ratio 0). 128 bits are plenty for a sum of positive terms.
func refLogTail(k, step int, logFirst *big.Float, ratio func(k int) (num, den float64, odds *big.Float)) *big.Float {
	const bits = 128
	sum := new(big.Float).SetPrec(bits).SetFloat64(1)
	term := new(big.Float).SetPrec(bits).SetFloat64(1)
	for ; ; k += step {
		num, den, odds := ratio(k)
		if num == 0 {
			break
		}
		term.Mul(term, new(big.Float).SetPrec(bits).SetFloat64(num))
		term.Quo(term, new(big.Float).SetPrec(bits).SetFloat64(den))
		if odds != nil {
			term.Mul(term, odds)
		}
		sum.Add(sum, term)
		if sum.MantExp(nil)-term.MantExp(nil) > 84 {
			break
		}
	}
	return bigAdd(logFirst, bigLog(bigNew(0).Set(sum)))
}

func bigOdds(p float64) *big.Float {
	return new(big.Float).SetPrec(128).Quo(bigNew(p), bigSub(bigNew(1), bigNew(p)))
}

// refBinomialLogTails are log P(X <= k) and log P(X > k), 0 <= k < n, each summed.
func refBinomialLogTails(k, n int, p float64) (lower, upper *big.Float) {
	odds := bigOdds(p)
	inverse := new(big.Float).SetPrec(128).Quo(new(big.Float).SetPrec(128).SetInt64(1), odds)
	if float64(k) < float64(n)*p {
		lower = refLogTail(k, -1, refBinomialLogPMF(k, n, p), func(k int) (float64, float64, *big.Float) {
			return float64(k), float64(n - k + 1), inverse
		})
		return lower, refComplement(lower)
	}
	upper = refLogTail(k+1, 1, refBinomialLogPMF(k+1, n, p), func(k int) (float64, float64, *big.Float) {
		return float64(n - k), float64(k + 1), odds
	})
	return refComplement(upper), upper
}

func refPoissonLogTails(k int, mean float64) (lower, upper *big.Float) {
	if float64(k) < mean {
		lower = refLogTail(k, -1, refPoissonLogPMF(k, mean), func(k int) (float64, float64, *big.Float) {
			return float64(k), mean, nil
		})
		return lower, refComplement(lower)
	}
	upper = refLogTail(k+1, 1, refPoissonLogPMF(k+1, mean), func(k int) (float64, float64, *big.Float) {
		return mean, float64(k + 1), nil
	})
	return refComplement(upper), upper
}

func refNegativeBinomialLogTails(k int, r, p float64) (lower, upper *big.Float) {
	bigP := new(big.Float).SetPrec(128).SetFloat64(p)
	bigR := bigNew(r)
	rise := func(k int) *big.Float { // (k+r) p
		return new(big.Float).SetPrec(128).Mul(bigAdd(bigNew(float64(k)), bigR), bigP)
	}
	if float64(k) < r*p/(1-p) {
		lower = refLogTail(k, -1, refNegativeBinomialLogPMF(k, r, p), func(k int) (float64, float64, *big.Float) {
			if k == 0 {
				return 0, 1, nil
			}
			one := new(big.Float).SetPrec(128).SetInt64(1)
			return float64(k), 1, one.Quo(one, rise(k-1))
		})
		return lower, refComplement(lower)
	}
	upper = refLogTail(k+1, 1, refNegativeBinomialLogPMF(k+1, r, p), func(k int) (float64, float64, *big.Float) {
		return 1, float64(k + 1), rise(k)
	})
	return refComplement(upper), upper
}

// refComplement is log(1 - e^x), x < 0. Far out, where 1 - e^x would round to one,
// it is -e^x - e^2x/2, whose next term is 1e-52 of the first.
func refComplement(x *big.Float) *big.Float {
	y := bigExp(x)
	if x.Cmp(bigNew(-60)) < 0 {
		return bigNew(0).Neg(bigAdd(y, bigQuo(bigMul(y, y), bigNew(2))))
	}
	return bigLog(bigSub(bigNew(1), y))
}

// spread are numbers from the left to the right tail of a law with this mean and
// deviation, within [0, top].
func spread(mean, deviation float64, top int) []int {
	var ks []int
	for _, z := range []float64{-1e4, -200, -37, -8, -3, -1, -0.01, 0, 0.3, 1, 4, 12, 37, 150, 3000} {
		k := int(math.Floor(mean + z*deviation))
		if k = min(max(k, 0), top); len(ks) == 0 || k > ks[len(ks)-1] {
			ks = append(ks, k)
		}
	}
	return ks
}
