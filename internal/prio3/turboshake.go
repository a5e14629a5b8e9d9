package prio3

import (
	"encoding/binary"
	"math/bits"
)

// turboShake128 is the extendable output function of RFC 9861, section 2, with the
// domain separation byte 1. Bytes are written first, then read.
type turboShake128 struct {
	lanes   [25]uint64
	at      int // in the block of rate bytes
	reading bool
}

const (
	rate   = 168
	domain = 0x01
)

// Write absorbs bytes. It is an error of the program to write after a read.
func (s *turboShake128) Write(b []byte) (int, error) {
	if s.reading {
		panic("prio3: written to after a read")
	}
	n := len(b)
	for len(b) > 0 {
		if s.at%8 == 0 && len(b) >= 8 {
			s.lanes[s.at/8] ^= binary.LittleEndian.Uint64(b)
			s.at, b = s.at+8, b[8:]
		} else {
			s.xor(s.at, b[0])
			s.at, b = s.at+1, b[1:]
		}
		if s.at == rate {
			permute(&s.lanes)
			s.at = 0
		}
	}
	return n, nil
}

func (s *turboShake128) xor(at int, b byte) { s.lanes[at/8] ^= uint64(b) << (8 * (at % 8)) }

// Read squeezes bytes; it never fails.
func (s *turboShake128) Read(b []byte) (int, error) {
	if !s.reading {
		s.xor(s.at, domain)
		s.xor(rate-1, 0x80)
		s.at, s.reading = rate, true
	}
	n := len(b)
	for len(b) > 0 {
		if s.at == rate {
			permute(&s.lanes)
			s.at = 0
		}
		if s.at%8 == 0 && len(b) >= 8 {
			binary.LittleEndian.PutUint64(b, s.lanes[s.at/8])
			s.at, b = s.at+8, b[8:]
		} else {
			b[0] = byte(s.lanes[s.at/8] >> (8 * (s.at % 8)))
			s.at, b = s.at+1, b[1:]
		}
	}
	return n, nil
}

// constants are those of the last twelve rounds of Keccak-f[1600] (FIPS 202, 3.2.5).
var constants = [12]uint64{
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
}

// turns is how far the lane x + 5 y is rotated, and places where it goes (FIPS 202,
// 3.2.2 and 3.2.3).
var (
	turns  = [25]int{0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14}
	places = [25]int{0, 10, 20, 5, 15, 16, 1, 11, 21, 6, 7, 17, 2, 12, 22, 23, 8, 18, 3, 13, 14, 24, 9, 19, 4}
)

// permute is Keccak-p[1600, 12].
func permute(a *[25]uint64) {
	var b [25]uint64
	for _, constant := range constants {
		c0 := a[0] ^ a[5] ^ a[10] ^ a[15] ^ a[20]
		c1 := a[1] ^ a[6] ^ a[11] ^ a[16] ^ a[21]
		c2 := a[2] ^ a[7] ^ a[12] ^ a[17] ^ a[22]
		c3 := a[3] ^ a[8] ^ a[13] ^ a[18] ^ a[23]
		c4 := a[4] ^ a[9] ^ a[14] ^ a[19] ^ a[24]
		d := [5]uint64{
			c4 ^ bits.RotateLeft64(c1, 1), c0 ^ bits.RotateLeft64(c2, 1), c1 ^ bits.RotateLeft64(c3, 1),
			c2 ^ bits.RotateLeft64(c4, 1), c3 ^ bits.RotateLeft64(c0, 1),
		}
		for y := 0; y < 25; y += 5 {
			for x := range 5 {
				b[places[y+x]] = bits.RotateLeft64(a[y+x]^d[x], turns[y+x])
			}
		}
		for y := 0; y < 25; y += 5 {
			r := (*[5]uint64)(b[y : y+5])
			a[y], a[y+1], a[y+2], a[y+3], a[y+4] = r[0]^^r[1]&r[2], r[1]^^r[2]&r[3], r[2]^^r[3]&r[4], r[3]^^r[4]&r[0], r[4]^^r[0]&r[1]
		}
		a[0] ^= constant
	}
}
