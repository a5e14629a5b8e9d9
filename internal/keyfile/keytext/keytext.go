// Package keytext writes and reads public keys as text, suite:base64url, and names them for people. Used by
// envelope, internal/token and internal/wire/relay for their keys, and by internal/keyfile.
package keytext

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Base64 refuses set padding bits, so that there is one way to write a key.
var Base64 = base64.RawURLEncoding.Strict()

// ID returns the short name of a public key for people to compare: the first 8 bytes
// of the SHA-256 of its text form, in hexadecimal.
func ID(public string) string {
	sum := sha256.Sum256([]byte(public))
	return hex.EncodeToString(sum[:8])
}

// Encode writes the raw bytes of a public key in its text form.
func Encode(suite string, raw []byte) string { return suite + ":" + Base64.EncodeToString(raw) }

// Decode reads what Encode writes, of the given suite.
func Decode(suite, text string) ([]byte, error) {
	name, encoded, found := strings.Cut(text, ":")
	if !found || name != suite {
		return nil, fmt.Errorf("not a public key in the form %s:base64url", suite)
	}
	raw, err := Base64.DecodeString(encoded)
	// The decoder skips line breaks; a key has none.
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return nil, fmt.Errorf("the public key of suite %q is not base64url without padding: copy it whole", suite)
	}
	return raw, nil
}
