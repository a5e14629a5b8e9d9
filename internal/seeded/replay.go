// Package seeded draws seeded randomness: the same numbers give the same draws on every machine and in every
// version. Used by simulate, internal/simulate, internal/testkit and lab, and never by a device, a hop or an
// analyzer.
package seeded

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/rng"
)

// New returns the generator of (seed, stream...). Different tuples, of different
// length too, give independent generators: the tuple is hashed to the key and
// first counter block of an AES-128-CTR stream. Name a stream after what it is
// for, as in New(seed, run, device).
func New(seed uint64, stream ...uint64) *rand.Rand {
	b := []byte("confetti replay 1\x00")
	b = binary.LittleEndian.AppendUint64(b, seed)
	for _, s := range stream {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	h := sha256.Sum256(b)
	return rng.Keyed([16]byte(h[:16]), [16]byte(h[16:]))
}
