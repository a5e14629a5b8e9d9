package envelope

import (
	"bytes"
	"crypto/hpke"
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
)

// PublicKey is the key of a hop or of an analyzer, for sealing. The zero value
// is no key.
type PublicKey struct {
	suite Suite
	key   hpke.PublicKey
}

// ParsePublicKey reads the text form "suite:base64url", without padding.
func ParsePublicKey(text string) (PublicKey, error) {
	name, _, found := strings.Cut(text, ":")
	if !found {
		return PublicKey{}, fmt.Errorf("envelope: not a public key: it reads suite:base64url, with suite %s or %s", X25519, XWing)
	}
	suite := Suite(name)
	if err := suite.Validate(); err != nil {
		return PublicKey{}, err
	}
	raw, err := keytext.Decode(name, text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("envelope: %w", err)
	}
	key, err := suite.kem().NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("envelope: not a public key of suite %q (%d bytes): copy it whole", suite, len(raw))
	}
	return PublicKey{suite, key}, nil
}

// Suite returns the suite the key belongs to; empty for the zero key.
func (k PublicKey) Suite() Suite { return k.suite }

// Bytes returns the key as its KEM serializes it; nil for the zero key.
func (k PublicKey) Bytes() []byte {
	if k.key == nil {
		return nil
	}
	return k.key.Bytes()
}

// String returns the text form that ParsePublicKey reads.
func (k PublicKey) String() string {
	return keytext.Encode(string(k.suite), k.Bytes())
}

// Equal reports whether both are the same key of the same suite.
func (k PublicKey) Equal(other PublicKey) bool {
	return k.suite == other.suite && bytes.Equal(k.Bytes(), other.Bytes())
}

// ID returns a short name for people to compare: the first 8 bytes of the SHA-256 of
// the text form, in hexadecimal. 64 bits are no commitment: compare whole keys
// where it matters.
func (k PublicKey) ID() string { return keytext.ID(k.String()) }

// PrivateKey opens what was sealed to its public key. It never prints itself.
// The zero value is no key.
type PrivateKey struct {
	suite Suite
	// A function, because fmt follows pointers: it does not call the Format of
	// an unexported field, and %s of a struct around this one printed the seed.
	key func() hpke.PrivateKey
}

func wrapPrivateKey(s Suite, key hpke.PrivateKey) PrivateKey {
	return PrivateKey{s, func() hpke.PrivateKey { return key }}
}

// GenerateKey draws a new key from the system's randomness.
func GenerateKey(s Suite) (PrivateKey, error) {
	if err := s.Validate(); err != nil {
		return PrivateKey{}, err
	}
	key, err := s.kem().GenerateKey()
	if err != nil {
		return PrivateKey{}, fmt.Errorf("envelope: generate a key of suite %q: %w", s, err)
	}
	return wrapPrivateKey(s, key), nil
}

// Bytes returns the private key for a file or a vault that only its owner reads.
func (k PrivateKey) Bytes() ([]byte, error) {
	if k.key == nil {
		return nil, errors.New("envelope: there is no private key")
	}
	raw, err := k.key().Bytes()
	if err != nil {
		return nil, errors.New("envelope: this kind of key cannot be stored") // not wrapped: the cause might quote it
	}
	return raw, nil
}

// NewPrivateKey reads what Bytes returns: the 32 bytes of an X25519 scalar or an X-Wing seed.
func NewPrivateKey(s Suite, raw []byte) (PrivateKey, error) {
	if err := s.Validate(); err != nil {
		return PrivateKey{}, err
	}
	key, err := s.kem().NewPrivateKey(raw)
	if err != nil {
		// Not wrapped: the cause might quote what it was given.
		return PrivateKey{}, fmt.Errorf("envelope: not a private key of suite %q (%d bytes)", s, len(raw))
	}
	return wrapPrivateKey(s, key), nil
}

// Suite returns the suite the key belongs to; empty for the zero key.
func (k PrivateKey) Suite() Suite { return k.suite }

// Public returns the key to seal with; the zero key for the zero key.
func (k PrivateKey) Public() PublicKey {
	if k.key == nil {
		return PublicKey{}
	}
	return PublicKey{k.suite, k.key().PublicKey()}
}

// Format prints which key it is, never the key, whatever the verb.
func (k PrivateKey) Format(f fmt.State, verb rune) {
	if k.key == nil {
		fmt.Fprint(f, "no private key")
		return
	}
	fmt.Fprintf(f, "private key of %s %s", k.suite, k.Public().ID())
}
