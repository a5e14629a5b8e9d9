// Package transfer hands a batch from hop to hop, and to the analyzer: both ends of it. Used by
// internal/service/shufflerd, internal/service/analyzerd and internal/analyzer/shards.
package transfer

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A batch in parts is read alike by a hop and by the analyzer. Whoever sends it is believed
// to be the hop before for the receipts that stand before the manifest and before each part.

// ReadReceipts reads those before a manifest, or else before a part, of a leg, and checks
// that the hops with these keys are said to have signed for it.
func ReadReceipts(w http.ResponseWriter, r *http.Request, leg wire.Leg, keys []relay.VerifyKey, manifest bool) ([]relay.SignedReceipt, error) {
	receipts, err := handover.ReadReceipts(serve.Body(w, r, int64(handover.LongPrefixSize(len(keys)))), manifest)
	if _, ok := errors.AsType[*wire.Problem](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	if err := handover.CheckLast(receipts, keys, leg); err != nil {
		return nil, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	return receipts, nil
}

// longestPrefix is the most bytes of receipts before what else is in a body.
var longestPrefix = int64(handover.LongPrefixSize(255))

// ReadManifest reads the manifest behind receipts that were read.
func ReadManifest(w http.ResponseWriter, r *http.Request) (handover.Manifest, error) {
	text, err := serve.ReadBody(w, r, handover.MaxManifest+longestPrefix)
	if err != nil {
		return handover.Manifest{}, err
	}
	m, err := handover.ParseManifest(text)
	if err != nil {
		return handover.Manifest{}, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	return m, nil
}

// ReadPart reads a part of a manifest, behind receipts that were read.
func ReadPart(w http.ResponseWriter, r *http.Request, m handover.Manifest, n int) ([]byte, error) {
	part, err := serve.ReadBody(w, r, m.PartBytes(n)+longestPrefix)
	if err != nil {
		return nil, err
	}
	if int64(len(part)) != m.PartBytes(n) || sha256.Sum256(part) != m.Parts[n].SHA256 {
		return nil, wire.Problemf(wire.BatchRefused, "part %d is not the one that the manifest names", n+1)
	}
	return part, nil
}

// WriteMissing answers a manifest of which parts are not here.
func WriteMissing(w http.ResponseWriter, parts []int) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	return serve.WriteJSON(w, handover.Missing{Parts: parts})
}

// Shorter refuses a body without room for the receipts of so many hops.
func Shorter(hops int) error {
	return wire.Problemf(wire.BatchRefused, "the body is shorter than the receipts of %d hops", hops)
}

// Whole reads the receipts before a batch: whoever cannot show one that the last hop
// signed for the path sends no batch, however large.
func Whole(w http.ResponseWriter, r *http.Request, leg wire.Leg, keys []relay.VerifyKey) ([]relay.SignedReceipt, error) {
	prefix := make([]byte, handover.PrefixSize(len(keys)))
	switch _, err := io.ReadFull(serve.Body(w, r, int64(len(prefix))), prefix); {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, err
	case err != nil:
		return nil, Shorter(len(keys))
	}
	receipts, _, err := handover.CutReceipts(prefix)
	if err == nil {
		err = handover.CheckLast(receipts, keys, leg)
	}
	if err != nil {
		return nil, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	return receipts, nil
}

// NoStore returns what is answered where parts have no place, until a setting gives them one.
func NoStore(setting string) error {
	p := wire.Problemf(wire.UnsupportedMediaType, "a batch in parts needs a store of parts, and this service has none: its operator sets %s", setting)
	p.Accept = wire.BatchType
	return p
}
