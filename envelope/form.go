package envelope

import (
	"crypto/hpke"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
)

// A contribution is sealed once for the entry, round all its envelopes, which are as they reach the
// party after the entry:
//
//	offset  length  field
//	0       1       format version, 2
//	1       1       kind, 1
//	2       32      plan hash
//	34      2       instance
//	36      4       crowd
//	40      4       number of envelopes
//	44      4       length of each, bytes
//	48      .       encapsulated key, ciphertext of the envelopes one after the other
//
// The first 48 bytes are the authenticated data: what is cut apart and joined does not open. The entry gets
// the envelopes of one device in one body anyway, so a seal round each would hide nothing more.
const (
	formVersion = 2
	formLabel   = "confetti/contribution/v2"
)

// Form is what the contributions to one instance of a plan have alike. All have one length.
type Form struct {
	Plan      [32]byte
	Instance  uint16
	Suite     Suite
	Envelopes int // in each contribution
	Size      int // bytes of an envelope as it reaches the party after the entry
}

// NewForm returns the form of a plan's contributions through an instance, of so many envelopes round a payload of so
// many bytes. The slots are those of the layers, the entry's first, whose is not used, and the analyzer's last.
func NewForm(plan [32]byte, instance uint16, suite Suite, envelopes, payload int, slots []int) Form {
	return Form{Plan: plan, Instance: instance, Suite: suite, Envelopes: envelopes, Size: sizes.Envelope(string(suite), payload, slots)}
}

// Bytes returns the length of every contribution, bytes.
func (f Form) Bytes() int { return sizes.Contribution(string(f.Suite), f.Envelopes, f.Size) }

// Validate refuses a form that no contribution may have.
func (f Form) Validate() error { return sizes.Check(string(f.Suite), f.Envelopes, f.Size) }

// Seal seals envelopes for the entry as a contribution to a crowd, with fresh keys from the system's
// randomness. A body that may have been sent is never sealed again: other bytes are another contribution.
func (f Form) Seal(entry PublicKey, crowd uint32, envelopes [][]byte) ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if entry.suite != f.Suite {
		return nil, fmt.Errorf("envelope: the entry's key is of suite %q and the contribution of %q: use one for all", entry.suite, f.Suite)
	}
	if len(envelopes) != f.Envelopes {
		return nil, fmt.Errorf("envelope: %d envelopes in a contribution of %d", len(envelopes), f.Envelopes)
	}
	inner := make([]byte, 0, f.Envelopes*f.Size)
	for _, e := range envelopes {
		if len(e) != f.Size {
			return nil, &SizeError{Got: len(e), Want: f.Size}
		}
		inner = append(inner, e...)
	}
	head := f.head(crowd)
	enc, sender, err := hpke.NewSender(entry.key, kdf, aead, f.info())
	if err != nil {
		return nil, fmt.Errorf("envelope: seal a contribution: %w", err)
	}
	sealed, err := sender.Seal(head, inner)
	if err != nil {
		return nil, fmt.Errorf("envelope: seal a contribution: %w", err)
	}
	return append(append(append(make([]byte, 0, f.Bytes()), head...), enc...), sealed...), nil
}

// Cover returns what looks like a contribution to a crowd to whoever has not the entry's key, and is random.
func (f Form) Cover(crowd uint32, random io.Reader) ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	body := append(make([]byte, 0, f.Bytes()), f.head(crowd)...)[:f.Bytes()]
	if _, err := io.ReadFull(random, body[commonHeader:]); err != nil {
		return nil, fmt.Errorf("envelope: cover: %w", err)
	}
	return body, nil
}

// Open opens a contribution to a crowd. What it returns are slices of one buffer: who keeps one envelope
// keeps all. The error is a *SizeError or ErrOpen.
func (f Form) Open(key PrivateKey, crowd uint32, body []byte) ([][]byte, error) {
	if len(body) != f.Bytes() {
		return nil, &SizeError{Got: len(body), Want: f.Bytes()}
	}
	if key.key == nil || key.suite != f.Suite {
		return nil, fmt.Errorf("envelope: the private key is not of suite %q", f.Suite)
	}
	head, sealed := body[:commonHeader], body[commonHeader:]
	if string(head) != string(f.head(crowd)) {
		return nil, ErrOpen
	}
	enc := f.Suite.Overhead() - tagSize
	recipient, err := hpke.NewRecipient(sealed[:enc], key.key(), kdf, aead, f.info())
	if err != nil {
		return nil, ErrOpen // an encapsulated key that is no valid point
	}
	inner, err := recipient.Open(head, sealed[enc:])
	if err != nil {
		return nil, ErrOpen
	}
	envelopes := make([][]byte, f.Envelopes)
	for i := range envelopes {
		envelopes[i], inner = inner[:f.Size:f.Size], inner[f.Size:]
	}
	return envelopes, nil
}

func (f Form) info() []byte {
	b := append([]byte(formLabel), f.Suite.id()...)
	b = append(b, f.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, f.Instance)
	return append(b, 0) // the hop that opens it
}

func (f Form) head(crowd uint32) []byte {
	h := Head{Plan: f.Plan, Instance: f.Instance, Crowd: crowd, Envelopes: uint64(f.Envelopes), Size: f.Size}
	b := h.append(make([]byte, 0, commonHeader), kindContribution)
	b[0] = formVersion
	return b
}

// ParseForm reads what a contribution says of itself, by its header and length. All of it is its sender's
// word, until it is compared with the plan.
func ParseForm(body []byte) (f Form, crowd uint32, err error) {
	h, err := parseHead(formVersion, kindContribution, body)
	if err != nil {
		return f, 0, fmt.Errorf("envelope: contribution: %w", err)
	}
	f = Form{Plan: h.Plan, Instance: h.Instance, Envelopes: int(h.Envelopes), Size: h.Size}
	for _, f.Suite = range []Suite{X25519, XWing} {
		if f.Bytes() == len(body) {
			return f, h.Crowd, f.Validate()
		}
	}
	return f, 0, fmt.Errorf("envelope: contribution: %d bytes, which %d sealed envelopes of %d bytes have in no suite", len(body), f.Envelopes, f.Size)
}
