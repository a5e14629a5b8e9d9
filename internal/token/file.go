//go:build !js

package token

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"

	"github.com/confetti-dp/confetti/internal/keyfile"
)

// A browser has no files, and no issuer in it: what reads PKCS #8 is no part of its module.

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
	if err != nil || !ok || key.N.BitLen() != bits || key.E != exponent {
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
