// Package handover reads and writes what a service hands to the next: batches behind the receipts of the hops that
// mixed them, manifests and parts of long ones, and what one holds of another's. Used by internal/service and
// internal/analyzer/shards.
package handover

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// Handover is what one hop sends to the next where the batch goes as a whole: behind the
// receipts of all hops that it has come through, none of which has version 2.
//
//	offset  length  field
//	0       1       format version, 1
//	1       1       kind: 3 handover (after a contribution's 1 and a batch's 2)
//	2       1       number of receipts
//	3       n x 224 receipts, the entry's first
//	then            the batch
type Handover struct {
	Receipts []relay.SignedReceipt
	Batch    envelope.Batch
	Digest   [32]byte // SHA-256 of the batch's encoding, as receipts name it
}

const (
	handoverVersion = 1
	kindHandover    = 3
	handoverHeader  = 3
)

// MarshalHandover puts the receipts before the encoding of a batch, which it
// does not look into.
func MarshalHandover(receipts []relay.SignedReceipt, batch []byte) []byte {
	if len(receipts) > 255 {
		panic("wire: more than 255 receipts")
	}
	b := make([]byte, 0, PrefixSize(len(receipts))+len(batch))
	b = append(b, handoverVersion, kindHandover, byte(len(receipts)))
	for _, r := range receipts {
		b = append(b, r.Bytes()...)
	}
	return append(b, batch...)
}

// PrefixSize returns the length in bytes of what stands before a batch that has come
// through so many hops.
func PrefixSize(hops int) int { return handoverHeader + hops*relay.ReceiptSize }

// LongPrefixSize returns the most bytes that stand before the manifest of a batch that has come
// through so many hops, or before a part of it.
func LongPrefixSize(hops int) int { return handoverHeader + hops*relay.LongReceiptSize }

// CutReceipts reads the receipts that a handover begins with, and returns what
// follows them: the batch, or as much of it as there is. It checks the form, not the
// signatures: CheckChain does.
func CutReceipts(data []byte) (receipts []relay.SignedReceipt, batch []byte, err error) {
	if len(data) < handoverHeader {
		return nil, nil, errors.New("wire: handover: truncated")
	}
	if data[0] != handoverVersion {
		return nil, nil, fmt.Errorf("wire: handover: format version %d: this build reads version %d", data[0], handoverVersion)
	}
	if data[1] != kindHandover {
		return nil, nil, fmt.Errorf("wire: handover: kind %d where kind %d is expected", data[1], kindHandover)
	}
	n, rest := int(data[2]), data[handoverHeader:]
	if len(rest) < n*relay.ReceiptSize {
		return nil, nil, fmt.Errorf("wire: handover: truncated: %d bytes where %d receipts are stated", len(rest), n)
	}
	receipts = make([]relay.SignedReceipt, n)
	for i := range receipts {
		if receipts[i], err = relay.ParseReceipt(rest[:relay.ReceiptSize]); err != nil {
			return nil, nil, err
		}
		rest = rest[relay.ReceiptSize:]
	}
	return receipts, rest, nil
}

// MarshalReceipts returns what stands before the manifest of a batch, and otherwise before each
// of its parts.
//
//	offset  length      field
//	0       1           format version, 2
//	1       1           kind: 3 before a manifest, 5 before a part
//	2       1           number of receipts
//	3       224 or 248  of each, the entry's first
func MarshalReceipts(receipts []relay.SignedReceipt, manifest bool) []byte {
	b := []byte{partsVersion, kindOf(manifest), byte(len(receipts))}
	for _, r := range receipts {
		b = append(b, r.Bytes()...)
	}
	return b
}

func kindOf(manifest bool) byte {
	if manifest {
		return kindHandover
	}
	return kindPart
}

// ReadReceipts reads what MarshalReceipts writes, and nothing behind it. It checks the
// form, not the signatures. What keeps it from reading is returned as it is.
func ReadReceipts(r io.Reader, manifest bool) ([]relay.SignedReceipt, error) {
	read := func(b []byte) error {
		_, err := io.ReadFull(r, b)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = errors.New("wire: handover: truncated")
		}
		return err
	}
	var head [handoverHeader]byte
	if err := read(head[:]); err != nil {
		return nil, err
	}
	if head[0] != partsVersion || head[1] != kindOf(manifest) {
		return nil, fmt.Errorf("wire: handover: version %d and kind %d where version %d and kind %d are expected", head[0], head[1], partsVersion, kindOf(manifest))
	}
	var receipts []relay.SignedReceipt
	for range head[2] {
		var b [relay.LongReceiptSize]byte
		if err := read(b[:1]); err != nil {
			return nil, err
		}
		size, err := relay.SizeOf(b[0])
		if err == nil {
			err = read(b[1:size])
		}
		if err != nil {
			return nil, err
		}
		one, err := relay.ParseReceipt(b[:size])
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, one)
	}
	return receipts, nil
}

// NewHandover returns a handover of receipts and the encoding of a batch that has come
// through as many hops. The envelopes are slices of the encoding, not copies.
func NewHandover(receipts []relay.SignedReceipt, batch []byte) (Handover, error) {
	b, err := envelope.ParseBatch(batch)
	if err != nil {
		return Handover{}, err
	}
	if int(b.Hop) != len(receipts) {
		return Handover{}, fmt.Errorf("wire: handover: %d receipts with a batch that came through %d hops: need one of each", len(receipts), b.Hop)
	}
	return Handover{Receipts: receipts, Batch: b, Digest: sha256.Sum256(batch)}, nil
}

// ParseHandover reads what MarshalHandover writes of a valid batch.
func ParseHandover(data []byte) (Handover, error) {
	receipts, batch, err := CutReceipts(data)
	if err != nil {
		return Handover{}, err
	}
	return NewHandover(receipts, batch)
}
