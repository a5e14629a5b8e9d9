package plan

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
)

// Types of keys of signed notes (c2sp.org/signed-note).
const (
	noteKey        = 1 // Ed25519 over the note
	cosignatureKey = 4 // Ed25519 over the note with a time (c2sp.org/tlog-cosignature)
)

// cosigner verifies the cosignatures of one witness. It is here and no library's, since a
// device carries it: what reads keys of all kinds is larger than all that a device does with
// a log. Tests hold it to the library that witnesses sign with.
type cosigner struct {
	name string
	key  ed25519.PublicKey
}

var errCosigner = errors.New("plan: not a verifier key of cosignatures")

// parseCosigner reads a verifier key, NAME+HASH+KEY, of cosignatures, or of notes with the same
// key of Ed25519. The hash is taken as it is, as that of the other kind stands for a key too.
func parseCosigner(text string) (note.Verifier, error) {
	parts := strings.SplitN(text, "+", 3)
	if len(parts) != 3 || len(parts[1]) != 8 {
		return nil, errCosigner
	}
	name := parts[0]
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != noteKey && raw[0] != cosignatureKey ||
		name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsSpace) {
		return nil, errCosigner
	}
	return cosigner{name, raw[1:]}, nil
}

// Name implements note.Verifier.
func (c cosigner) Name() string { return c.name }

// KeyHash implements note.Verifier.
func (c cosigner) KeyHash() uint32 {
	sum := sha256.Sum256(append([]byte(c.name+"\n"+string(rune(cosignatureKey))), c.key...))
	return binary.BigEndian.Uint32(sum[:])
}

// Verify implements note.Verifier. A cosignature is a time in seconds, 8 bytes, and a signature
// of that time and the checkpoint.
func (c cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize || strings.Count(string(msg), "\n") < 2 {
		return false
	}
	signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(c.key, signed, sig[8:])
}
