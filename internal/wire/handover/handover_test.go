package handover

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// signer is a key for tests: its seed is one byte, repeated, and known to everybody.
func signer(b byte) relay.SignKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
	return relay.NewSignKey(key)
}

// cascade is a batch for the hop of the given number with the receipts of the
// hops before it, and their keys: the last hop has none.
func cascade(t testing.TB, hops int) (Handover, []byte, []relay.VerifyKey) {
	t.Helper()
	b := envelope.Batch{Plan: [32]byte(counting(0xa0, 32)), Instance: 258, Crowd: 7, Hop: uint8(hops), Respondents: 3}
	var receipts []relay.SignedReceipt
	var keys []relay.VerifyKey
	var data []byte
	in := 12
	for h := range hops {
		b.Envelopes = nil
		for i := range in - 1 { // one is dropped at each hop
			b.Envelopes = append(b.Envelopes, counting(byte(h+i), 48))
		}
		out := b
		out.Hop = uint8(h + 1)
		var err error
		if data, err = out.Marshal(); err != nil {
			t.Fatal(err)
		}
		r := relay.Receipt{
			Plan: b.Plan, Instance: b.Instance, Hop: uint8(h), Crowd: b.Crowd, Respondents: b.Respondents, Tokens: 3,
			In: uint64(in), Out: uint64(in - 1), Dropped: uint64(1 - h%2), Duplicates: uint64(h % 2), BatchOut: wire.ContributionID(data),
		}
		if h > 0 {
			r.BatchIn, r.Previous = receipts[h-1].BatchOut, receipts[h-1].Hash()
		}
		key := signer(byte(h + 1))
		if h == hops-1 {
			key = relay.SignKey{}
		}
		receipts, keys = append(receipts, r.Sign(key)), append(keys, key.Public())
		in--
	}
	h, err := ParseHandover(MarshalHandover(receipts, data))
	if err != nil {
		t.Fatal(err)
	}
	return h, data, keys
}

func TestChainBearsTheBatchOut(t *testing.T) {
	for hops := 1; hops <= 4; hops++ {
		h, data, keys := cascade(t, hops)
		if err := CheckChain(h.Receipts, keys, h.Batch.Head(), h.Digest); err != nil {
			t.Errorf("%d hops: %v", hops, err)
		}
		if !bytes.Equal(MarshalHandover(h.Receipts, data)[3+hops*relay.ReceiptSize:], data) {
			t.Error("the batch is not behind the receipts")
		}
	}
}

// Every way to lie in a receipt that later hops and the analyzer can see.
func TestChainCatches(t *testing.T) {
	const hops = 3
	for name, change := range map[string]func(h *Handover, keys []relay.VerifyKey){
		"no receipts":        func(h *Handover, _ []relay.VerifyKey) { h.Receipts = nil },
		"one is missing":     func(h *Handover, _ []relay.VerifyKey) { h.Receipts = h.Receipts[1:] },
		"one is there twice": func(h *Handover, _ []relay.VerifyKey) { h.Receipts[1] = h.Receipts[0] },
		"two changed places": func(h *Handover, _ []relay.VerifyKey) { h.Receipts[0], h.Receipts[1] = h.Receipts[1], h.Receipts[0] },
		"more than the keys": func(h *Handover, keys []relay.VerifyKey) {
			h.Batch.Hop++
			h.Receipts = append(h.Receipts, h.Receipts[2])
		},
		"a changed number":     func(h *Handover, _ []relay.VerifyKey) { h.Receipts[0].Tokens++ },
		"a changed signature":  func(h *Handover, _ []relay.VerifyKey) { h.Receipts[1].Signature[5] ^= 1 },
		"no signature":         func(h *Handover, _ []relay.VerifyKey) { h.Receipts[1].Signature = [64]byte{} },
		"signed with no key":   func(h *Handover, _ []relay.VerifyKey) { h.Receipts[2] = h.Receipts[2].Receipt.Sign(signer(9)) },
		"signed with another":  func(h *Handover, keys []relay.VerifyKey) { keys[0] = signer(9).Public() },
		"other envelopes":      func(h *Handover, _ []relay.VerifyKey) { h.Digest[0] ^= 1 },
		"an envelope less":     func(h *Handover, _ []relay.VerifyKey) { h.Batch.Envelopes = h.Batch.Envelopes[1:] },
		"more respondents":     func(h *Handover, _ []relay.VerifyKey) { h.Batch.Respondents++ },
		"another plan":         func(h *Handover, _ []relay.VerifyKey) { h.Batch.Plan[0] ^= 1 },
		"another instance":     func(h *Handover, _ []relay.VerifyKey) { h.Batch.Instance++ },
		"another crowd":        func(h *Handover, _ []relay.VerifyKey) { h.Batch.Crowd++ },
		"a hop tells two":      relabel(1, func(r *relay.Receipt) { r.BatchOut[0] ^= 1 }),
		"a hop counts wrongly": relabel(1, func(r *relay.Receipt) { r.In++; r.Dropped++ }),
		"a hop says otherwise": relabel(1, func(r *relay.Receipt) { r.Respondents-- }),
		"a hop skips one":      relabel(1, func(r *relay.Receipt) { r.Previous = [32]byte{} }),
	} {
		h, _, keys := cascade(t, hops)
		change(&h, keys)
		if err := CheckChain(h.Receipts, keys, h.Batch.Head(), h.Digest); err == nil {
			t.Errorf("%s: not caught", name)
		}
	}
}

// relabel lets a hop sign something else; the later ones follow it honestly.
func relabel(at int, change func(*relay.Receipt)) func(*Handover, []relay.VerifyKey) {
	return func(h *Handover, _ []relay.VerifyKey) {
		for i := at; i < len(h.Receipts); i++ {
			r := h.Receipts[i].Receipt
			if i == at {
				change(&r)
			} else {
				r.Previous = h.Receipts[i-1].Hash()
			}
			key := signer(byte(i + 1))
			if i == len(h.Receipts)-1 {
				key = relay.SignKey{}
			}
			h.Receipts[i] = r.Sign(key)
		}
	}
}
