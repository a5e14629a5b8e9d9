package token

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/blindsign/blindrsa"

	"github.com/confetti-dp/confetti/internal/keyfile"
)

// Suite is how the text form and the key file of a key begin and name it.
const Suite = "rsa2048"

const (
	bits     = 2048
	exponent = 65537
)

// PublicKey verifies tokens. The zero value is no key.
type PublicKey struct {
	text string
	key  *rsa.PublicKey
}

// ParsePublicKey reads the text form "rsa2048:base64url" of a SubjectPublicKeyInfo
// (RFC 5280) in DER. A key has one text form.
func ParsePublicKey(text string) (PublicKey, error) {
	der, err := keyfile.Decode(Suite, text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("token: %w", err)
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, errors.New("token: not a public key in DER: copy it whole")
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok || key.N.BitLen() != bits || key.E != exponent || key.N.Bit(0) == 0 {
		return PublicKey{}, fmt.Errorf("token: not an RSA key of %d bits with exponent %d", bits, exponent)
	}
	public := wrapPublicKey(key)
	if public.text != text {
		return PublicKey{}, errors.New("token: the public key is not in its one DER form: copy it whole")
	}
	return public, nil
}

func wrapPublicKey(key *rsa.PublicKey) PublicKey {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic("token: " + err.Error()) // RSA keys always encode
	}
	return PublicKey{keyfile.Encode(Suite, der), key}
}

// String is the text form that ParsePublicKey reads; empty for the zero key.
func (k PublicKey) String() string { return k.text }

// ID is a short name for people to compare, as of keyfile.ID.
func (k PublicKey) ID() string { return keyfile.ID(k.text) }

// Verify reports with ErrInvalid that the key has not signed the token for the
// context. Whether it was spent before is for the caller to know.
func (k PublicKey) Verify(c Context, token []byte) error {
	if k.key == nil || len(token) != Size {
		return ErrInvalid
	}
	digest := sha512.Sum384(c.message(token[:nonceBytes]))
	options := rsa.PSSOptions{SaltLength: sha512.Size384, Hash: crypto.SHA384}
	if rsa.VerifyPSS(k.key, crypto.SHA384, digest[:], token[nonceBytes:], &options) != nil {
		return ErrInvalid
	}
	return nil
}

// PrivateKey signs requests. It never prints itself. The zero value is no key.
type PrivateKey struct {
	// A function, because fmt follows pointers and would print the key.
	key func() *rsa.PrivateKey
}

func wrapPrivateKey(key *rsa.PrivateKey) PrivateKey {
	return PrivateKey{func() *rsa.PrivateKey { return key }}
}

// GenerateKey draws a new key from the system's randomness. It takes a second
// or so.
func GenerateKey() (PrivateKey, error) {
	key, err := rsa.GenerateKey(nil, bits) // nil: crypto/rsa reads the system's randomness by itself
	if err != nil {
		return PrivateKey{}, fmt.Errorf("token: generate a key: %w", err)
	}
	return wrapPrivateKey(key), nil
}

// Public is the key that verifies; the zero key for the zero key.
func (k PrivateKey) Public() PublicKey {
	if k.key == nil {
		return PublicKey{}
	}
	return wrapPublicKey(&k.key().PublicKey)
}

// Format prints which key it is, never the key, whatever the verb.
func (k PrivateKey) Format(f fmt.State, verb rune) {
	if k.key == nil {
		fmt.Fprint(f, "no private key")
		return
	}
	fmt.Fprintf(f, "private key of %s %s", Suite, k.Public().ID())
}

// Sign answers a request without learning what it signs. The same request gets
// the same answer. It takes some milliseconds.
func (k PrivateKey) Sign(blinded []byte) ([]byte, error) {
	if k.key == nil {
		return nil, errors.New("token: no private key to sign with")
	}
	if len(blinded) != RequestSize {
		return nil, fmt.Errorf("token: a request of %d bytes: all have %d", len(blinded), RequestSize)
	}
	answer, err := blindrsa.NewSigner(k.key()).BlindSign(blinded)
	if err != nil {
		return nil, errors.New("token: the request is no number below the key's modulus")
	}
	return answer, nil
}

// CreateKeyFile writes the key to a file as of package keyfile, with mode 0600.
// A file that exists already is left as it is; the error is then fs.ErrExist.
func CreateKeyFile(path string, k PrivateKey, purpose string) error {
	if k.key == nil {
		return fmt.Errorf("token: no private key to write to %s", path)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k.key())
	if err != nil {
		panic("token: " + err.Error()) // RSA keys always encode
	}
	return keyfile.Create(path, keyfile.File{Suite: Suite, Purpose: purpose, PublicKey: k.Public().String(), PrivateKey: der})
}

// ReadKeyFile reads a file that CreateKeyFile wrote, strictly, and its purpose.
func ReadKeyFile(path string) (PrivateKey, string, error) {
	f, err := keyfile.Read(path)
	if err != nil {
		return PrivateKey{}, "", err
	}
	if f.Suite != Suite {
		return PrivateKey{}, "", fmt.Errorf("token: key file %s holds a key of suite %q: tokens need %q", path, f.Suite, Suite)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(f.PrivateKey) // checks that the parts belong together
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		// Not wrapped: the cause might quote what it was given.
		return PrivateKey{}, "", fmt.Errorf("token: key file %s holds no RSA key: restore it from a copy, or make a new key", path)
	}
	if _, err := ParsePublicKey(f.PublicKey); err != nil {
		return PrivateKey{}, "", fmt.Errorf("token: key file %s: %w", path, err)
	}
	private := wrapPrivateKey(key)
	if private.Public().String() != f.PublicKey {
		return PrivateKey{}, "", fmt.Errorf("token: key file %s: the public key does not belong to the private key: the file was damaged or edited", path)
	}
	return private, f.Purpose, nil
}
