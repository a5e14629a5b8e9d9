package chaos

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Envelopes that were sealed for another plan, and bytes that were never sealed,
// come from respondents like others: no hop can tell before it opens. They are
// dropped, the receipts say how many, and the others count.
func TestEnvelopesThatDoNotOpen(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, minimum: 3, devices: 6, crowds: 1}, "opens")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := w.ring.plan("another", w.shape, address, plan.Times{Opens: opens, Closes: closes})
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(other.Plan)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := client.New(proto, rng.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []int{4, 5} {
		sealed, err := pipeline.Report(histogram.Answers{Values: []any{d}})
		if err != nil {
			t.Fatal(err)
		}
		body, hash := sealed[0].Body, w.signed.Plan.Hash()
		copy(body[2:], hash[:])
		if d == 5 {
			rng.Reader(rng.New()).Read(body[48:])
		}
		header := http.Header{"Content-Type": {wire.ContributionType}, "Authorization": {"Bearer " + w.ring.bearers[d]}}
		w.net.handIn(&parcel{"outside", hopName(0, 0), http.MethodPut, wire.ContributionPath(hash, 0, wire.ContributionID(body)), header, body})
	}
	for d := range 4 {
		w.report(d)
	}
	w.shape.devices = 4 // the ledgers to look at
	w.finish()
	for _, v := range w.violations {
		t.Error(v)
	}
	batches, err := w.nodes["analyzer"].store.Batches(context.Background(), w.signed.Plan.Name())
	if err != nil || len(batches) != 1 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	first, err := relay.ParseReceipt(batches[0].Receipts[:relay.ReceiptSize])
	if err != nil {
		t.Fatal(err)
	}
	if first.In != 12 || first.Dropped != 4 || first.Out != 8 {
		t.Errorf("the entry's receipt: %d in, %d dropped, %d out", first.In, first.Dropped, first.Out)
	}
	if counts := w.counted()[[2]int{0, 0}]; !slices.Equal(counts[:6], []uint64{1, 1, 1, 1, 0, 0}) {
		t.Errorf("counted %v", counts[:6])
	}
}
