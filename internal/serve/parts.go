package serve

import (
	"crypto/sha256"
	"errors"
	"net/http"

	"github.com/confetti-dp/confetti/internal/wire"
)

// A batch in parts is read alike by a hop and by the analyzer. Whoever sends it is believed
// to be the hop before for the receipts that stand before the manifest and before each part.

// ReadReceipts reads those before a manifest, or else before a part, of a leg, and checks
// that the hops with these keys are said to have signed for it.
func ReadReceipts(w http.ResponseWriter, r *http.Request, leg wire.Leg, keys []wire.VerifyKey, manifest bool) ([]wire.SignedReceipt, error) {
	receipts, err := wire.ReadReceipts(Body(w, r, int64(wire.LongPrefixSize(len(keys)))), manifest)
	if _, ok := errors.AsType[*wire.Problem](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	if err := wire.CheckLast(receipts, keys, leg); err != nil {
		return nil, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	return receipts, nil
}

// longestPrefix is the most bytes of receipts before what else is in a body.
var longestPrefix = int64(wire.LongPrefixSize(255))

// ReadManifest reads the manifest behind receipts that were read.
func ReadManifest(w http.ResponseWriter, r *http.Request) (wire.Manifest, error) {
	text, err := ReadBody(w, r, wire.MaxManifest+longestPrefix)
	if err != nil {
		return wire.Manifest{}, err
	}
	m, err := wire.ParseManifest(text)
	if err != nil {
		return wire.Manifest{}, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	return m, nil
}

// ReadPart reads a part of a manifest, behind receipts that were read.
func ReadPart(w http.ResponseWriter, r *http.Request, m wire.Manifest, n int) ([]byte, error) {
	part, err := ReadBody(w, r, m.PartBytes(n)+longestPrefix)
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
	return WriteJSON(w, wire.Missing{Parts: parts})
}
