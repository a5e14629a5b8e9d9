package relay

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Receipt is what a hop states about a batch that it has mixed. It says nothing
// of any single envelope. Where the plan keeps the sizes of crowds private, all
// its numbers are those after the randomized deletion.
type Receipt struct {
	Plan        [32]byte
	Instance    uint16
	Hop         uint8 // that signs, counted from 0
	Crowd       uint32
	Respondents uint64 // distinct respondents, as counted at the entry
	Tokens      uint64 // distinct valid single-use tokens; 0 where the plan demands none of this hop

	// Envelopes: In = Out + Dropped + Duplicates.
	In         uint64 // that came
	Out        uint64 // that were handed on
	Dropped    uint64 // that did not open, or had another length than the plan's
	Duplicates uint64 // exact copies of another one that came

	// SHA-256 of a batch's encoding, or of its manifest where it was handed over in parts.
	BatchIn  [32]byte // that came; zeros at the entry, where contributions come
	BatchOut [32]byte // that was handed on
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
//
// One of whose six numbers does not fit 4 bytes has version 2, and 8 bytes for each of
// them, 248 bytes together. There is one way to write a receipt.
const ReceiptSize = receiptBody + ed25519.SignatureSize

const (
	LongReceiptSize = ReceiptSize + 4*receiptNumbers

	receiptBody    = 160
	receiptNumbers = 6
	receiptVersion = 1
	longVersion    = 2

	// MostCounted is above what any batch has: sums of some such numbers do not overflow.
	MostCounted = 1 << 56
)

// What is signed begins with a text that nothing else signed begins with.
var receiptDomains = [...]string{receiptVersion: "confetti/receipt/v1\n", longVersion: "confetti/receipt/v2\n"}

func (r Receipt) numbers() [receiptNumbers]uint64 {
	return [...]uint64{r.Respondents, r.Tokens, r.In, r.Out, r.Dropped, r.Duplicates}
}

func (r Receipt) version() byte {
	for _, n := range r.numbers() {
		if n > math.MaxUint32 {
			return longVersion
		}
	}
	return receiptVersion
}

// Bytes returns the canonical form of the receipt without its signature.
func (r Receipt) Bytes() []byte {
	b := make([]byte, 0, LongReceiptSize)
	b = append(b, r.version())
	b = append(b, r.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, r.Instance)
	b = append(b, r.Hop)
	b = binary.BigEndian.AppendUint32(b, r.Crowd)
	for _, n := range r.numbers() {
		if r.version() == longVersion {
			b = binary.BigEndian.AppendUint64(b, n)
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
	}
	for _, h := range [][32]byte{r.BatchIn, r.BatchOut, r.Previous} {
		b = append(b, h[:]...)
	}
	return b
}

func (r Receipt) signed() []byte { return append([]byte(receiptDomains[r.version()]), r.Bytes()...) }

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
		s.Signature = [ed25519.SignatureSize]byte(k.Sign(r.signed()))
	}
	return s
}

// Bytes returns the receipt with its signature, 224 or 248 bytes.
func (s SignedReceipt) Bytes() []byte { return append(s.Receipt.Bytes(), s.Signature[:]...) }

// Hash names the receipt; the next hop's Previous.
func (s SignedReceipt) Hash() [32]byte { return sha256.Sum256(s.Bytes()) }

// Verify checks the signature; with the zero key, that there is none.
func (s SignedReceipt) Verify(k VerifyKey) error {
	switch {
	case k.IsZero() && s.Signature != [ed25519.SignatureSize]byte{}:
		return fmt.Errorf("wire: receipt of hop %d: signed, but the plan names no key for it", int(s.Hop)+1)
	case !k.IsZero() && !k.Verify(s.signed(), s.Signature[:]):
		return fmt.Errorf("wire: receipt of hop %d: not signed with the key that the plan names", int(s.Hop)+1)
	}
	return nil
}

// SizeOf returns the length of a receipt that begins with a byte.
func SizeOf(version byte) (int, error) {
	switch version {
	case receiptVersion:
		return ReceiptSize, nil
	case longVersion:
		return LongReceiptSize, nil
	}
	return 0, fmt.Errorf("wire: a receipt of format version %d: this build reads versions %d and %d", version, receiptVersion, longVersion)
}

// ParseReceipt reads what SignedReceipt.Bytes writes. It checks the form, not
// the signature.
func ParseReceipt(b []byte) (SignedReceipt, error) {
	if len(b) == 0 {
		return SignedReceipt{}, errors.New("wire: a receipt without a byte")
	}
	size, err := SizeOf(b[0])
	if err != nil {
		return SignedReceipt{}, err
	}
	if len(b) != size {
		return SignedReceipt{}, fmt.Errorf("wire: a receipt of %d bytes: all of version %d have %d", len(b), b[0], size)
	}
	var n [receiptNumbers]uint64
	rest := b[40:]
	for i := range n {
		if b[0] == longVersion {
			n[i], rest = binary.BigEndian.Uint64(rest), rest[8:]
		} else {
			n[i], rest = uint64(binary.BigEndian.Uint32(rest)), rest[4:]
		}
	}
	r := Receipt{
		Plan: [32]byte(b[1:]), Instance: binary.BigEndian.Uint16(b[33:]), Hop: b[35], Crowd: binary.BigEndian.Uint32(b[36:]),
		Respondents: n[0], Tokens: n[1], In: n[2], Out: n[3], Dropped: n[4], Duplicates: n[5],
		BatchIn: [32]byte(rest), BatchOut: [32]byte(rest[32:]), Previous: [32]byte(rest[64:]),
	}
	switch {
	case slices.Max(n[:]) > MostCounted:
		return SignedReceipt{}, fmt.Errorf("wire: receipt of hop %d: no batch has more than 2^56 of anything", int(r.Hop)+1)
	case r.version() != b[0]:
		return SignedReceipt{}, fmt.Errorf("wire: receipt of hop %d: its numbers fit version %d, and it has version %d", int(r.Hop)+1, r.version(), b[0])
	case r.In != r.Out+r.Dropped+r.Duplicates:
		return SignedReceipt{}, fmt.Errorf("wire: receipt of hop %d: its numbers do not add up", int(r.Hop)+1)
	case r.Hop == 0 && (r.BatchIn != [32]byte{} || r.Previous != [32]byte{}):
		return SignedReceipt{}, errors.New("wire: receipt of hop 1: it follows nothing and must say so")
	}
	return SignedReceipt{r, [ed25519.SignatureSize]byte(rest[96:])}, nil
}

// SplitReceipts reads receipts that stand one after the other, and nothing behind them.
func SplitReceipts(b []byte) (all []SignedReceipt, err error) {
	for len(b) > 0 {
		size, err := SizeOf(b[0])
		if err != nil {
			return nil, err
		}
		one, err := ParseReceipt(b[:min(size, len(b))])
		if err != nil {
			return nil, err
		}
		all, b = append(all, one), b[size:]
	}
	return all, nil
}

// CheckLinks checks receipts of a batch against each other and the keys.
func CheckLinks(receipts []SignedReceipt, keys []VerifyKey, plan [32]byte, instance uint16, crowd uint32) error {
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
