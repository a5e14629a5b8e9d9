package prio3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

// An element of the field of p = 2^128 - 28 2^64 + 1 is two words, the lower first. What
// comes of a device or of an XOF is plain, the number itself; what it is multiplied with is
// in Montgomery's form, 2^128 times that. The product of the two is plain again, so that a
// share is never converted.

// upper is the upper word of p; the lower is 1.
const upper = 0xffffffffffffffe4

// square is 2^256: what is plain becomes Montgomery's by a product with it.
var square = fp128.Fp{0xfffffffffffffcf1, 0x5587}

// montgomery converts plain elements, in place.
func montgomery(v fp128.Vec) fp128.Vec {
	for i := range v {
		v[i].MulAssign(&square)
	}
	return v
}

// plain converts elements of Montgomery's form, in place.
func plain(v fp128.Vec) fp128.Vec {
	one := fp128.Fp{1}
	for i := range v {
		v[i].MulAssign(&one)
	}
	return v
}

// below says whether two words are a number below p.
func below(lower, up uint64) bool {
	_, borrow := bits.Sub64(lower, 1, 0)
	_, borrow = bits.Sub64(up, upper, borrow)
	return borrow == 1
}

// appendVec writes plain elements as 16 bytes each, little endian.
func appendVec(b []byte, v fp128.Vec) []byte {
	for i := range v {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, v[i][0]), v[i][1])
	}
	return b
}

// readVec reads plain elements; it refuses numbers that are not below p.
func readVec(b []byte) (fp128.Vec, error) {
	if len(b)%element != 0 {
		return nil, fmt.Errorf("prio3: %d bytes are not elements of %d", len(b), element)
	}
	v := make(fp128.Vec, len(b)/element)
	good := true
	for i := range v {
		at := b[element*i : element*(i+1)]
		v[i] = fp128.Fp{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])}
		good = good && below(v[i][0], v[i][1])
	}
	if !good {
		return nil, errors.New("prio3: a number is not an element of the field")
	}
	return v, nil
}

// A wide is a sum of up to 2^32 products of two elements, before it is brought below p.
type wide [5]uint64

// add adds a product.
func (w *wide) add(a, b *fp128.Fp) {
	h00, l00 := bits.Mul64(a[0], b[0])
	h01, l01 := bits.Mul64(a[0], b[1])
	h10, l10 := bits.Mul64(a[1], b[0])
	h11, l11 := bits.Mul64(a[1], b[1])
	h00, c := bits.Add64(h00, l01, 0) // the product, which has four words
	l11, c = bits.Add64(l11, h01, c)
	h11 += c
	h00, c = bits.Add64(h00, l10, 0)
	l11, c = bits.Add64(l11, h10, c)
	h11 += c
	w[0], c = bits.Add64(w[0], l00, 0)
	w[1], c = bits.Add64(w[1], h00, c)
	w[2], c = bits.Add64(w[2], l11, c)
	w[3], c = bits.Add64(w[3], h11, c)
	w[4] += c
}

// reduce returns the sum over 2^128: plain, if one factor of each product was. Twice a multiple of
// p makes the lowest word zero, and it is left out (Montgomery 1985; p is 1 in that word).
func (w *wide) reduce() fp128.Fp {
	w0, w1, w2, w3, w4 := w[0], w[1], w[2], w[3], w[4]
	high, low := bits.Mul64(-w0, upper)
	_, c := bits.Add64(w0, -w0, 0)
	w1, c = bits.Add64(w1, low, c)
	w2, c = bits.Add64(w2, high, c)
	w3, c = bits.Add64(w3, 0, c)
	w4 += c
	high, low = bits.Mul64(-w1, upper)
	_, c = bits.Add64(w1, -w1, 0)
	w2, c = bits.Add64(w2, low, c)
	w3, c = bits.Add64(w3, high, c)
	return fold(w2, w3, w4+c)
}

// fold returns three words brought below p, the upper of them below 2^56. 2^128 = 28 2^64 - 1: what
// is above goes below, twice.
func fold(w0, w1, w2 uint64) fp128.Fp {
	for range 2 {
		up, c := bits.Add64(w1, 28*w2, 0)
		low, borrow := bits.Sub64(w0, w2, 0)
		up, borrow = bits.Sub64(up, 0, borrow)
		w0, w1, w2 = low, up, c-borrow
	}
	l, borrow := bits.Sub64(w0, 1, 0)
	u, borrow := bits.Sub64(w1, upper, borrow)
	keep := -borrow
	return fp128.Fp{w0&keep | l&^keep, w1&keep | u&^keep}
}

// total adds elements up.
func total(v fp128.Vec) fp128.Fp {
	var w0, w1, w2, c uint64
	for i := range v {
		w0, c = bits.Add64(w0, v[i][0], 0)
		w1, c = bits.Add64(w1, v[i][1], c)
		w2 += c
	}
	return fold(w0, w1, w2)
}

// accumulate adds one vector to another, of the same length.
func accumulate(to, v fp128.Vec) {
	v = v[:len(to)]
	for i := range to {
		w0, c := bits.Add64(to[i][0], v[i][0], 0)
		w1, above := bits.Add64(to[i][1], v[i][1], c)
		l, borrow := bits.Sub64(w0, 1, 0)
		u, borrow := bits.Sub64(w1, upper, borrow)
		keep := -(borrow &^ above) // below p
		to[i] = fp128.Fp{w0&keep | l&^keep, w1&keep | u&^keep}
	}
}
