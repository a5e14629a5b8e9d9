package prio3

import (
	"encoding/binary"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
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
	for ; len(b) >= 8; b = b[8:] {
		s.absorb(binary.LittleEndian.Uint64(b))
	}
	for _, x := range b {
		s.xor(s.at, x)
		s.step(1)
	}
	return n, nil
}

// absorb takes eight bytes, which may lie across two lanes, and two blocks.
func (s *turboShake128) absorb(x uint64) {
	part := s.at % 8
	s.lanes[s.at/8] ^= x << (8 * part)
	s.step(8 - part)
	if part > 0 {
		s.lanes[s.at/8] ^= x >> (64 - 8*part)
		s.at += part
	}
}

// step goes on by some bytes of a lane.
func (s *turboShake128) step(bytes int) {
	if s.at += bytes; s.at == rate {
		permute(&s.lanes)
		s.at = 0
	}
}

func (s *turboShake128) xor(at int, b byte) { s.lanes[at/8] ^= uint64(b) << (8 * (at % 8)) }

// Read squeezes bytes; it never fails.
func (s *turboShake128) Read(b []byte) (int, error) {
	for i := range b {
		s.ready()
		b[i] = byte(s.lanes[s.at/8] >> (8 * (s.at % 8)))
		s.at++
	}
	return len(b), nil
}

// write absorbs plain elements.
func (s *turboShake128) write(v fp128.Vec) {
	lane, shift := s.at/8, uint(s.at%8*8)
	for i := range v {
		for _, x := range v[i] {
			s.lanes[lane] ^= x << shift
			if lane++; lane == rate/8 {
				permute(&s.lanes)
				lane = 0
			}
			s.lanes[lane] ^= x >> (64 - shift)
		}
	}
	s.at = 8*lane + int(shift/8)
}

// draw squeezes plain elements: of sixteen bytes each, those below p. Nothing else was read.
func (s *turboShake128) draw(all fp128.Vec) {
	for i := range all {
		for drawn := false; !drawn; { // of 2^59 one is drawn again
			all[i] = fp128.Fp{s.squeeze(), s.squeeze()}
			drawn = below(all[i][0], all[i][1])
		}
	}
}

// squeeze returns the next lane.
func (s *turboShake128) squeeze() uint64 {
	s.ready()
	s.at += 8
	return s.lanes[s.at/8-1]
}

// ready turns from writing to reading, and to the next block.
func (s *turboShake128) ready() {
	if !s.reading {
		s.xor(s.at, domain)
		s.xor(rate-1, 0x80)
		s.at, s.reading = rate, true
	}
	if s.at == rate {
		permute(&s.lanes)
		s.at = 0
	}
}

// constants are those of the last twelve rounds of Keccak-f[1600] (FIPS 202, 3.2.5).
var constants = [12]uint64{
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
}

// permute is Keccak-p[1600, 12].
func permute(a *[25]uint64) {
	var b [25]uint64
	for i := 0; i < len(constants); i += 2 {
		round(&b, a, constants[i])
		round(a, &b, constants[i+1])
	}
}

// round writes one round of from (FIPS 202, 3.3) to to, row by row: a lane of from goes with
// its column's parity, turned by 3.2.2, where 3.2.3 has it, and the row is mixed.
func round(to, from *[25]uint64, constant uint64) {
	c0 := from[0] ^ from[5] ^ from[10] ^ from[15] ^ from[20]
	c1 := from[1] ^ from[6] ^ from[11] ^ from[16] ^ from[21]
	c2 := from[2] ^ from[7] ^ from[12] ^ from[17] ^ from[22]
	c3 := from[3] ^ from[8] ^ from[13] ^ from[18] ^ from[23]
	c4 := from[4] ^ from[9] ^ from[14] ^ from[19] ^ from[24]
	d0, d1, d2 := c4^bits.RotateLeft64(c1, 1), c0^bits.RotateLeft64(c2, 1), c1^bits.RotateLeft64(c3, 1)
	d3, d4 := c2^bits.RotateLeft64(c4, 1), c3^bits.RotateLeft64(c0, 1)

	r0, r1, r2 := from[0]^d0, bits.RotateLeft64(from[6]^d1, 44), bits.RotateLeft64(from[12]^d2, 43)
	r3, r4 := bits.RotateLeft64(from[18]^d3, 21), bits.RotateLeft64(from[24]^d4, 14)
	mix((*[5]uint64)(to[:]), r0, r1, r2, r3, r4)
	to[0] ^= constant

	r0, r1, r2 = bits.RotateLeft64(from[3]^d3, 28), bits.RotateLeft64(from[9]^d4, 20), bits.RotateLeft64(from[10]^d0, 3)
	r3, r4 = bits.RotateLeft64(from[16]^d1, 45), bits.RotateLeft64(from[22]^d2, 61)
	mix((*[5]uint64)(to[5:]), r0, r1, r2, r3, r4)

	r0, r1, r2 = bits.RotateLeft64(from[1]^d1, 1), bits.RotateLeft64(from[7]^d2, 6), bits.RotateLeft64(from[13]^d3, 25)
	r3, r4 = bits.RotateLeft64(from[19]^d4, 8), bits.RotateLeft64(from[20]^d0, 18)
	mix((*[5]uint64)(to[10:]), r0, r1, r2, r3, r4)

	r0, r1, r2 = bits.RotateLeft64(from[4]^d4, 27), bits.RotateLeft64(from[5]^d0, 36), bits.RotateLeft64(from[11]^d1, 10)
	r3, r4 = bits.RotateLeft64(from[17]^d2, 15), bits.RotateLeft64(from[23]^d3, 56)
	mix((*[5]uint64)(to[15:]), r0, r1, r2, r3, r4)

	r0, r1, r2 = bits.RotateLeft64(from[2]^d2, 62), bits.RotateLeft64(from[8]^d3, 55), bits.RotateLeft64(from[14]^d4, 39)
	r3, r4 = bits.RotateLeft64(from[15]^d0, 41), bits.RotateLeft64(from[21]^d1, 2)
	mix((*[5]uint64)(to[20:]), r0, r1, r2, r3, r4)
}

// mix mixes a row (3.2.4).
func mix(to *[5]uint64, r0, r1, r2, r3, r4 uint64) {
	to[0], to[1], to[2], to[3], to[4] = r0^r2&^r1, r1^r3&^r2, r2^r4&^r3, r3^r0&^r4, r4^r1&^r0
}
