// Package x25519 multiplies many points of Curve25519 by one secret, and one by many secrets: in eight lanes where the
// processor has them, by tables otherwise. Used by envelope, which believes no product that opens nothing.
package x25519

import (
	"crypto/ecdh"
	"crypto/fips140"
	"encoding/binary"
	"encoding/hex"
	"os"
	"sync"
	"sync/atomic"
)

//go:generate go test -run Generated -args -update

// Switch names the environment variable that turns all arithmetic of this package off, in every program, where it
// reads "standard".
const Switch = "CONFETTI_CURVE"

var distrusted atomic.Bool

// Distrust turns the arithmetic of this package off for the rest of the process, and says why in its log.
func Distrust(why string) {
	distrusted.Store(true)
	report(why)
}

// Trusted reports whether this package may be used: nobody turned it off, and crypto/ecdh is not demanded by FIPS 140.
func Trusted() bool {
	return !distrusted.Load() && os.Getenv(Switch) != "standard" && !fips140.Enforced()
}

// Lanes reports whether products come from eight lanes here: the processor has them, this package is trusted, and a
// known product came out right in each lane, twice.
func Lanes() bool { return Trusted() && sound() }

var sound = sync.OnceValue(func() bool { return wide && known(eight) })

// width is how many products one call of the lanes makes.
const width = 8

// ladders multiplies eight points by the scalars of the swaps.
type ladders func(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte)

// known reports whether both products of RFC 7748, section 5.2, come out in every lane. Neighbours have the other one.
func known(multiply ladders) bool {
	var examples [2]struct{ scalar, point, product [32]byte }
	for i, text := range []string{
		"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4" +
			"e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c" +
			"c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
		"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d" +
			"e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493" +
			"95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			panic("x25519: " + err.Error()) // a constant
		}
		examples[i].scalar, examples[i].point, examples[i].product = [32]byte(b), [32]byte(b[32:]), [32]byte(b[64:])
	}
	for first := range examples {
		var scalars, points, out [width][32]byte
		for l := range points {
			e := examples[(first+l)%2]
			scalars[l], points[l] = e.scalar, e.point
		}
		swaps := swapsOf(&scalars)
		multiply(&out, &swaps, &points)
		for l := range out {
			if out[l] != examples[(first+l)%2].product {
				return false
			}
		}
	}
	return true
}

// swapsOf returns what the ladder exchanges before each step, a bit for each lane, of clamped scalars.
func swapsOf(scalars *[width][32]byte) (swaps [256]byte) {
	var words [width][4]uint64
	for l, s := range scalars {
		for i := range words[l] {
			words[l][i] = binary.LittleEndian.Uint64(s[8*i:])
		}
		words[l][0] &^= 7
		words[l][3] = words[l][3]&(1<<63-1) | 1<<62
	}
	var before byte
	for step := range 255 {
		at := 254 - step
		var bits byte
		for l := range words {
			bits |= byte(words[l][at/64]>>(at%64)&1) << l
		}
		swaps[step] = bits ^ before
		before = bits
	}
	clear(words[:])
	return swaps
}

// Scalar is a secret that many points are multiplied by.
type Scalar struct{ swaps [256]byte }

// NewScalar prepares the scalar of a private key of crypto/ecdh.
func NewScalar(key *ecdh.PrivateKey) *Scalar {
	var all [width][32]byte
	raw := key.Bytes()
	for l := range all {
		copy(all[l][:], raw)
	}
	s := &Scalar{swapsOf(&all)}
	clear(all[:])
	clear(raw)
	return s
}

// Products writes the product with each point to its place, by eight lanes: only where Lanes says so. A point of small
// order gives zeros, which no caller may use.
func (s *Scalar) Products(out, points [][32]byte) {
	var at, product [width][32]byte
	for len(points) > 0 {
		n := copy(at[:], points)
		clear(at[n:])
		eight(&product, &s.swaps, &at)
		copy(out, product[:n])
		out, points = out[n:], points[n:]
	}
	clear(product[:])
}
