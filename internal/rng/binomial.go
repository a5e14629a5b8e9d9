package rng

import (
	"math/bits"
	"math/rand/v2"
)

// Binomial draws the number of successes among n trials of probability t, exactly,
// with about n/32 random words.
//
// A trial compares uniform binary digits with those of t until they differ, and
// succeeds if t then has the one. All undecided trials draw their next digit at
// once: how many of them draw a one is a count of random bits, and about half of
// them are decided by it.
func Binomial(r *rand.Rand, n int, t Threshold) int {
	if n < 0 {
		panic("rng: negative number of trials")
	}
	if t.one {
		return n
	}
	successes := 0
	for hi, lo := t.hi, t.lo; n > 0 && hi|lo != 0; hi, lo = hi<<1|lo>>63, lo<<1 {
		ones := coins(r, n)
		if hi>>63 == 1 {
			successes += n - ones
			n = ones
		} else {
			n -= ones
		}
	}
	return successes // who ties in all digits of t is not below it
}

// coins returns the number of ones among n random bits.
func coins(r *rand.Rand, n int) int {
	ones := 0
	for ; n >= 64; n -= 64 {
		ones += bits.OnesCount64(r.Uint64())
	}
	if n > 0 {
		ones += bits.OnesCount64(r.Uint64() >> (64 - n))
	}
	return ones
}
