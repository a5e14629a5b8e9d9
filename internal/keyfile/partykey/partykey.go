// Package partykey keeps a party's private keys in files: those that open envelopes, that sign, and that sign tokens.
// Used by cmd, internal/service and simulate.
package partykey

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// CreateOpening writes a key that opens envelopes, with its purpose for people, as keyfile.Create does.
func CreateOpening(path string, key envelope.PrivateKey, purpose string) error {
	return opening(path, key, purpose, keyfile.Create)
}

// ReplaceOpening writes over the key of an old file: what was sealed to that can no longer be opened.
func ReplaceOpening(path string, key envelope.PrivateKey, purpose string) error {
	return opening(path, key, purpose, keyfile.Replace)
}

func opening(path string, key envelope.PrivateKey, purpose string, write func(string, keyfile.File) error) error {
	raw, err := key.Bytes()
	if err != nil {
		return fmt.Errorf("write key file %s: %w", path, err)
	}
	return write(path, keyfile.File{Suite: string(key.Suite()), Purpose: purpose, PublicKey: key.Public().String(), PrivateKey: raw})
}

// ReadOpening reads a key that opens envelopes, and its purpose.
func ReadOpening(path string) (key envelope.PrivateKey, purpose string, err error) {
	return read(path, func(f keyfile.File) (envelope.PrivateKey, string, error) {
		key, err := envelope.NewPrivateKey(envelope.Suite(f.Suite), f.PrivateKey)
		return key, key.Public().String(), err
	})
}

// CreateSigning writes a key that signs, with its purpose, as keyfile.Create does.
func CreateSigning(path string, key relay.SignKey, purpose string) error {
	private := key.Private()
	if private == nil {
		return fmt.Errorf("write key file %s: there is no private key", path)
	}
	return keyfile.Create(path, keyfile.File{Suite: relay.SignSuite, Purpose: purpose, PublicKey: key.Public().String(), PrivateKey: private.Seed()})
}

// ReadSigning reads a key that signs, and its purpose.
func ReadSigning(path string) (key relay.SignKey, purpose string, err error) {
	return read(path, func(f keyfile.File) (relay.SignKey, string, error) {
		if f.Suite != relay.SignSuite || len(f.PrivateKey) != ed25519.SeedSize {
			return relay.SignKey{}, "", fmt.Errorf("no Ed25519 key: it has suite %q and %d bytes", f.Suite, len(f.PrivateKey))
		}
		key := relay.NewSignKey(ed25519.NewKeyFromSeed(f.PrivateKey))
		return key, key.Public().String(), nil
	})
}

// CreateTokens writes a key that signs tokens, with its purpose, as keyfile.Create does.
func CreateTokens(path string, key token.PrivateKey, purpose string) error {
	private := key.RSA()
	if private == nil {
		return fmt.Errorf("write key file %s: there is no private key", path)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic("partykey: " + err.Error()) // RSA keys always encode
	}
	return keyfile.Create(path, keyfile.File{Suite: token.Suite, Purpose: purpose, PublicKey: key.Public().String(), PrivateKey: der})
}

// ReadTokens reads a key that signs tokens, and its purpose.
func ReadTokens(path string) (key token.PrivateKey, purpose string, err error) {
	return read(path, func(f keyfile.File) (token.PrivateKey, string, error) {
		if f.Suite != token.Suite {
			return token.PrivateKey{}, "", fmt.Errorf("a key of suite %q: tokens need %q", f.Suite, token.Suite)
		}
		parsed, err := x509.ParsePKCS8PrivateKey(f.PrivateKey) // checks that the parts belong together
		private, ok := parsed.(*rsa.PrivateKey)
		if err != nil || !ok {
			// Not wrapped: the cause might quote what it was given.
			return token.PrivateKey{}, "", errors.New("no RSA key: restore it from a copy, or make a new key")
		}
		key, err := token.NewPrivateKey(private)
		return key, key.Public().String(), err
	})
}

// read reads a file strictly: what parse makes of its private half belongs to its public one.
func read[K any](path string, parse func(keyfile.File) (key K, public string, err error)) (key K, purpose string, err error) {
	f, err := keyfile.Read(path)
	if err != nil {
		return key, "", err
	}
	found, public, err := parse(f)
	if err == nil && public != f.PublicKey {
		err = errors.New("the public key does not belong to the private key: the file was damaged or edited")
	}
	if err != nil {
		return key, "", fmt.Errorf("key file %s: %w", path, err)
	}
	return found, f.Purpose, nil
}
