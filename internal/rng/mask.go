package rng

import "math/rand/v2"

// Mask draws 64 independent bits that are one with probability t each, exactly: with
// few words, and with j of them if t is a multiple of 2^-j.
//
// Each bit compares uniform binary digits with those of t until they differ, and is one if
// t then has the one. All undecided bits take their next digit from one word.
func Mask(r *rand.Rand, t Threshold) (ones uint64) {
	if t.one {
		return ^uint64(0)
	}
	undecided := ^uint64(0)
	for hi, lo := t.hi, t.lo; undecided != 0 && hi|lo != 0; hi, lo = hi<<1|lo>>63, lo<<1 {
		digits := r.Uint64()
		if hi>>63 == 1 {
			ones |= undecided &^ digits
			undecided &= digits
		} else {
			undecided &^= digits
		}
	}
	return ones // who ties in all digits of t is not below it
}
