package queue

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// The contents of a group are
//
//	number of contents in all groups before (8) || contents
//	content: key (16) || label (4) || length of the body (4) || body
//
// and the body of the group in its chain
//
//	nonce (12) || AES-256-GCM of the contents, with the group's head as associated data
//
// A group without contents seals the inbox.
const (
	groupHead   = 8
	contentHead = 16 + 4 + 4

	// sealing is how many bytes longer the body of a group is than its contents.
	sealing = nonceSize + 16

	nonceSize = 12
	keySize   = 32
)

// content is one content of a group.
type content struct {
	key   [16]byte
	label uint32
	body  []byte
}

// half returns the first half of the SHA-256 of the body.
func (c content) half() [16]byte {
	sum := sha256.Sum256(c.body)
	return [16]byte(sum[:])
}

// beginGroup appends what stands before the contents of a group.
func beginGroup(dst []byte, before uint64) []byte { return binary.BigEndian.AppendUint64(dst, before) }

func appendContent(dst []byte, key [16]byte, label uint32, body []byte) []byte {
	dst = append(dst, key[:]...)
	dst = binary.BigEndian.AppendUint32(dst, label)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

// parseGroup reads the contents of a group, which alias it.
func parseGroup(b []byte) (before uint64, contents iter.Seq[content], err error) {
	if len(b) < groupHead {
		return 0, nil, fmt.Errorf("%w: a group of %d bytes", ErrDamaged, len(b))
	}
	before, all := binary.BigEndian.Uint64(b), b[groupHead:]
	for rest := all; len(rest) > 0; {
		if len(rest) < contentHead || uint64(len(rest)-contentHead) < uint64(binary.BigEndian.Uint32(rest[20:])) {
			return 0, nil, fmt.Errorf("%w: a group ends within a content", ErrDamaged)
		}
		rest = rest[contentHead+int(binary.BigEndian.Uint32(rest[20:])):]
	}
	return before, func(yield func(content) bool) {
		for rest := all; len(rest) > 0; {
			end := contentHead + int(binary.BigEndian.Uint32(rest[20:]))
			if !yield(content{[16]byte(rest), binary.BigEndian.Uint32(rest[16:]), rest[contentHead:end:end]}) {
				return
			}
			rest = rest[end:]
		}
	}, nil
}

// secret is the key of an inbox. What lies on disk is nothing without it, and it is
// destroyed when the inbox is dropped, so that what a disk keeps of deleted files
// does not matter. It never prints itself.
type secret struct {
	key  func() []byte
	aead cipher.AEAD
	rand *rand.Rand
}

func newSecret(key []byte) secret {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("queue: " + err.Error()) // the length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("queue: " + err.Error())
	}
	return secret{func() []byte { return key }, aead, rng.New()}
}

// drawKey returns a new key.
func drawKey() []byte {
	key := make([]byte, keySize)
	rng.Reader(rng.New()).Read(key)
	return key
}

// Format prints no secret, whatever the verb.
func (s secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "a secret") }

// seal returns the body of the group behind end. The nonce is random: a number may be
// used twice, by a write that was torn and the one in its place. Among 2^32 groups
// two nonces are alike with probability 2^-33.
func (s secret) seal(end hashchain.Point, contents []byte) []byte {
	body := make([]byte, nonceSize, len(contents)+sealing)
	rng.Reader(s.rand).Read(body)
	return s.aead.Seal(body, body, contents, end.Append(nil))
}

// open reads the body of a group; it may use its memory.
func (s secret) open(head, body []byte) (before uint64, contents iter.Seq[content], err error) {
	if len(body) < sealing {
		return 0, nil, fmt.Errorf("%w: a group of %d bytes", ErrDamaged, len(body))
	}
	plain, err := s.aead.Open(body[nonceSize:nonceSize], body[:nonceSize], body[nonceSize:], head)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: a group was written under another key, or forged", ErrDamaged)
	}
	return parseGroup(plain)
}

// derive is 32 bytes for a purpose.
func (s secret) derive(purpose string) []byte {
	b, err := hkdf.Expand(sha256.New, s.key(), "confetti inbox "+purpose, 32)
	if err != nil {
		panic("queue: " + err.Error()) // 32 bytes are not too many
	}
	return b
}

const keyFormat = "confetti-inbox-key/v1 "

var (
	base64url  = base64.RawURLEncoding.Strict()
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// marshalKey writes a key as a line with a checksum.
func marshalKey(key []byte) []byte {
	text := fmt.Appendf(nil, "%s%s ", keyFormat, base64url.EncodeToString(key))
	return fmt.Appendf(text, "%08x\n", crc32.Checksum(text, castagnoli))
}

// parseKey reads what marshalKey wrote, and nothing else.
func parseKey(text []byte) ([]byte, error) {
	bad := fmt.Errorf("%w: not the key of an inbox", ErrDamaged)
	rest, found := bytes.CutPrefix(text, []byte(keyFormat))
	if !found || len(rest) < base64url.EncodedLen(keySize) {
		return nil, bad
	}
	key, err := base64url.DecodeString(string(rest[:base64url.EncodedLen(keySize)]))
	if err != nil || !bytes.Equal(marshalKey(key), text) {
		return nil, bad
	}
	return key, nil
}
