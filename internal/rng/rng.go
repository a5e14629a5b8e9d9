// Package rng draws the randomness that privacy rests on: an AES-128-CTR stream keyed from the operating system, and
// exact Bernoulli draws by comparing integers. Used by client, internal/dp and internal/service.
//
// A draw by integer comparison has a law that can be written down to the last bit. Comparing or transforming floats
// has not: their gaps leak through the low bits of the result.
package rng

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
)

// blockSize is the key stream produced at once. Below about 512 bytes the
// multi-block AES loop does not get going; above some kilobytes a device that
// draws a few hundred numbers pays for key stream it throws away.
const blockSize = 2048

// stream is an AES-128-CTR key stream read as little-endian 64-bit words.
type stream struct {
	ctr  cipher.Stream
	next int // offset of the next unread word in buf
	buf  [blockSize]byte
}

// Uint64 implements rand.Source.
func (s *stream) Uint64() uint64 {
	if s.next == blockSize {
		s.refill()
	}
	u := binary.LittleEndian.Uint64(s.buf[s.next : s.next+8])
	s.next += 8
	return u
}

func (s *stream) refill() {
	clear(s.buf[:])
	s.ctr.XORKeyStream(s.buf[:], s.buf[:])
	s.next = 0
}

// New returns a generator keyed afresh from the operating system. It is not
// safe for concurrent use: each goroutine takes its own.
//
// Its outputs are indistinguishable from uniform bits for whoever does not
// break AES-128; the guarantees that use it are computational in that sense.
func New() *rand.Rand {
	var key, iv [16]byte
	crand.Read(key[:]) // never fails: crypto/rand ends the program rather than return an error
	crand.Read(iv[:])
	return Keyed(key, iv)
}

// Keyed returns the generator that reads the AES-128-CTR key stream of key from
// the counter block iv on: the same pair gives the same stream on every machine.
// It serves public expansions and replays; a private draw needs New.
func Keyed(key, iv [16]byte) *rand.Rand {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("rng: " + err.Error()) // a 16-byte key is always accepted
	}
	return rand.New(&stream{ctr: cipher.NewCTR(block, iv[:]), next: blockSize})
}

// Shuffle permutes s uniformly, by Fisher and Yates.
//
// math/rand/v2 draws each bounded index from 64 bits by multiplication with
// rejection of the short interval (Lemire), so every index is exactly as likely
// as every other; math/rand of version 1 drew some of them from 31 bits.
func Shuffle[S ~[]E, E any](r *rand.Rand, s S) {
	r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}
