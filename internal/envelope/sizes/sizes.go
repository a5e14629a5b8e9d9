// Package sizes says how many bytes envelopes and contributions have, by the suite that seals them. Used by envelope,
// by protocol, which checks sizes and seals nothing, and by internal/shuffler/mixer and internal/analyzer/parts.
package sizes

import (
	"errors"
	"fmt"
)

// The suites, and the length of what stands before a contribution.
const (
	X25519 = "x25519"
	XWing  = "x-wing"
	Head   = 48

	Tag = 16 // of AES-GCM, bytes
)

const (
	// Min is the length of the shortest envelope, bytes: X25519 round an empty payload.
	Min = 32 + Tag

	// Max bounds a whole envelope, in bytes, so that a hostile length cannot ask for memory: the longest payload of
	// a plan (2^16) under 17 layers of X-Wing fits. Usual ones have 150 to 3,500.
	Max = 1 << 17

	// MaxContribution bounds a contribution, in bytes: 16 MiB, less what whoever keeps one writes beside it.
	MaxContribution = 1<<24 - 1<<10
)

// Suite refuses a suite that nobody has.
func Suite(suite string) error {
	if suite != X25519 && suite != XWing {
		return fmt.Errorf("envelope: unknown suite %q: use %q or %q", suite, X25519, XWing)
	}
	return nil
}

// Layer returns the number of bytes that one layer adds: the encapsulated key and the tag. It is 0 for an unknown
// suite.
func Layer(suite string) int {
	switch suite {
	case X25519:
		return 32 + Tag // a point of Curve25519
	case XWing:
		return 1088 + 32 + Tag // an ML-KEM-768 ciphertext and a point
	}
	return 0
}

// Envelope returns the length of an envelope as it reaches the party after the entry. The slots are those of the
// layers, the entry's first, which is not used, and the analyzer's last.
func Envelope(suite string, payload int, slots []int) int {
	size := payload + (len(slots)-1)*Layer(suite)
	for _, slot := range slots[1:] {
		size += slot
	}
	return size
}

// Contribution returns the length of a contribution of so many envelopes.
func Contribution(suite string, envelopes, size int) int {
	return Head + Layer(suite) + envelopes*size
}

// Check refuses contributions that nobody may send.
func Check(suite string, envelopes, size int) error {
	switch err := Suite(suite); {
	case err != nil:
		return err
	case envelopes < 1:
		return errors.New("envelope: a contribution without envelopes")
	case size < Min || size > Max:
		return fmt.Errorf("envelope: envelopes of %d bytes: need %d to %d", size, Min, Max)
	case envelopes > MaxContribution || Contribution(suite, envelopes, size) > MaxContribution:
		return fmt.Errorf("envelope: %d envelopes of %d bytes make a contribution of more than %d bytes, the limit: fewer envelopes, shorter payloads, or the suite %q", envelopes, size, MaxContribution, X25519)
	}
	return nil
}
