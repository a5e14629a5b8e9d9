package envelope

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
)

// Suite names the algorithms that seal one layer. Every layer of an envelope
// uses the same suite.
type Suite string

const (
	// X25519 is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM (RFC 9180).
	X25519 Suite = sizes.X25519
	// XWing is MLKEM768-X25519, HKDF-SHA256, AES-128-GCM (draft-ietf-hpke-pq):
	// envelopes recorded today stay shut for a quantum computer of tomorrow.
	XWing Suite = sizes.XWing
)

// tagSize is the length of the AES-GCM authentication tag, in bytes.
const tagSize = sizes.Tag

// The key derivation and the cipher are the same for every suite.
var (
	kdf  = hpke.HKDFSHA256()
	aead = hpke.AES128GCM()
)

// Validate returns an error unless the suite is one of those above.
func (s Suite) Validate() error { return sizes.Suite(string(s)) }

// Overhead returns the number of bytes that one layer adds: the encapsulated key
// and the tag. It is 0 for an unknown suite.
func (s Suite) Overhead() int { return sizes.Layer(string(s)) }

// Size returns the length in bytes of a payload sealed under so many layers.
func (s Suite) Size(layers, payload int) int { return layers*s.Overhead() + payload }

func (s Suite) kem() hpke.KEM {
	switch s {
	case X25519:
		return hpke.DHKEM(ecdh.X25519())
	case XWing:
		return hpke.MLKEM768X25519()
	}
	panic("envelope: suite used without validation")
}

// id returns the KEM, KDF and AEAD identifiers of the HPKE registries, two bytes each.
func (s Suite) id() []byte {
	id := binary.BigEndian.AppendUint16(nil, s.kem().ID())
	id = binary.BigEndian.AppendUint16(id, kdf.ID())
	return binary.BigEndian.AppendUint16(id, aead.ID())
}
