package postgres

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

const (
	keySize  = 32
	saltSize = 16
	tagSize  = 8
)

// drawn returns bytes that nobody knows.
func drawn(n int) []byte {
	b := make([]byte, n)
	io.ReadFull(rng.Reader(rng.New()), b)
	return b
}

// keyForm returns a key with its checksum, as it lies outside of the database.
func keyForm(key []byte) []byte {
	sum := sha256.Sum256(key)
	return append(bytes.Clone(key), sum[:8]...)
}

// secret is a shelf's key and what follows from it. It never prints itself.
type secret struct {
	shelf            string
	plain            bool
	of               func(purpose string) []byte
	rows, sums, name []byte
}

func newSecret(shelf string, key []byte, plain bool) *secret {
	of := func(purpose string) []byte {
		b, err := hkdf.Expand(sha256.New, key, "confetti/keep/"+purpose, keySize)
		if err != nil {
			panic("keep: " + err.Error()) // 32 bytes are not too many
		}
		return b
	}
	return &secret{shelf, plain, of, of("rows"), of("sums"), of("tags")}
}

// Format prints no secret, whatever the verb.
func (s *secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "a secret") }

// tag returns what stands for a tag: in the clear it would tell who reads the database
// which rows are cover.
func (s *secret) tag(tag uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, tag)
	if s.plain {
		return b
	}
	return mac(s.name, b)[:tagSize]
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// place returns the bytes of where a row stands; the tag is nil of a row that Update put.
func (s *secret) place(t keep.Table, key, tag []byte) []byte {
	b := append([]byte{byte(t), byte(len(s.shelf))}, s.shelf...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	return append(append(b, byte(len(tag))), tag...)
}

// sum returns the digest of a row's place and content, by which rows are compared and checked.
// It is keyed where values are sealed, or it would tell them.
func (s *secret) sum(place, value []byte) []byte {
	if !s.plain {
		return mac(s.sums, place, value)
	}
	h := sha256.New()
	h.Write(place)
	h.Write(value)
	return h.Sum(nil)
}

// aead returns the cipher of one row.
func (s *secret) aead(salt []byte) cipher.AEAD {
	block, err := aes.NewCipher(mac(s.rows, salt))
	if err != nil {
		panic("keep: " + err.Error()) // the length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("keep: " + err.Error())
	}
	return aead
}

// once is the nonce: each key is a row's own.
var once [12]byte

// close returns a row's columns: its content, which is a copy, and its sum.
func (s *secret) close(t keep.Table, key, tag, value []byte) (v, sum []byte) {
	place := s.place(t, key, tag)
	if s.plain {
		return append([]byte{}, value...), s.sum(place, value)
	}
	v = make([]byte, saltSize, saltSize+len(value)+16)
	copy(v, drawn(saltSize))
	return s.aead(v).Seal(v, once[:], value, place), s.sum(place, value)
}

// open returns the value of a row, or keep.ErrDamaged. It uses the memory of v.
func (s *secret) open(in int16, key, tag, v, sum []byte) (value []byte, err error) {
	t := keep.Table(in)
	if int16(t) != in {
		return nil, s.damaged(t)
	}
	place := s.place(t, key, tag)
	value = v
	if !s.plain {
		if len(v) < saltSize {
			return nil, s.damaged(t)
		}
		if value, err = s.aead(v[:saltSize]).Open(v[saltSize:saltSize], once[:], v[saltSize:], place); err != nil {
			return nil, s.damaged(t)
		}
	}
	if !hmac.Equal(s.sum(place, value), sum) {
		return nil, s.damaged(t)
	}
	return value, nil
}

func (s *secret) damaged(t keep.Table) error {
	return fmt.Errorf("%w: a row in table %d of shelf %s is not what was written", keep.ErrDamaged, t, s.shelf)
}
