// Package encode turns a value into cells of a declared domain: categories, buckets, places, strings. Used by question,
// and by internal/dp for sketches, vectors and maps of features.
package encode

import (
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Domain separates these streams from any other use of a plan's seed.
const domain = "confetti/encode/v1/"

// Stream reads the public randomness of one seed and label: the output of
// SHAKE-256 over seed || "confetti/encode/v1/" || label, taken as
// little-endian 64-bit words. It hides nothing; it only has to be the same on
// every device and in every language.
type Stream struct {
	shake *sha3.SHAKE
	buf   [4096]byte
	at    int
}

// NewStream returns the stream of a seed and a label.
func NewStream(seed [32]byte, label string) *Stream {
	s := &Stream{shake: sha3.NewSHAKE256()}
	s.shake.Write(seed[:])
	s.shake.Write([]byte(domain + label))
	s.at = len(s.buf)
	return s
}

// Uint64 returns the next word.
func (s *Stream) Uint64() uint64 {
	if s.at == len(s.buf) {
		s.shake.Read(s.buf[:])
		s.at = 0
	}
	s.at += 8
	return binary.LittleEndian.Uint64(s.buf[s.at-8:])
}

// ParseSeed reads a public seed of a plan: 64 hex digits.
func ParseSeed(text string) (seed [32]byte, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(seed) {
		return seed, fmt.Errorf("a seed must be %d hex digits", 2*len(seed))
	}
	return [32]byte(b), nil
}

// Expand turns a public seed and a label into a random stream that both ends
// derive alike. It is public: never randomize with it.
func Expand(seed [32]byte, label string) *rand.Rand { return rand.New(NewStream(seed, label)) }
