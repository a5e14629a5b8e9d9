package x25519

import (
	"encoding/binary"
	"log"

	"golang.org/x/sys/cpu"
)

// wide reports whether the processor has every set that lanes_amd64.s uses: KMOVB and KXORB are of DQ.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512IFMA

func report(why string) { log.Print(why) }

// element holds a number modulo 2^255 - 19 for each lane, by limbs of 51 bits.
type element [5][width]uint64

// state holds what the ladder works on, in the order that generate_test.go knows.
//
//lint:ignore U1000 assembly works on all of it
type state struct{ x1, x2, z2, x3, z3, a, b, c, d, aa, bb, e, da, cb, t element }

// ladder leaves the products of x1 in x2, not yet reduced, and clears its registers. The state must be ready:
// x2 = z3 = 1, z2 = 0, x3 = x1.
func ladder(s *state, swaps *[256]byte)

const mask51 = 1<<51 - 1

func (e *element) set(lane int, b *[32]byte) {
	w0, w1, w2, w3 := binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	e[0][lane] = w0 & mask51
	e[1][lane] = (w0>>51 | w1<<13) & mask51
	e[2][lane] = (w1>>38 | w2<<26) & mask51
	e[3][lane] = (w2>>25 | w3<<39) & mask51
	e[4][lane] = w3 >> 12 & mask51 // without the top bit
}

// get writes the number of a lane, below p. No branch depends on it.
func (e *element) get(lane int, b *[32]byte) {
	l := [5]uint64{e[0][lane], e[1][lane], e[2][lane], e[3][lane], e[4][lane]}
	carry := func() (c uint64) {
		for i := range l {
			l[i] += c
			c = l[i] >> 51
			l[i] &= mask51
		}
		return c
	}
	for range 2 {
		c := carry()
		l[0] += 19 * c
	}
	q := (l[0] + 19) >> 51 // becomes 1 where the number is p or more
	for _, n := range l[1:] {
		q = (n + q) >> 51
	}
	l[0] += 19 * q
	carry() // off goes the 2^255 of q p = q 2^255 - 19 q
	binary.LittleEndian.PutUint64(b[0:], l[0]|l[1]<<51)
	binary.LittleEndian.PutUint64(b[8:], l[1]>>13|l[2]<<38)
	binary.LittleEndian.PutUint64(b[16:], l[2]>>26|l[3]<<25)
	binary.LittleEndian.PutUint64(b[24:], l[3]>>39|l[4]<<12)
}

// eight runs one ladder in each lane, and clears all that depends on the scalars.
func eight(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte) {
	s := new(state) // on the heap: objects of this size begin at multiples of 64
	s.multiply(out, swaps, points)
}

func (s *state) multiply(out *[width][32]byte, swaps *[256]byte, points *[width][32]byte) {
	for l := range points {
		s.x1.set(l, &points[l])
		s.x2[0][l], s.z3[0][l] = 1, 1
	}
	s.x3 = s.x1
	ladder(s, swaps)
	for l := range out {
		s.x2.get(l, &out[l])
	}
	*s = state{}
}
