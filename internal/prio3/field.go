package prio3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
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
	w0, c := bits.Add64(w[0], l00, 0)
	w1, c := bits.Add64(w[1], h00, c)
	w2, c := bits.Add64(w[2], l11, c)
	w3, c := bits.Add64(w[3], h11, c)
	w4 := w[4] + c
	w1, c = bits.Add64(w1, l01, 0)
	w2, c = bits.Add64(w2, h01, c)
	w3, c = bits.Add64(w3, 0, c)
	w4 += c
	w1, c = bits.Add64(w1, l10, 0)
	w2, c = bits.Add64(w2, h10, c)
	w3, c = bits.Add64(w3, 0, c)
	*w = wide{w0, w1, w2, w3, w4 + c}
}

// reduce is the sum over 2^128: plain, if one factor of each product was. Twice a multiple of
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
	w4 += c
	// 2^128 = 28 2^64 - 1: what is above goes below, twice.
	for range 2 {
		var borrow uint64
		w3, c = bits.Add64(w3, 28*w4, 0)
		w2, borrow = bits.Sub64(w2, w4, 0)
		w3, borrow = bits.Sub64(w3, 0, borrow)
		w4 = c - borrow
	}
	l, borrow := bits.Sub64(w2, 1, 0)
	u, borrow := bits.Sub64(w3, upper, borrow)
	keep := -borrow
	return fp128.Fp{w2&keep | l&^keep, w3&keep | u&^keep}
}
