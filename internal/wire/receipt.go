package wire

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
)

// Receipt is what a hop states about a batch that it has mixed. It says nothing
// of any single envelope. Where the plan keeps the sizes of crowds private, all
// its numbers are those after the randomized deletion.
type Receipt struct {
	Plan        [32]byte
	Instance    uint16
	Hop         uint8 // that signs, counted from 0
	Crowd       uint32
	Respondents uint32 // distinct respondents, as counted at the entry
	Tokens      uint32 // distinct valid single-use tokens; 0 where the plan demands none of this hop

	// Envelopes: In = Out + Dropped + Duplicates.
	In         uint32 // that came
	Out        uint32 // that were handed on
	Dropped    uint32 // that did not open, or had another length than the plan's
	Duplicates uint32 // exact copies of another one that came

	BatchIn  [32]byte // SHA-256 of the batch that came; zeros at the entry, where contributions come
	BatchOut [32]byte // SHA-256 of the batch that was handed on
	Previous [32]byte // SHA-256 of the earlier hop's receipt with its signature; zeros at the entry
}

// ReceiptSize is the length in bytes of a receipt with its signature:
//
//	offset  length  field
//	0       1       format version, 1
//	1       32      plan hash
//	33      2       instance
//	35      1       hop
//	36      4       crowd
//	40      4       respondents
//	44      4       tokens
//	48      16      in, out, dropped, duplicates
//	64      32      SHA-256 of the batch in
//	96      32      SHA-256 of the batch out
//	128     32      SHA-256 of the previous receipt
//	160     64      Ed25519 signature, or zeros
const ReceiptSize = receiptBody + ed25519.SignatureSize

const (
	receiptBody    = 160
	receiptVersion = 1

	// What is signed begins with a text that nothing else signed begins with.
	receiptDomain = "confetti/receipt/v1\n"
)

// Bytes is the canonical form of the receipt without its signature.
func (r Receipt) Bytes() []byte {
	b := make([]byte, 0, ReceiptSize)
	b = append(b, receiptVersion)
	b = append(b, r.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, r.Instance)
	b = append(b, r.Hop)
	for _, n := range []uint32{r.Crowd, r.Respondents, r.Tokens, r.In, r.Out, r.Dropped, r.Duplicates} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, h := range [][32]byte{r.BatchIn, r.BatchOut, r.Previous} {
		b = append(b, h[:]...)
	}
	return b
}

// SignedReceipt is a receipt as it travels. A hop that the plan gives no receipt
// key leaves the signature zero.
type SignedReceipt struct {
	Receipt
	Signature [ed25519.SignatureSize]byte
}

// Sign signs the receipt with the hop's key, the zero key for none.
func (r Receipt) Sign(k SignKey) SignedReceipt {
	s := SignedReceipt{Receipt: r}
	if k.key != nil {
		s.Signature = [ed25519.SignatureSize]byte(k.Sign(append([]byte(receiptDomain), r.Bytes()...)))
	}
	return s
}

// Bytes is the receipt with its signature, ReceiptSize bytes.
func (s SignedReceipt) Bytes() []byte { return append(s.Receipt.Bytes(), s.Signature[:]...) }

// Hash names the receipt; the next hop's Previous.
func (s SignedReceipt) Hash() [32]byte { return sha256.Sum256(s.Bytes()) }

// Verify checks the signature; with the zero key, that there is none.
func (s SignedReceipt) Verify(k VerifyKey) error {
	switch {
	case k.IsZero() && s.Signature != [ed25519.SignatureSize]byte{}:
		return fmt.Errorf("wire: receipt of hop %d: signed, but the plan names no key for it", int(s.Hop)+1)
	case !k.IsZero() && !k.Verify(append([]byte(receiptDomain), s.Receipt.Bytes()...), s.Signature[:]):
		return fmt.Errorf("wire: receipt of hop %d: not signed with the key that the plan names", int(s.Hop)+1)
	}
	return nil
}

// ParseReceipt reads what SignedReceipt.Bytes writes. It checks the form, not
// the signature.
func ParseReceipt(b []byte) (SignedReceipt, error) {
	if len(b) != ReceiptSize {
		return SignedReceipt{}, fmt.Errorf("wire: a receipt of %d bytes: all have %d", len(b), ReceiptSize)
	}
	if b[0] != receiptVersion {
		return SignedReceipt{}, fmt.Errorf("wire: a receipt of format version %d: this build reads version %d", b[0], receiptVersion)
	}
	number := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	r := Receipt{
		Plan: [32]byte(b[1:]), Instance: binary.BigEndian.Uint16(b[33:]), Hop: b[35],
		Crowd: number(36), Respondents: number(40), Tokens: number(44),
		In: number(48), Out: number(52), Dropped: number(56), Duplicates: number(60),
		BatchIn: [32]byte(b[64:]), BatchOut: [32]byte(b[96:]), Previous: [32]byte(b[128:]),
	}
	if uint64(r.In) != uint64(r.Out)+uint64(r.Dropped)+uint64(r.Duplicates) {
		return SignedReceipt{}, fmt.Errorf("wire: receipt of hop %d: its numbers do not add up", int(r.Hop)+1)
	}
	if r.Hop == 0 && (r.BatchIn != [32]byte{} || r.Previous != [32]byte{}) {
		return SignedReceipt{}, errors.New("wire: receipt of hop 1: it follows nothing and must say so")
	}
	return SignedReceipt{r, [ed25519.SignatureSize]byte(b[receiptBody:])}, nil
}

// CheckChain checks the receipts of all hops that a batch has come through, from
// the entry on, against each other, the batch, and the keys that the plan names
// for its instance's hops (the zero key where it names none). It says which
// hop's receipt does not bear the batch out.
func CheckChain(receipts []SignedReceipt, keys []VerifyKey, batch envelope.Head, digest [32]byte) error {
	if len(receipts) != int(batch.Hop) || len(receipts) > len(keys) || len(receipts) == 0 {
		return fmt.Errorf("wire: %d receipts with a batch that came through %d hops: need one of each", len(receipts), batch.Hop)
	}
	if err := checkLinks(receipts, keys, batch.Plan, batch.Instance, batch.Crowd); err != nil {
		return err
	}
	last := receipts[len(receipts)-1]
	if last.Respondents != batch.Respondents {
		return fmt.Errorf("wire: receipt of hop %d: another number of respondents than the batch has", int(last.Hop)+1)
	}
	if last.BatchOut != digest || last.Out != batch.Envelopes {
		return fmt.Errorf("wire: receipt of hop %d: the batch is not the one that it handed on", int(last.Hop)+1)
	}
	return nil
}

// checkLinks checks receipts of a batch against each other and the keys.
func checkLinks(receipts []SignedReceipt, keys []VerifyKey, plan [32]byte, instance uint16, crowd uint32) error {
	for i, s := range receipts {
		at := func(what string) error { return fmt.Errorf("wire: receipt of hop %d: %s", i+1, what) }
		switch {
		case int(s.Hop) != i:
			return at("it is of another hop")
		case s.Plan != plan || s.Instance != instance || s.Crowd != crowd:
			return at("it is of another plan, instance or crowd")
		}
		if err := s.Verify(keys[i]); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		switch earlier := receipts[i-1]; {
		case s.Previous != earlier.Hash():
			return at("it does not follow the receipt before it")
		case s.BatchIn != earlier.BatchOut || s.In != earlier.Out:
			return at("the batch that came is not the one that the hop before it handed on")
		case s.Respondents != earlier.Respondents:
			return at("another number of respondents than the hop before it says")
		}
	}
	return nil
}
