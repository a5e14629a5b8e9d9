package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The two messages that carry envelopes share one binary form, docs/wire.md:
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
	commonHeader     = 48
	minSize          = 32 + tagSize // of an envelope: X25519 round an empty payload
)

// Contribution is what one device hands in: all its envelopes for one instance,
// accepted whole or not at all.
type Contribution struct {
	Plan      [32]byte
	Instance  uint16
	Crowd     uint32
	Envelopes [][]byte // all of one length
}

// Batch is what a hop hands on: the envelopes of a whole crowd, permuted. Hop is
// the number of the hop that opens them next; the analyzer has the number after
// the last hop.
type Batch struct {
	Plan        [32]byte
	Instance    uint16
	Crowd       uint32
	Hop         uint8
	Respondents uint32   // distinct respondents whose whole contribution was accepted at the entry
	Envelopes   [][]byte // all of one length
}

// Marshal encodes the contribution. Envelopes of different lengths are an error.
func (c Contribution) Marshal() ([]byte, error) {
	return marshal(kindContribution, Batch{Plan: c.Plan, Instance: c.Instance, Crowd: c.Crowd, Envelopes: c.Envelopes})
}

// ContributionSize is the length in bytes of the encoding of a contribution of
// so many envelopes of so many bytes each.
func ContributionSize(envelopes, size int) int { return commonHeader + envelopes*size }

// Marshal encodes the batch. Envelopes of different lengths are an error.
func (b Batch) Marshal() ([]byte, error) { return marshal(kindBatch, b) }

// ParseContribution decodes exactly what Marshal writes. The envelopes are
// slices of data, not copies.
func ParseContribution(data []byte) (Contribution, error) {
	b, err := parse(kindContribution, data)
	if err != nil {
		return Contribution{}, fmt.Errorf("envelope: contribution: %w", err)
	}
	return Contribution{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd, Envelopes: b.Envelopes}, nil
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
		return commonHeader + 5
	}
	return commonHeader
}

func marshal(kind byte, b Batch) ([]byte, error) {
	if len(b.Envelopes) == 0 {
		return nil, errors.New("envelope: a message without envelopes has no encoding")
	}
	if uint64(len(b.Envelopes)) > math.MaxUint32 {
		return nil, errors.New("envelope: 2^32 or more envelopes do not go into one message")
	}
	size := len(b.Envelopes[0])
	if size < minSize || size > MaxSize {
		return nil, fmt.Errorf("envelope: an envelope of %d bytes: need %d to %d", size, minSize, MaxSize)
	}
	data := make([]byte, 0, headerSize(kind)+len(b.Envelopes)*size)
	data = append(data, formatVersion, kind)
	data = append(data, b.Plan[:]...)
	data = binary.BigEndian.AppendUint16(data, b.Instance)
	data = binary.BigEndian.AppendUint32(data, b.Crowd)
	data = binary.BigEndian.AppendUint32(data, uint32(len(b.Envelopes)))
	data = binary.BigEndian.AppendUint32(data, uint32(size))
	if kind == kindBatch {
		data = append(data, b.Hop)
		data = binary.BigEndian.AppendUint32(data, b.Respondents)
	}
	for i, e := range b.Envelopes {
		if len(e) != size {
			return nil, fmt.Errorf("envelope: envelope %d has %d bytes and the first %d: all need one length", i, len(e), size)
		}
		data = append(data, e...)
	}
	return data, nil
}

// parse allocates only after the stated number and length of the envelopes
// have been found to give exactly the length of the data.
func parse(kind byte, data []byte) (Batch, error) {
	header := headerSize(kind)
	if len(data) < header {
		return Batch{}, fmt.Errorf("truncated: %d bytes where the header alone has %d", len(data), header)
	}
	if data[0] != formatVersion {
		return Batch{}, fmt.Errorf("format version %d: this build reads version %d", data[0], formatVersion)
	}
	if data[1] != kind {
		return Batch{}, fmt.Errorf("kind %d where kind %d is expected", data[1], kind)
	}
	n, size := binary.BigEndian.Uint32(data[40:]), binary.BigEndian.Uint32(data[44:])
	if n == 0 {
		return Batch{}, errors.New("no envelopes")
	}
	if size < minSize || size > MaxSize {
		return Batch{}, fmt.Errorf("envelopes of %d bytes: need %d to %d", size, minSize, MaxSize)
	}
	rest := data[header:]
	want := uint64(n) * uint64(size) // below 2^32 * 2^18: no overflow
	if got := uint64(len(rest)); got != want {
		what := "oversized"
		if got < want {
			what = "truncated"
		}
		return Batch{}, fmt.Errorf("%s: %d bytes of envelopes where %d of %d bytes each are stated", what, got, n, size)
	}
	b := Batch{
		Plan:      [32]byte(data[2:34]),
		Instance:  binary.BigEndian.Uint16(data[34:]),
		Crowd:     binary.BigEndian.Uint32(data[36:]),
		Envelopes: make([][]byte, n),
	}
	if kind == kindBatch {
		b.Hop, b.Respondents = data[48], binary.BigEndian.Uint32(data[49:])
	}
	for i := range b.Envelopes {
		b.Envelopes[i], rest = rest[:size:size], rest[size:]
	}
	return b, nil
}
