package journal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// The body of a group in its chain is
//
//	salt (16) || number of rows in all groups before (8) || rows || zeros, on the shelf main
//	row:   length of what is sealed (4) || sealed row
//	plain: table (1) || kind (1) || length of the key (2) || tag (4) || key || value
//
// A group has a key of its own, the HMAC-SHA-256 of its salt. A row is sealed under it by
// AES-256-GCM with its place in the group as nonce: no nonce comes twice under a key, and a
// row is read without the others.
const (
	saltSize  = 16
	groupHead = saltSize + 8
	plainHead = 1 + 1 + 2 + 4
	tagSize   = 16
	rowHead   = 4 + plainHead + tagSize // bytes of a row beside its key and its value

	// mostGroup is the most bytes of a group that several calls share.
	mostGroup = 1 << 20

	// block is what groups of main are multiples of, so that no write touches another group.
	block = 4096

	// ahead is how many zeros are written behind a group that makes its file longer.
	ahead = 256 << 10

	// mostBody is the most bytes of a group: a full one, and one call behind it.
	mostBody = mostGroup + keep.MaxCall + groupHead + block
)

// kind says what a row does.
type kind byte

// These numbers are on disk.
const (
	put      kind = 0 // by Update
	inserted kind = 1 // by Insert
	deleted  kind = 2
)

// own is the table of the engine's own rows.
const own keep.Table = 0

// op is one change of a row.
type op struct {
	t     keep.Table
	kind  kind
	tag   uint32
	key   string
	value []byte
}

func (o op) size() int { return len(o.key) + len(o.value) + keep.RowMore }

// place says where a row lies in its file.
type place struct {
	at       int64
	n        uint32 // bytes
	back     uint32 // to the beginning of the group's body
	i        uint32 // among the group's rows
	inserted bool   // by Insert
	tag      uint32
}

// secret is what a shelf's key gives: the keys of its groups, and secrets for purposes. It
// never prints itself.
type secret struct{ key func() []byte }

func (s secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, "a secret") }

// derive returns 32 bytes for a purpose.
func (s secret) derive(purpose string) []byte {
	b, err := hkdf.Expand(sha256.New, s.key(), "confetti shelf "+purpose, 32)
	if err != nil {
		panic("journal: " + err.Error()) // 32 bytes are not too many
	}
	return b
}

// sealer makes the keys of groups.
type sealer struct{ key []byte }

func (s sealer) group(salt []byte) cipher.AEAD {
	m := hmac.New(sha256.New, s.key)
	m.Write(salt)
	b, err := aes.NewCipher(m.Sum(nil))
	if err != nil {
		panic("journal: " + err.Error()) // the length is right
	}
	a, err := cipher.NewGCM(b)
	if err != nil {
		panic("journal: " + err.Error())
	}
	return a
}

func (s sealer) Format(f fmt.State, _ rune) { fmt.Fprint(f, "a secret") }

func nonceOf(i uint32) (n [12]byte) {
	binary.BigEndian.PutUint32(n[8:], i)
	return n
}

// writer builds a group as the chain appends it: its body stands behind hashchain.Frame bytes of room.
type writer struct {
	sealer sealer
	group  []byte
	places []place
	aead   cipher.AEAD
}

// begin starts a group behind so many rows. The salt is drawn from the kernel anew: a copy
// of this process that goes on elsewhere draws another one.
func (w *writer) begin(before uint64) {
	w.group = append(w.group[:0], make([]byte, hashchain.Frame+saltSize)...)
	salt := w.body()
	rng.Reader(rng.New()).Read(salt)
	w.aead = w.sealer.group(salt)
	w.group = binary.BigEndian.AppendUint64(w.group, before)
	w.places = w.places[:0]
}

func (w *writer) body() []byte { return w.group[hashchain.Frame:] }

// add seals a row where it is written. Its place counts from the beginning of the body.
func (w *writer) add(o op) {
	from, i := len(w.group), uint32(len(w.places))
	w.group = slices.Grow(w.group, rowHead+len(o.key)+len(o.value))
	w.group = binary.BigEndian.AppendUint32(w.group, uint32(plainHead+len(o.key)+len(o.value)+tagSize))
	plain := len(w.group)
	w.group = append(w.group, byte(o.t), byte(o.kind))
	w.group = binary.BigEndian.AppendUint16(w.group, uint16(len(o.key)))
	w.group = binary.BigEndian.AppendUint32(w.group, o.tag)
	w.group = append(append(w.group, o.key...), o.value...)
	nonce := nonceOf(i)
	w.group = w.aead.Seal(w.group[:plain], nonce[:], w.group[plain:], nil)
	at := from - hashchain.Frame
	w.places = append(w.places, place{int64(at), uint32(len(w.group) - from), uint32(at), i, o.kind == inserted, o.tag})
}

// pad fills the body with zeros until the group ends at a multiple of a block.
func (w *writer) pad() {
	if more := len(w.group) % block; more > 0 {
		w.group = append(w.group, make([]byte, block-more)...)
	}
}

// trim lets go of what a large group took.
func (w *writer) trim() {
	if cap(w.group) > 4*mostGroup {
		w.group = nil
	}
}

// openRow opens the row that b begins with, in its place, and returns how long it is. What it
// returns lies in b's memory.
func openRow(b []byte, aead cipher.AEAD, i uint32) (o op, n int, err error) {
	if len(b) < rowHead {
		return o, 0, fmt.Errorf("%w: a row is cut off", keep.ErrDamaged)
	}
	l := uint64(binary.BigEndian.Uint32(b))
	if l < plainHead+tagSize || l > uint64(len(b)-4) {
		return o, 0, fmt.Errorf("%w: a row is cut off", keep.ErrDamaged)
	}
	n = 4 + int(l)
	nonce := nonceOf(i)
	p, err := aead.Open(b[4:4], nonce[:], b[4:n], nil)
	if err != nil {
		return o, 0, fmt.Errorf("%w: a row is not what was written", keep.ErrDamaged)
	}
	k := plainHead + int(binary.BigEndian.Uint16(p[2:]))
	if p[0] > 15 || p[1] > byte(deleted) || k > len(p) || k == plainHead {
		return o, 0, fmt.Errorf("%w: a row has no form of ours", keep.ErrDamaged)
	}
	o = op{t: keep.Table(p[0]), kind: kind(p[1]), tag: binary.BigEndian.Uint32(p[4:]), key: string(p[plainHead:k]), value: p[k:]}
	if o.kind == deleted && len(o.value) > 0 || o.kind != inserted && o.tag != 0 {
		return o, 0, fmt.Errorf("%w: a row has no form of ours", keep.ErrDamaged)
	}
	return o, n, nil
}

// rows calls fn for the rows of a group whose body begins at a byte of its file, and opens them in
// their places. A value is valid as long as the body.
func (s sealer) rows(at int64, body []byte, fn func(op, place) error) (before, n uint64, err error) {
	if len(body) < groupHead {
		return 0, 0, fmt.Errorf("%w: a group of %d bytes", keep.ErrDamaged, len(body))
	}
	aead := s.group(body[:saltSize])
	before = binary.BigEndian.Uint64(body[saltSize:])
	back := groupHead
	for back < len(body) && !padding(body[back:]) {
		o, length, err := openRow(body[back:], aead, uint32(n))
		if err != nil {
			return 0, 0, fmt.Errorf("%w (byte %d)", err, at+int64(back))
		}
		if err := fn(o, place{at + int64(back), uint32(length), uint32(back), uint32(n), o.kind == inserted, o.tag}); err != nil {
			return 0, 0, err
		}
		back += length
		n++
	}
	return before, n, nil
}

// padding reports whether nothing but the zeros behind a group's rows is left.
func padding(b []byte) bool {
	return len(b) < block && len(bytes.TrimLeft(b, "\x00")) == 0
}
