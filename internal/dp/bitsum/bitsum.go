// Package bitsum counts how many of n devices hold a one, by protocols with one bit each (KDE, section 2.3 and
// Appendix A.2). Used by question/density, internal/dp/vector, internal/dp/kde and internal/audit.
//
// Each protocol is one type: what a device sends in a channel (one coordinate of one repetition), the exact law of
// what the analyzer counts, and the unbiased estimate with its standard error. A message is a symbol: 1 stands for
// +1, 0 for -1 or "zero".
//
// What a release costs in privacy is account's matter: Event describes a channel to it. Types are their parameters;
// methods panic on parameters that Validate refuses.
package bitsum

import (
	"fmt"
	"math/rand/v2"
)

// RoundAll rounds the features of one device to bits, the first half of KDE,
// Algorithm 1: bits[i] is one with probability (1 + mapped[i])/2, independently.
// The slices have one length. Features are in [-1, 1]; what a float32 product left
// outside is cut off, and NaN panics.
//
// The probability is carried out to within 2^-53. Its rounding costs no privacy,
// which lies in the randomizer that comes after, whatever the bit.
func RoundAll(r *rand.Rand, mapped []float32, bits []bool) {
	if len(mapped) != len(bits) {
		panic(fmt.Sprintf("bitsum: %d features for %d bits", len(mapped), len(bits)))
	}
	for i, m := range mapped {
		x := 1 + float64(m)
		if x != x {
			panic("bitsum: feature is not a number")
		}
		// 63 bits and a threshold of at most 2^63, so that both ends are exact.
		bits[i] = r.Uint64()>>1 < uint64(max(0, min(2, x))*(1<<62))
	}
}

// checkOnes panics unless a population makes sense.
func checkOnes(ones, n int) {
	if ones < 0 || ones > n {
		panic(fmt.Sprintf("bitsum: %d ones among %d bits", ones, n))
	}
}
