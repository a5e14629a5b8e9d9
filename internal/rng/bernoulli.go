package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
)

// Threshold is a probability as a fixed-point number of 128 binary places. The
// lower 64 are looked at only when a draw ties with the upper 64, once in 2^64,
// so that the finer law costs nothing. Zero and one are exact. The zero value is
// probability zero.
type Threshold struct {
	hi, lo uint64
	one    bool // probability one, which needs a 129th bit; then hi and lo are all ones
}

var certain = Threshold{hi: math.MaxUint64, lo: math.MaxUint64, one: true}

// Prob is the threshold of p in [0, 1]; it panics outside, NaN included.
//
// Every float64 of 2^-75 and above is represented exactly, smaller ones to the
// nearest multiple of 2^-128: the law of a draw differs from p by at most 2^-129
// in total variation. What was lost in computing p as a float64, at least
// 2^-53 p for most p, is for the caller to answer.
func Prob(p float64) Threshold {
	if !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("rng: probability %v outside [0, 1]", p))
	}
	if p == 1 {
		return certain
	}
	fraction, exponent := math.Frexp(p)
	mantissa := uint64(fraction * (1 << 53))
	switch shift := exponent + 128 - 53; { // the threshold is the mantissa times 2^shift
	case shift < 0:
		return Threshold{lo: uint64(math.RoundToEven(math.Ldexp(p, 128)))}
	case shift < 64:
		return Threshold{hi: mantissa >> (64 - shift), lo: mantissa << shift}
	default:
		return Threshold{hi: mantissa << (shift - 64)}
	}
}

// ProbBig is the threshold of p in [0, 1], cut off to a multiple of 2^-128. It is for
// probabilities computed to more places than a float64 has.
func ProbBig(p *big.Float) Threshold {
	if p.Sign() < 0 || p.Cmp(big.NewFloat(1)) > 0 {
		panic("rng: probability outside [0, 1]")
	}
	x, _ := new(big.Float).SetMantExp(p, 128).Int(nil)
	return fromFixed(x)
}

// fromFixed is the threshold of x/2^128 for 0 <= x <= 2^128.
func fromFixed(x *big.Int) Threshold {
	if x.BitLen() > 128 {
		return certain
	}
	lo := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return Threshold{hi: new(big.Int).Rsh(x, 64).Uint64(), lo: lo.Uint64()}
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

// Float64 is the probability, to the nearest float64.
func (t Threshold) Float64() float64 {
	f, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(t.fixed()), -128).Float64()
	return f
}

// Bernoulli is true with probability t, exactly.
func Bernoulli(r *rand.Rand, t Threshold) bool {
	u := r.Uint64()
	if u == t.hi {
		return t.one || r.Uint64() < t.lo
	}
	return u < t.hi
}
