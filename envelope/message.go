package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
)

// A batch has one binary form, docs/wire.md, and contributions of plans before version 4 begin alike:
//
//	offset  length  field
//	0       1       format version, 1
//	1       1       kind: 1 contribution, 2 batch
//	2       32      plan hash
//	34      2       instance
//	36      4       crowd
//	40      4       number of envelopes, at least 1
//	44      4       length of each envelope, bytes
//	48      1       batch only: hop
//	49      4       batch only: respondents
//
// then the envelopes, one after the other, and nothing more. Integers are
// unsigned, most significant byte first.
const (
	formatVersion    = 1
	kindContribution = 1
	kindBatch        = 2
	commonHeader     = sizes.Head
)

// Batch is what a hop hands on: the envelopes of a whole crowd, permuted. Hop is
// the number of the hop that opens them next; the analyzer has the number after
// the last hop.
type Batch struct {
	Plan        [32]byte
	Instance    uint16
	Crowd       uint32
	Hop         uint8
	Respondents uint64   // distinct respondents whose whole contribution was accepted at the entry
	Envelopes   [][]byte // all of one length
}

// Marshal encodes the batch. Envelopes of different lengths are an error.
func (b Batch) Marshal() ([]byte, error) { return marshal(kindBatch, b) }

// WriteTo writes what Marshal encodes, without holding it twice.
func (b Batch) WriteTo(w io.Writer) (written int64, err error) {
	h := b.Head()
	if err := h.validate(len(b.Envelopes)); err != nil {
		return 0, err
	}
	write := func(p []byte) {
		if err == nil {
			var n int
			n, err = w.Write(p)
			written += int64(n)
		}
	}
	write(h.append(nil, kindBatch))
	for i, e := range b.Envelopes {
		if len(e) != h.Size {
			return written, unequal(i, len(e), h.Size)
		}
		write(e)
	}
	return written, err
}

// Head returns what stands before the batch's envelopes.
func (b Batch) Head() Head {
	h := Head{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd, Hop: b.Hop, Respondents: b.Respondents, Envelopes: uint64(len(b.Envelopes))}
	if len(b.Envelopes) > 0 {
		h.Size = len(b.Envelopes[0])
	}
	return h
}

// Head is what stands before the envelopes of a batch: whoever streams a batch, or
// shares one among several workers, has it first.
type Head struct {
	Plan        [32]byte
	Instance    uint16
	Crowd       uint32
	Hop         uint8
	Respondents uint64
	Envelopes   uint64 // how many follow, at least 1
	Size        int    // of each, bytes
}

// HeadSize is the length in bytes of a head's encoding.
const HeadSize = commonHeader + 5

// Bytes returns the length of the encoding of the whole batch, bytes.
func (h Head) Bytes() int64 { return HeadSize + int64(h.Envelopes)*int64(h.Size) }

// Write writes the head of a batch, behind which its envelopes belong.
func (h Head) Write(w io.Writer) error {
	if err := h.validate(int(h.Envelopes)); err != nil {
		return err
	}
	_, err := w.Write(h.append(nil, kindBatch))
	return err
}

// ParseHead decodes the first HeadSize bytes of a batch.
func ParseHead(data []byte) (Head, error) {
	h, err := parseHead(formatVersion, kindBatch, data)
	if err != nil {
		return Head{}, fmt.Errorf("envelope: batch: %w", err)
	}
	return h, nil
}

// ParseBatch decodes exactly what Marshal writes. The envelopes are slices of
// data, not copies.
func ParseBatch(data []byte) (Batch, error) {
	b, err := parse(kindBatch, data)
	if err != nil {
		return Batch{}, fmt.Errorf("envelope: batch: %w", err)
	}
	return b, nil
}

func headerSize(kind byte) int {
	if kind == kindBatch {
		return HeadSize
	}
	return commonHeader
}

func marshal(kind byte, b Batch) ([]byte, error) {
	h := b.Head()
	if err := h.validate(len(b.Envelopes)); err != nil {
		return nil, err
	}
	data := h.append(make([]byte, 0, headerSize(kind)+len(b.Envelopes)*h.Size), kind)
	for i, e := range b.Envelopes {
		if len(e) != h.Size {
			return nil, unequal(i, len(e), h.Size)
		}
		data = append(data, e...)
	}
	return data, nil
}

func unequal(i, size, first int) error {
	return fmt.Errorf("envelope: envelope %d has %d bytes and the first %d: all need one length", i, size, first)
}

// validate refuses what has no encoding, of so many envelopes.
func (h Head) validate(envelopes int) error {
	switch {
	case envelopes == 0:
		return errors.New("envelope: a message without envelopes has no encoding")
	case uint64(envelopes) > math.MaxUint32 || h.Respondents > math.MaxUint32:
		return errors.New("envelope: 2^32 or more envelopes or respondents do not go into one message")
	case h.Size < sizes.Min || h.Size > sizes.Max:
		return fmt.Errorf("envelope: an envelope of %d bytes: need %d to %d", h.Size, sizes.Min, sizes.Max)
	}
	return nil
}

func (h Head) append(data []byte, kind byte) []byte {
	data = append(data, formatVersion, kind)
	data = append(data, h.Plan[:]...)
	data = binary.BigEndian.AppendUint16(data, h.Instance)
	data = binary.BigEndian.AppendUint32(data, h.Crowd)
	data = binary.BigEndian.AppendUint32(data, uint32(h.Envelopes))
	data = binary.BigEndian.AppendUint32(data, uint32(h.Size))
	if kind == kindBatch {
		data = append(data, h.Hop)
		data = binary.BigEndian.AppendUint32(data, uint32(h.Respondents))
	}
	return data
}

func parseHead(version, kind byte, data []byte) (Head, error) {
	header := headerSize(kind)
	if len(data) < header {
		return Head{}, fmt.Errorf("truncated: %d bytes where the header alone has %d", len(data), header)
	}
	if data[0] != version {
		return Head{}, fmt.Errorf("format version %d where version %d is expected", data[0], version)
	}
	if data[1] != kind {
		return Head{}, fmt.Errorf("kind %d where kind %d is expected", data[1], kind)
	}
	n, size := binary.BigEndian.Uint32(data[40:]), binary.BigEndian.Uint32(data[44:])
	if n == 0 {
		return Head{}, errors.New("no envelopes")
	}
	if size < sizes.Min || size > sizes.Max {
		return Head{}, fmt.Errorf("envelopes of %d bytes: need %d to %d", size, sizes.Min, sizes.Max)
	}
	h := Head{
		Plan: [32]byte(data[2:34]), Instance: binary.BigEndian.Uint16(data[34:]), Crowd: binary.BigEndian.Uint32(data[36:]),
		Envelopes: uint64(n), Size: int(size),
	}
	if kind == kindBatch {
		h.Hop, h.Respondents = data[48], uint64(binary.BigEndian.Uint32(data[49:]))
	}
	return h, nil
}

// parse allocates only after the stated number and length of the envelopes
// have been found to give exactly the length of the data.
func parse(kind byte, data []byte) (Batch, error) {
	h, err := parseHead(formatVersion, kind, data)
	if err != nil {
		return Batch{}, err
	}
	rest := data[headerSize(kind):]
	want := h.Envelopes * uint64(h.Size) // below 2^32 * 2^18: no overflow
	if got := uint64(len(rest)); got != want {
		what := "oversized"
		if got < want {
			what = "truncated"
		}
		return Batch{}, fmt.Errorf("%s: %d bytes of envelopes where %d of %d bytes each are stated", what, got, h.Envelopes, h.Size)
	}
	b := Batch{Plan: h.Plan, Instance: h.Instance, Crowd: h.Crowd, Hop: h.Hop, Respondents: h.Respondents, Envelopes: make([][]byte, h.Envelopes)}
	for i := range b.Envelopes {
		b.Envelopes[i], rest = rest[:h.Size:h.Size], rest[h.Size:]
	}
	return b, nil
}
