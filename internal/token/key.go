package token

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha512"
	"errors"
	"fmt"
	"math/big"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/rng"
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
	der, err := keytext.Decode(Suite, text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("token: %w", err)
	}
	modulus, ours := bytes.CutPrefix(der, derHead)
	modulus, whole := bytes.CutSuffix(modulus, derTail)
	if !ours || !whole || len(modulus) != bits/8 || modulus[0] < 0x80 || modulus[len(modulus)-1]%2 == 0 {
		return PublicKey{}, fmt.Errorf("token: not an RSA key of %d bits with exponent %d in DER: copy it whole", bits, exponent)
	}
	public := wrapPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: exponent})
	if public.text != text {
		return PublicKey{}, errors.New("token: the public key is not in its one form: copy it whole")
	}
	return public, nil
}

// A SubjectPublicKeyInfo of RSA with 2,048 bits and the exponent 65,537 is one thing in DER but for
// the modulus, which stands between these two and has its highest bit set.
var (
	derHead = []byte{
		0x30, 0x82, 0x01, 0x22, // SEQUENCE of 290 bytes
		0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00, // rsaEncryption, NULL
		0x03, 0x82, 0x01, 0x0f, 0x00, // BIT STRING of whole bytes
		0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00, // SEQUENCE, INTEGER of 257 bytes, the first zero
	}
	derTail = []byte{0x02, 0x03, 0x01, 0x00, 0x01} // INTEGER 65,537
)

func wrapPublicKey(key *rsa.PublicKey) PublicKey {
	der := append(key.N.FillBytes(make([]byte, bits/8)), derTail...)
	return PublicKey{keytext.Encode(Suite, append(derHead[:len(derHead):len(derHead)], der...)), key}
}

// String returns the text form that ParsePublicKey reads; empty for the zero key.
func (k PublicKey) String() string { return k.text }

// ID returns a short name for people to compare, as of keytext.ID.
func (k PublicKey) ID() string { return keytext.ID(k.text) }

// Verify reports with errInvalid that the key has not signed the token for the
// context. Whether it was spent before is for the caller to know.
func (k PublicKey) Verify(c Context, token []byte) error {
	if k.key == nil || len(token) != Size {
		return errInvalid
	}
	digest := sha512.Sum384(c.message(token[:nonceBytes]))
	options := rsa.PSSOptions{SaltLength: sha512.Size384, Hash: crypto.SHA384}
	if rsa.VerifyPSS(k.key, crypto.SHA384, digest[:], token[nonceBytes:], &options) != nil {
		return errInvalid
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

// NewPrivateKey returns an RSA key as one that signs tokens, or refuses it.
func NewPrivateKey(key *rsa.PrivateKey) (PrivateKey, error) {
	if key == nil || key.N.BitLen() != bits || key.E != exponent || len(key.Primes) != 2 {
		return PrivateKey{}, fmt.Errorf("token: no RSA key of %d bits and two primes with exponent %d", bits, exponent)
	}
	key.Precompute()
	return wrapPrivateKey(key), nil
}

// RSA returns the key for a file that only its owner reads; nil for the zero key.
func (k PrivateKey) RSA() *rsa.PrivateKey {
	if k.key == nil {
		return nil
	}
	return k.key()
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

// Public returns the key that verifies; the zero key for the zero key.
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
	key, request := k.key(), new(big.Int).SetBytes(blinded)
	if request.Cmp(key.N) >= 0 {
		return nil, errors.New("token: the request is no number below the key's modulus")
	}
	// Whoever sends requests and measures time never knows which number is raised: each is multiplied by a fresh one.
	secret, inverse, drawn := new(big.Int), new(big.Int), make([]byte, bits/8)
	for random := rng.Reader(rng.New()); secret.Cmp(key.N) >= 0 || inverse.ModInverse(secret, key.N) == nil; {
		random.Read(drawn)
		secret.SetBytes(drawn)
	}
	e := big.NewInt(exponent)
	hidden := new(big.Int).Exp(secret, e, key.N)
	answer := root(key, hidden.Mod(hidden.Mul(hidden, request), key.N))
	answer.Mod(answer.Mul(answer, inverse), key.N)
	// An answer that is right by one prime alone would give the key away.
	if new(big.Int).Exp(answer, e, key.N).Cmp(request) != 0 {
		return nil, errors.New("token: this machine has miscalculated a signature: try it on another one")
	}
	return answer.FillBytes(make([]byte, bits/8)), nil
}

// root returns what a number is the power of, computed by each prime and joined: a third of the time that the modulus takes.
func root(key *rsa.PrivateKey, c *big.Int) *big.Int {
	p, q := key.Primes[0], key.Primes[1]
	byP := new(big.Int).Exp(c, key.Precomputed.Dp, p)
	byQ := new(big.Int).Exp(c, key.Precomputed.Dq, q)
	byP.Sub(byP, byQ)
	byP.Mod(byP.Mul(byP, key.Precomputed.Qinv), p)
	return byQ.Add(byQ, byP.Mul(byP, q))
}
