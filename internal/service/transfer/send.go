package transfer

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// Sum finds the digest under which a batch is signed, from its box as it is written:
// of a batch that goes as a whole that of its encoding, and otherwise that of the manifest
// of its parts, of which the box has the envelopes alone.
type Sum struct {
	io.Writer
	whole hash.Hash
	parts *handover.Cutter // nil: as a whole
}

// NewSum is for parts of so many envelopes of so many bytes; 0: as a whole.
func NewSum(part uint64, size int) Sum {
	if part == 0 {
		whole := sha256.New()
		return Sum{Writer: whole, whole: whole}
	}
	parts := handover.NewCutter(part, size)
	return Sum{Writer: parts, parts: parts}
}

// Digest returns that of all that was written, and the manifest if there is one.
func (b Sum) Digest(head envelope.Head) ([32]byte, handover.Manifest) {
	if b.parts == nil {
		return [32]byte(b.whole.Sum(nil)), handover.Manifest{}
	}
	m := b.parts.Manifest(head)
	return m.Digest(), m
}

// PartOf returns how many envelopes are in each part of a batch that leaves; 0: it goes as a whole.
func PartOf(out envelope.Head, partBytes int) uint64 {
	if !handover.Parted(out, partBytes) {
		return 0
	}
	total := int64(out.Envelopes) * int64(out.Size)
	part := min(max(1, blob.PartBytes(total, partBytes)/out.Size), handover.MaxPartBytes/out.Size)
	return uint64(max(part, int((out.Envelopes+handover.MaxParts-1)/handover.MaxParts)))
}

// Write writes a batch as what Sum sums: in parts its envelopes alone.
func Write(w io.Writer, b envelope.Batch, part uint64) error {
	if part == 0 {
		_, err := b.WriteTo(w)
		return err
	}
	for _, e := range b.Envelopes {
		if _, err := w.Write(e); err != nil {
			return err
		}
	}
	return nil
}

// Sender is how a batch is handed over in parts.
type Sender struct {
	Read   func(n int) ([]byte, error) // a part
	Put    func(path, mediaType string, body io.Reader, length int64) (missing []byte, err error)
	Broken func(what string, cause error) error // of a receiver that answers what none does
	Sent   func() error                         // after each part that was acknowledged
}

// Send hands a batch over in parts: those that the receiver has not. It has the batch when
// it lacks none.
func Send(leg wire.Leg, receipts []relay.SignedReceipt, m handover.Manifest, s Sender) error {
	first := append(handover.MarshalReceipts(receipts, true), m.Bytes()...)
	prefix := handover.MarshalReceipts(receipts, false)
	sent := map[int]bool{}
	for {
		text, err := s.Put(wire.BatchPath(leg.Plan, leg.Instance, leg.Hop, leg.Crowd), wire.PartedType, bytes.NewReader(first), int64(len(first)))
		if err != nil || text == nil {
			return err
		}
		missing, err := handover.ParseMissing(text, len(m.Parts))
		if err != nil {
			return s.Broken("answers what is no list of parts", err)
		}
		for _, n := range missing.Parts {
			if sent[n] { // it will do so again and again
				return s.Broken("asks again for a part that it has acknowledged", nil)
			}
			part, err := s.Read(n)
			if err != nil {
				return err
			}
			if _, err := s.Put(wire.PartPath(leg, n), wire.PartType, io.MultiReader(bytes.NewReader(prefix), bytes.NewReader(part)), int64(len(prefix)+len(part))); err != nil {
				return err
			}
			sent[n] = true
			if err := s.Sent(); err != nil {
				return err
			}
		}
	}
}
