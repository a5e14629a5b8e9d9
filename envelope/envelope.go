// Package envelope seals messages so that each hop of a route can take off its own layer alone, and only the
// analyzer reads what is inside. Used by client, which seals, by party and internal/service, which open, and by cmd
// for keys.
//
// Every layer of every message is a fresh HPKE context in base mode (RFC 9180): one context for two messages of a
// device would link them. docs/wire.md gives the bytes.
package envelope

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/x25519"
)

const (
	label = "confetti/v1" // domain separation: a change of the wire format changes it

	// maxLayers bounds a route: 16 hops and the analyzer. Two layers are usual.
	maxLayers = 17
)

// ErrOpen is the error of an envelope that does not open. HPKE cannot tell
// which of the reasons it was.
var ErrOpen = errors.New("envelope: does not open: sealed for another plan, instance, hop, crowd or key, or damaged on the way")

// SizeError is the error of an envelope that has not the one length that its
// plan and hop allow. Lengths are in bytes.
type SizeError struct{ Got, Want int }

func (e *SizeError) Error() string {
	what := "oversized"
	if e.Got < e.Want {
		what = "truncated"
	}
	return fmt.Sprintf("envelope: %s: %d bytes where %d are expected", what, e.Got, e.Want)
}

// Context says what a layer is bound to: it opens nowhere else.
type Context struct {
	Plan     [32]byte // the plan's hash
	Instance uint16   // which of the shuffler's instances carries it
	Hop      uint8    // 0 for the entry; the analyzer comes after the last hop
	Crowd    uint32   // the only attribute of a respondent that the network sees
}

// info returns the HPKE info: it is fixed for one hop of one instance of one plan.
// All fields have a fixed length, so two contexts never give the same bytes.
func (c Context) info(s Suite) []byte {
	b := append([]byte(label), s.id()...)
	b = append(b, c.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, c.Instance)
	return append(b, c.Hop)
}

// aad returns the additional authenticated data. The crowd stands here and not in
// the info so that one Opener serves every crowd.
func (c Context) aad() []byte { return binary.BigEndian.AppendUint32(nil, c.Crowd) }

// Layer is one seal: for whom, and bound to what.
type Layer struct {
	Key  PublicKey
	Slot int // bytes that its opener finds before the next layer: room for a token, or none
	Context
}

// Route numbers the layers of one (plan, instance, crowd): keys[h] is the key
// of hop h, the last one is the analyzer's.
func Route(plan [32]byte, instance uint16, crowd uint32, keys ...PublicKey) []Layer {
	layers := make([]Layer, len(keys))
	for h, key := range keys {
		layers[h] = Layer{Key: key, Context: Context{Plan: plan, Instance: instance, Hop: uint8(h), Crowd: crowd}}
	}
	return layers
}

// Size returns the length in bytes of a payload sealed under the given layers.
func Size(layers []Layer, payload int) int {
	for _, l := range layers {
		payload += l.Key.suite.Overhead() + l.Slot
	}
	return payload
}

// Sealer seals the messages of one (plan, instance, crowd). It holds no secret,
// and is safe for concurrent use.
type Sealer struct {
	payload int
	layers  []preparedLayer // outermost first
	aad     []byte
	sealed  atomic.Int64 // payloads
}

type preparedLayer struct {
	key  hpke.PublicKey
	info []byte
	slot int
	many func() *sender // made for the first who seal many; nil where crypto/hpke has to seal
}

// NewSealer prepares the layers, outermost first and the analyzer's last, for
// payloads of exactly the given number of bytes: a length that varied would
// tell the network something about the message. The first layer may be any
// hop's: a Form seals for the entry.
func NewSealer(layers []Layer, payload int) (*Sealer, error) {
	if len(layers) == 0 || len(layers) > maxLayers {
		return nil, fmt.Errorf("envelope: %d layers: need 1 to %d", len(layers), maxLayers)
	}
	s := &Sealer{payload: payload, aad: layers[0].aad()}
	for h, l := range layers {
		if l.Key.key == nil {
			return nil, fmt.Errorf("envelope: layer %d has no key", h)
		}
		want := layers[0].Context
		want.Hop += uint8(h)
		if l.Context != want {
			return nil, fmt.Errorf("envelope: layer %d is not hop %d of the same plan, instance and crowd", h, want.Hop)
		}
		if l.Key.suite != layers[0].Key.suite {
			return nil, fmt.Errorf("envelope: layer %d uses suite %q and layer 0 %q: use one for all", h, l.Key.suite, layers[0].Key.suite)
		}
		if l.Slot < 0 || l.Slot > sizes.Max {
			return nil, fmt.Errorf("envelope: layer %d has a slot of %d bytes: need 0 to %d", h, l.Slot, sizes.Max)
		}
		p := preparedLayer{key: l.Key.key, info: l.info(l.Key.suite), slot: l.Slot, many: func() *sender { return nil }}
		if l.Key.suite == X25519 {
			p.many = sync.OnceValue(func() *sender { return newSender(p.key.Bytes(), p.info) })
		}
		s.layers = append(s.layers, p)
	}
	if size := Size(layers, payload); payload < 0 || size > sizes.Max {
		return nil, fmt.Errorf("envelope: a payload of %d bytes under %d layers makes %d bytes: the limit is %d", payload, len(layers), size, sizes.Max)
	}
	return s, nil
}

// Seal returns the payload under all layers, their slots empty (zeros). Each
// call draws fresh keys from the system's randomness.
func (s *Sealer) Seal(payload []byte) ([]byte, error) { return s.SealWith(payload, nil) }

// SealWith seals with what goes into the slots, by layer: nil leaves one
// empty. Whether a slot is empty shows only to the one who opens its layer.
func (s *Sealer) SealWith(payload []byte, slots [][]byte) ([]byte, error) {
	all, err := s.SealAll([][]byte{payload}, [][][]byte{slots})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// SealAll does what SealWith does for many payloads; nil leaves all slots empty. It is the faster by far in the suite
// x25519, from the 64th payload of a sealer on.
func (s *Sealer) SealAll(payloads [][]byte, slots [][][]byte) ([][]byte, error) {
	for _, p := range payloads {
		if len(p) != s.payload {
			return nil, fmt.Errorf("envelope: a payload of %d bytes where all have %d: pad it", len(p), s.payload)
		}
	}
	sealed := slices.Clone(payloads)
	many := s.sealed.Add(int64(len(payloads))) >= worthwhile && len(payloads) > 1
	for h := len(s.layers) - 1; h >= 0; h-- {
		l := s.layers[h]
		for i := range sealed {
			var own [][]byte
			if slots != nil {
				own = slots[i]
			}
			inner, err := l.inner(h, sealed[i], own)
			if err != nil {
				return nil, err
			}
			sealed[i] = inner
		}
		if err := l.seal(s.aad, sealed, many); err != nil {
			return nil, fmt.Errorf("envelope: seal layer %d: %w", h, err)
		}
	}
	return sealed, nil
}

// inner returns what layer h seals: its slot, if it has one, and what is sealed already.
func (l preparedLayer) inner(h int, sealed []byte, slots [][]byte) ([]byte, error) {
	if l.slot == 0 {
		return sealed, nil
	}
	inner := make([]byte, l.slot, l.slot+len(sealed))
	if h < len(slots) && slots[h] != nil {
		if len(slots[h]) != l.slot {
			return nil, fmt.Errorf("envelope: %d bytes for the slot of layer %d, which has %d", len(slots[h]), h, l.slot)
		}
		copy(inner, slots[h])
	}
	return append(inner, sealed...), nil
}

// seal replaces each message by its layer, by the key's tables where these are many.
func (l preparedLayer) seal(aad []byte, messages [][]byte, many bool) error {
	if many && x25519.Trusted() {
		if s := l.many(); s != nil {
			return s.sealAll(aad, messages)
		}
	}
	for i, m := range messages {
		enc, sender, err := hpke.NewSender(l.key, kdf, aead, l.info)
		if err != nil {
			return err
		}
		ct, err := sender.Seal(aad, m)
		if err != nil {
			return err
		}
		messages[i] = append(enc, ct...)
	}
	return nil
}

// Seal seals a single payload. For more than one, prepare a Sealer.
func Seal(layers []Layer, payload []byte) ([]byte, error) {
	s, err := NewSealer(layers, len(payload))
	if err != nil {
		return nil, err
	}
	return s.Seal(payload)
}

// Opener takes off the layer of one hop (or of the analyzer) of one instance
// of one plan. It is safe for concurrent use.
type Opener struct {
	key  hpke.PrivateKey
	info []byte
	enc  int // length of the encapsulated key, bytes
	size int
	fast *lanes // nil: crypto/ecdh multiplies alone
}

// NewOpener prepares to open envelopes of exactly size bytes as they reach the
// given hop: the Size of the layers still on.
func NewOpener(key PrivateKey, plan [32]byte, instance uint16, hop uint8, size int) (*Opener, error) {
	if key.key == nil {
		return nil, errors.New("envelope: no private key to open with")
	}
	overhead := key.suite.Overhead()
	if size < overhead || size > sizes.Max {
		return nil, fmt.Errorf("envelope: no envelope of suite %q has %d bytes: the layer alone takes %d, the limit is %d", key.suite, size, overhead, sizes.Max)
	}
	c := Context{Plan: plan, Instance: instance, Hop: hop}
	return &Opener{key: key.key(), info: c.info(key.suite), enc: overhead - tagSize, size: size, fast: newLanes(key)}, nil
}

// Open returns what is under the layer: its slot, if it has one, and then the
// next hop's envelope, or the payload. The error is a *SizeError or ErrOpen.
func (o *Opener) Open(crowd uint32, envelope []byte) ([]byte, error) {
	if len(envelope) != o.size {
		return nil, &SizeError{Got: len(envelope), Want: o.size}
	}
	return o.open(o.key, crowd, envelope)
}

func (o *Opener) open(key hpke.PrivateKey, crowd uint32, envelope []byte) ([]byte, error) {
	recipient, err := hpke.NewRecipient(envelope[:o.enc], key, kdf, aead, o.info)
	if err != nil {
		return nil, ErrOpen // an encapsulated key that is no valid point
	}
	inner, err := recipient.Open(Context{Crowd: crowd}.aad(), envelope[o.enc:])
	if err != nil {
		return nil, ErrOpen
	}
	return inner, nil
}
