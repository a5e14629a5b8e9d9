package relay

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"golang.org/x/mod/sumdb/note"
)

// SignSuite is how the text form of a key that signs begins, and what its file names.
const SignSuite = "ed25519"

// VerifyKey checks signatures of receipts. The zero value is no key.
type VerifyKey struct{ key ed25519.PublicKey }

// ParseVerifyKey reads the text form "ed25519:base64url" of 32 bytes.
func ParseVerifyKey(text string) (VerifyKey, error) {
	raw, err := keytext.Decode(SignSuite, text)
	if err != nil {
		return VerifyKey{}, fmt.Errorf("wire: %w", err)
	}
	if len(raw) != ed25519.PublicKeySize {
		return VerifyKey{}, fmt.Errorf("wire: an Ed25519 public key has %d bytes, not %d: copy it whole", ed25519.PublicKeySize, len(raw))
	}
	return VerifyKey{raw}, nil
}

// String returns the text form that ParseVerifyKey reads; empty for the zero key.
func (k VerifyKey) String() string {
	if k.key == nil {
		return ""
	}
	return keytext.Encode(SignSuite, k.key)
}

// IsZero reports that this is no key.
func (k VerifyKey) IsZero() bool { return k.key == nil }

// Verify reports whether the key signed the message.
func (k VerifyKey) Verify(message, signature []byte) bool {
	return k.key != nil && len(signature) == ed25519.SignatureSize && ed25519.Verify(k.key, message, signature)
}

// SignKey signs. It never prints itself. The zero value is no key.
type SignKey struct {
	// A function, because fmt follows pointers and would print the key.
	key func() ed25519.PrivateKey
}

// GenerateSignKey draws a new key from the system's randomness.
func GenerateSignKey() (SignKey, error) {
	_, key, err := ed25519.GenerateKey(nil) // nil: the system's randomness
	if err != nil {
		return SignKey{}, fmt.Errorf("wire: generate a key: %w", err)
	}
	return NewSignKey(key), nil
}

// NewSignKey returns a key that signs.
func NewSignKey(key ed25519.PrivateKey) SignKey {
	return SignKey{func() ed25519.PrivateKey { return key }}
}

// Public returns the key that verifies; the zero key for the zero key.
func (k SignKey) Public() VerifyKey {
	if k.key == nil {
		return VerifyKey{}
	}
	return VerifyKey{k.key().Public().(ed25519.PublicKey)}
}

// Sign signs the message. The zero key panics.
func (k SignKey) Sign(message []byte) []byte { return ed25519.Sign(k.key(), message) }

// Private returns the key for what signs by itself, such as plan.Sign; nil for the
// zero key.
func (k SignKey) Private() ed25519.PrivateKey {
	if k.key == nil {
		return nil
	}
	return k.key()
}

// Format prints which key it is, never the key, whatever the verb.
func (k SignKey) Format(f fmt.State, verb rune) {
	if k.key == nil {
		fmt.Fprint(f, "no private key")
		return
	}
	fmt.Fprintf(f, "private key of %s %s", SignSuite, keytext.ID(k.Public().String()))
}

// Note returns the key as a verifier key of signed notes (c2sp.org/signed-note), under a name
// that has neither white space nor a plus.
func (k VerifyKey) Note(name string) (string, error) {
	if k.key == nil {
		return "", errors.New("wire: there is no key")
	}
	text, err := note.NewEd25519VerifierKey(name, k.key)
	if err == nil {
		_, err = note.NewVerifier(text)
	}
	if err != nil {
		return "", fmt.Errorf("wire: %q is no name of a signed note's key: choose one such as log.example/plans", name)
	}
	return text, nil
}

// Note returns the key as the private key of signed notes with that name.
func (k SignKey) Note(name string) (string, error) {
	verifier, err := k.Public().Note(name)
	if err != nil {
		return "", err
	}
	const ed25519Alone = 1 // the kind of signature
	hash := strings.Split(verifier, "+")[1]
	return "PRIVATE+KEY+" + name + "+" + hash + "+" + base64.StdEncoding.EncodeToString(append([]byte{ed25519Alone}, k.key().Seed()...)), nil
}
