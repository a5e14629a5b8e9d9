package rng

import (
	"fmt"
	"math"
	"math/bits"
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

// Prob returns the threshold of p in [0, 1]; it panics outside, NaN included.
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

// Complement returns 1 - t, exactly: of a small p it keeps the places that the float64
// 1 - p has lost.
func (t Threshold) Complement() Threshold {
	switch {
	case t.one:
		return Threshold{}
	case t == Threshold{}:
		return certain
	}
	lo, borrow := bits.Sub64(0, t.lo, 0)
	hi, _ := bits.Sub64(0, t.hi, borrow)
	return Threshold{hi: hi, lo: lo}
}

// square is t^2, cut off to a multiple of 2^-128.
func (t Threshold) square() Threshold {
	if t.one {
		return t
	}
	// (hi 2^64 + lo)^2 has the words top, high, low and one more; the cross
	// product is added twice.
	top, high := bits.Mul64(t.hi, t.hi)
	crossHi, crossLo := bits.Mul64(t.hi, t.lo)
	low, _ := bits.Mul64(t.lo, t.lo)
	for range 2 {
		var carry uint64
		low, carry = bits.Add64(low, crossLo, 0)
		high, carry = bits.Add64(high, crossHi, carry)
		top += carry
	}
	return Threshold{hi: top, lo: high}
}

// Bernoulli returns true with probability t, exactly.
func Bernoulli(r *rand.Rand, t Threshold) bool {
	u := r.Uint64()
	if u == t.hi {
		return t.one || r.Uint64() < t.lo
	}
	return u < t.hi
}
