package wire

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
)

// Handover is what one hop sends to the next: a batch behind the receipts of all
// hops that it has come through.
//
//	offset  length  field
//	0       1       format version, 1
//	1       1       kind: 3 handover (after a contribution's 1 and a batch's 2)
//	2       1       number of receipts
//	3       n x 224 receipts, the entry's first
//	then            the batch
type Handover struct {
	Receipts []SignedReceipt
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
func MarshalHandover(receipts []SignedReceipt, batch []byte) []byte {
	if len(receipts) > 255 {
		panic("wire: more than 255 receipts")
	}
	b := make([]byte, 0, handoverHeader+len(receipts)*ReceiptSize+len(batch))
	b = append(b, handoverVersion, kindHandover, byte(len(receipts)))
	for _, r := range receipts {
		b = append(b, r.Bytes()...)
	}
	return append(b, batch...)
}

// ParseHandover reads what MarshalHandover writes of a valid batch. It checks
// the form, not the signatures: CheckChain does. The envelopes are slices of
// data, not copies.
func ParseHandover(data []byte) (Handover, error) {
	if len(data) < handoverHeader {
		return Handover{}, errors.New("wire: handover: truncated")
	}
	if data[0] != handoverVersion {
		return Handover{}, fmt.Errorf("wire: handover: format version %d: this build reads version %d", data[0], handoverVersion)
	}
	if data[1] != kindHandover {
		return Handover{}, fmt.Errorf("wire: handover: kind %d where kind %d is expected", data[1], kindHandover)
	}
	n, rest := int(data[2]), data[handoverHeader:]
	if len(rest) < n*ReceiptSize {
		return Handover{}, fmt.Errorf("wire: handover: truncated: %d bytes where %d receipts are stated", len(rest), n)
	}
	h := Handover{Receipts: make([]SignedReceipt, n)}
	for i := range h.Receipts {
		var err error
		if h.Receipts[i], err = ParseReceipt(rest[:ReceiptSize]); err != nil {
			return Handover{}, err
		}
		rest = rest[ReceiptSize:]
	}
	batch, err := envelope.ParseBatch(rest)
	if err != nil {
		return Handover{}, err
	}
	if int(batch.Hop) != n {
		return Handover{}, fmt.Errorf("wire: handover: %d receipts with a batch that came through %d hops: need one of each", n, batch.Hop)
	}
	h.Batch, h.Digest = batch, sha256.Sum256(rest)
	return h, nil
}
