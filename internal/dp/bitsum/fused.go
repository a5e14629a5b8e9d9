package bitsum

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// RoundAndRandomize is RoundAll and RandomizeAll in one draw a channel: a feature
// m in [-1, 1] becomes the symbol 1 with probability
//
//	p + (1-2p)(1+m)/2,   p = Flip.
//
// The slices have one length. As in RoundAll, what lies outside is cut off and NaN panics.
//
// The probability is carried out as an integer over 2^63: p rounded up (exact from 2^-11
// on), and what is added to it rounded down. So it is off by at most 2^-62, and it never
// leaves [p, 1-p]: no bit is protected less than Flip says.
func (m RR) RoundAndRandomize(r *rand.Rand, mapped []float32, symbols []uint8) {
	m.must()
	if len(mapped) != len(symbols) {
		panic(fmt.Sprintf("bitsum: %d features for %d symbols", len(mapped), len(symbols)))
	}
	least := uint64(math.Ceil(math.Ldexp(m.Flip, 63)))
	span := 1<<63 - 2*least
	for i, v := range mapped {
		x := 1 + float64(v)
		if !(x >= 0 && x <= 2) {
			if x != x {
				panic("bitsum: feature is not a number")
			}
			x = max(0, min(2, x))
		}
		// span times x/2, x/2 with 62 places: the product's upper word has -1 of its 63.
		share, low := bits.Mul64(span, uint64(int64(x*(1<<61))))
		below := least + (share<<2 | low>>62)
		_, one := bits.Sub64(r.Uint64()>>1, below, 0) // without a branch: it would be foreseen half of the time
		symbols[i] = uint8(one)
	}
}
