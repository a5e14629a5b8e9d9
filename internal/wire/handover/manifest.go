package handover

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A batch that is larger than memory is handed over in parts: first a manifest that says
// what they are, behind the receipts that bear it out, and then each part by itself, behind
// the same receipts. What was interrupted goes on with the parts that are not there yet.

// Manifest says what the parts of a batch are. Its SHA-256 is the batch's digest in
// receipts.
//
//	offset  length  field
//	0       1       format version, 2
//	1       1       kind: 4 manifest
//	2       32      plan hash
//	34      2       instance
//	36      4       crowd
//	40      1       the hop that opens the envelopes next
//	41      8       respondents
//	49      8       envelopes of all parts
//	57      4       length of each envelope, bytes
//	61      4       number of parts, 1 to MaxParts
//	65      n x 40  of each part: number of envelopes (8), SHA-256 of them, one after the other
//
// All parts but the last have as many envelopes as the first, and the last has at most so
// many. A part has no place of its own: its number is its place, so that no two overlap.
type Manifest struct {
	Head  envelope.Head
	Parts []Part
}

// Part is one of a batch's.
type Part struct {
	Envelopes uint64
	SHA256    [32]byte
}

const (
	// MaxParts of a batch, and MaxPartBytes of envelopes in each: 16 TiB together.
	MaxParts     = 1 << 16
	MaxPartBytes = 1 << 28

	// MaxManifest is the longest manifest, bytes.
	MaxManifest = manifestHead + MaxParts*manifestPart

	partsVersion = 2
	kindManifest = 4
	kindPart     = 5
	manifestHead = 65
	manifestPart = 40
)

// PartBytes returns how many bytes a part has.
func (m Manifest) PartBytes(n int) int64 { return int64(m.Parts[n].Envelopes) * int64(m.Head.Size) }

// Bytes returns the encoding.
func (m Manifest) Bytes() []byte {
	h := m.Head
	b := make([]byte, 0, manifestHead+len(m.Parts)*manifestPart)
	b = append(b, partsVersion, kindManifest)
	b = append(b, h.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, h.Instance)
	b = binary.BigEndian.AppendUint32(b, h.Crowd)
	b = append(b, h.Hop)
	b = binary.BigEndian.AppendUint64(b, h.Respondents)
	b = binary.BigEndian.AppendUint64(b, h.Envelopes)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Size))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Parts)))
	for _, p := range m.Parts {
		b = append(binary.BigEndian.AppendUint64(b, p.Envelopes), p.SHA256[:]...)
	}
	return b
}

// Digest names the batch in receipts.
func (m Manifest) Digest() [32]byte { return sha256.Sum256(m.Bytes()) }

// ParseManifest reads what Bytes writes of the parts of a batch, and refuses what no
// batch has. It allocates no more than the text has.
func ParseManifest(b []byte) (Manifest, error) {
	no := func(format string, a ...any) (Manifest, error) {
		return Manifest{}, fmt.Errorf("wire: manifest: "+format, a...)
	}
	if len(b) < manifestHead {
		return no("truncated: %d bytes where what stands before the parts has %d", len(b), manifestHead)
	}
	if b[0] != partsVersion || b[1] != kindManifest {
		return no("version %d and kind %d: this build reads version %d and kind %d", b[0], b[1], partsVersion, kindManifest)
	}
	h := envelope.Head{
		Plan: [32]byte(b[2:]), Instance: binary.BigEndian.Uint16(b[34:]), Crowd: binary.BigEndian.Uint32(b[36:]), Hop: b[40],
		Respondents: binary.BigEndian.Uint64(b[41:]), Envelopes: binary.BigEndian.Uint64(b[49:]),
	}
	size, n := binary.BigEndian.Uint32(b[57:]), binary.BigEndian.Uint32(b[61:])
	switch {
	case size < sizes.Min || size > sizes.Max:
		return no("envelopes of %d bytes: need %d to %d", size, sizes.Min, sizes.Max)
	case n < 1 || n > MaxParts:
		return no("%d parts: need 1 to %d", n, MaxParts)
	case len(b) != manifestHead+int(n)*manifestPart:
		return no("%d bytes, and %d parts make %d", len(b), n, manifestHead+int(n)*manifestPart)
	case max(h.Respondents, h.Envelopes) > relay.MostCounted:
		return no("no batch has more than 2^56 of anything")
	}
	h.Size = int(size)
	m := Manifest{Head: h, Parts: make([]Part, n)}
	seen, sum := make(map[[32]byte]bool, n), uint64(0)
	for i := range m.Parts {
		at := b[manifestHead+i*manifestPart:]
		p := Part{binary.BigEndian.Uint64(at), [32]byte(at[8:])}
		last := i == len(m.Parts)-1
		switch {
		case p.Envelopes < 1 || p.Envelopes > MaxPartBytes/uint64(size):
			return no("part %d has %d envelopes of %d bytes: need 1 to %d", i+1, p.Envelopes, size, MaxPartBytes/size)
		case i > 0 && (!last && p.Envelopes != m.Parts[0].Envelopes || last && p.Envelopes > m.Parts[0].Envelopes):
			return no("part %d has %d envelopes and the first %d: all but the last have as many", i+1, p.Envelopes, m.Parts[0].Envelopes)
		case seen[p.SHA256]:
			return no("part %d is there twice", i+1)
		}
		seen[p.SHA256] = true
		sum += p.Envelopes // at most 2^16 times 2^23
		m.Parts[i] = p
	}
	if sum != h.Envelopes {
		return no("%d envelopes are stated, and the parts have %d", h.Envelopes, sum)
	}
	return m, nil
}

// Cutter finds the parts of a batch whose envelopes are written to it, one after the other.
type Cutter struct {
	size  int64 // of a part, bytes
	each  int   // of an envelope
	n     int64 // bytes of the part at hand
	part  hash.Hash
	parts []Part
}

// NewCutter cuts after each so many envelopes of so many bytes.
func NewCutter(envelopes uint64, size int) *Cutter {
	return &Cutter{size: int64(envelopes) * int64(size), each: size, part: sha256.New()}
}

func (c *Cutter) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(int64(len(p)), c.size-c.n)
		c.part.Write(p[:n])
		c.n, p = c.n+n, p[n:]
		if c.n == c.size {
			c.end()
		}
	}
	return written, nil
}

func (c *Cutter) end() {
	c.parts = append(c.parts, Part{uint64(c.n) / uint64(c.each), [32]byte(c.part.Sum(nil))})
	c.part.Reset()
	c.n = 0
}

// Manifest returns that of all that was written, as a batch with that head. Nothing may be
// written behind.
func (c *Cutter) Manifest(h envelope.Head) Manifest {
	if c.n > 0 {
		c.end()
	}
	return Manifest{h, c.parts}
}

// Parted reports whether a batch of so many bytes, with those receipts behind it, goes in
// parts of so many: if it is longer than one, or no receipt of version 1 can count it.
func Parted(h envelope.Head, part int) bool {
	return h.Envelopes*uint64(h.Size) > uint64(part) || max(h.Envelopes, h.Respondents) > math.MaxUint32
}

// Missing is what a service answers to a manifest of which it has not all parts.
type Missing struct {
	Parts []int `json:"missing"` // counted from 0: the first ones, at most MaxMissing
}

// MaxMissing parts are named at once; MaxMissingBytes is the longest JSON of a Missing.
const (
	MaxMissing      = 256
	MaxMissingBytes = 4 << 10
)

// ParseMissing reads the JSON of a Missing of a batch in so many parts.
func ParseMissing(text []byte, parts int) (Missing, error) {
	var m Missing
	d := json.NewDecoder(bytes.NewReader(text))
	if len(text) > MaxMissingBytes || d.Decode(&m) != nil || len(m.Parts) < 1 || len(m.Parts) > MaxMissing {
		return Missing{}, errors.New("wire: not JSON of the parts that are missing")
	}
	for i, n := range m.Parts {
		if n < 0 || n >= parts || i > 0 && n <= m.Parts[i-1] {
			return Missing{}, errors.New("wire: parts that are missing of a batch that has no such ones")
		}
	}
	return m, nil
}
