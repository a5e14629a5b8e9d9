package shuffler

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/rng"
)

// A crowd is mixed in two passes, so that no process holds more than a part of it.
// Scatter opens one part and deals what was in it to buckets; Gather takes what all
// parts gave to one bucket, and orders it. Both are functions of the key and of what
// they are given, and of nothing else: whoever repeats one writes the same bytes, so
// that a crash never gives a crowd a second order.
//
// The order is that of a pseudorandom function of the envelope as it came, under the
// crowd's key. At the entry envelopes come in contributions, which are opened first: in an
// order of contributions a device's envelopes would leave in a row. The values of different envelopes are independent and uniform, so every
// order of them is as likely to who lacks the key. Copies have one value, meet in one
// bucket, and all but one fall: which one stays makes no difference to any byte. A
// bucket is a range of values, and the buckets one after the other are the crowd in
// its order, however many parts and buckets there were.

// Key orders one crowd at one hop. Who has it and the envelopes that came knows which
// of those that leave is which: it is kept as long as a step may have to be repeated,
// and then destroyed. A crowd whose key is lost is not mixed with another one.
type Key [32]byte

// NewKey draws a key from the system's randomness.
func NewKey() Key {
	var k Key
	r := rng.New()
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(k[i:], r.Uint64())
	}
	return k
}

// MaxBuckets is how many buckets a crowd is dealt to at most.
const MaxBuckets = 1 << 16

// derive makes a key of 32 bytes for one purpose.
func (k Key) derive(purpose string) []byte {
	b, err := hkdf.Expand(sha256.New, k[:], "confetti mix "+purpose, 32)
	if err != nil {
		panic("shuffler: " + err.Error()) // of lengths, which are constant
	}
	return b
}

// order is where an envelope comes in its crowd: of 128 bits, so that two different
// envelopes among 2^32 share one with probability 2^-65.
type order [16]byte

// bucket returns which of so many ranges it lies in.
func (o order) bucket(buckets int) int {
	high, _ := bits.Mul64(binary.BigEndian.Uint64(o[:]), uint64(buckets))
	return int(high)
}

// ordering returns the pseudorandom function under a derived key. It is not safe for
// concurrent use.
func ordering(key []byte) func(e []byte) order {
	mac, sum := hmac.New(sha256.New, key), make([]byte, 0, sha256.Size)
	return func(e []byte) order {
		mac.Reset()
		mac.Write(e)
		return order(mac.Sum(sum)[:len(order{})])
	}
}

// deal shares out among buckets what each falls into.
func deal[T any](all []T, place func(T) order, buckets int) [][]T {
	dealt := make([][]T, buckets)
	for _, one := range all {
		b := place(one).bucket(buckets)
		dealt[b] = append(dealt[b], one)
	}
	return dealt
}

// record is an envelope without this hop's layer.
type record struct {
	order order
	inner []byte
}

// opened is what was in some envelopes.
type opened struct {
	records []record // as the envelopes came
	tokens  map[TokenID]struct{}
	dropped int // envelopes that did not open
}

// portion is how many envelopes a core opens at a time.
const portion = 64

// open takes this hop's layer off, on all cores.
func (h *Hop) open(k Key, crowd uint32, envelopes [][]byte) opened {
	all, there := make([]record, len(envelopes)), make([]bool, len(envelopes))
	ids := make([]map[TokenID]struct{}, runtime.GOMAXPROCS(0))
	key, slot := k.derive("order"), h.in.slots[h.hop]
	var wg sync.WaitGroup
	for w := range ids {
		ids[w] = map[TokenID]struct{}{}
		wg.Go(func() {
			place := ordering(key)
			for from := w * portion; from < len(envelopes); from += len(ids) * portion {
				to := min(from+portion, len(envelopes))
				for i, inner := range h.opener.OpenAll(crowd, envelopes[from:to]) {
					if inner == nil {
						continue
					}
					if id, ok := h.token(inner[:slot]); ok {
						ids[w][id] = struct{}{}
					}
					all[from+i], there[from+i] = record{place(envelopes[from+i]), inner[slot:]}, true
				}
			}
		})
	}
	wg.Wait()
	out := opened{records: all[:0], tokens: ids[0]}
	for _, more := range ids[1:] {
		for id := range more {
			out.tokens[id] = struct{}{}
		}
	}
	for i, r := range all {
		if there[i] {
			out.records = append(out.records, r)
		}
	}
	out.dropped = len(envelopes) - len(out.records)
	return out
}

// arrange brings records into their order, once each.
func arrange(records []record) (out [][]byte, copies int) {
	slices.SortFunc(records, func(a, b record) int { return bytes.Compare(a.order[:], b.order[:]) })
	out = make([][]byte, 0, len(records))
	for i, r := range records {
		if i > 0 && r.order == records[i-1].order {
			copies++
			continue
		}
		out = append(out, r.inner)
	}
	return out, copies
}

// Scattered is one part of a crowd, dealt to buckets.
type Scattered struct {
	Dealt   [][]byte // to each bucket, sealed: for Gather
	Dropped int      // envelopes that did not open
}

// Seal encrypts what rests between the steps, under the key and a name: the same content
// under one name gives the same bytes, and a different one has a key of its own, so that
// nothing is ever sealed twice under one nonce. What is sealed is as good as gone when
// the key is.
//
//	salt (32 bytes) = HMAC-SHA-256(purpose "salt", name, body), AES-256-GCM(HMAC-SHA-256(purpose "seal", salt), body)
func (k Key) Seal(name string, body []byte) []byte {
	mac := hmac.New(sha256.New, k.derive("salt"))
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(name))))
	mac.Write([]byte(name))
	mac.Write(body)
	out := mac.Sum(make([]byte, 0, saltSize+len(body)+gcmTag))
	return k.sealing(out).Seal(out, make([]byte, nonceSize), body, []byte(name))
}

const saltSize, nonceSize, gcmTag = sha256.Size, 12, 16

// ErrSealed is the error of what was not sealed under this key and name, or is damaged.
var ErrSealed = errors.New("shuffler: of another crowd, step or key, or damaged")

// Open undoes Seal; the bytes are overwritten with the body.
func (k Key) Open(name string, sealed []byte) ([]byte, error) {
	if len(sealed) < saltSize {
		return nil, ErrSealed
	}
	rest := sealed[saltSize:]
	body, err := k.sealing(sealed[:saltSize]).Open(rest[:0], make([]byte, nonceSize), rest, []byte(name))
	if err != nil {
		return nil, ErrSealed
	}
	return body, nil
}

func (k Key) sealing(salt []byte) cipher.AEAD {
	mac := hmac.New(sha256.New, k.derive("seal"))
	mac.Write(salt)
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic("shuffler: " + err.Error()) // the key has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("shuffler: " + err.Error()) // AES has blocks of 16 bytes
	}
	return aead
}

// A deal is what one part gave to one bucket: the seal of
//
//	records (4 bytes), tokens (4), records of order (16) and inner envelope, tokens of 32
const dealHead = 8

// dealName returns what the seal of a deal is bound to; stored deals have been sealed with this word.
func dealName(crowd uint32, bucket, buckets int) string {
	return fmt.Sprintf("fragment for bucket %d of %d of crowd %d", bucket, buckets, crowd)
}

// Scatter opens a part of a crowd on all cores, and deals it to as many buckets, 1 to
// MaxBuckets. The part is what came: contributions at the entry, and envelopes later. It does
// not look at the crowd as a whole: Check does before, and Leave after all buckets are
// gathered.
func (h *Hop) Scatter(k Key, crowd uint32, came [][]byte, buckets int) (Scattered, error) {
	if buckets < 1 || buckets > MaxBuckets {
		return Scattered{}, fmt.Errorf("shuffler: %d buckets: need 1 to %d", buckets, MaxBuckets)
	}
	all := h.takeOff(k, crowd, came)
	dealt := deal(all.records, func(r record) order { return r.order }, buckets)
	byToken := ordering(k.derive("tokens"))
	tokens := deal(slices.Collect(maps.Keys(all.tokens)), func(id TokenID) order { return byToken(id[:]) }, buckets)
	out := Scattered{Dealt: make([][]byte, buckets), Dropped: all.dropped}
	size := h.recordSize()
	for b := range buckets {
		slices.SortFunc(tokens[b], func(x, y TokenID) int { return bytes.Compare(x[:], y[:]) })
		body := make([]byte, 0, dealHead+len(dealt[b])*size+len(tokens[b])*len(TokenID{}))
		body = binary.BigEndian.AppendUint32(body, uint32(len(dealt[b])))
		body = binary.BigEndian.AppendUint32(body, uint32(len(tokens[b])))
		for _, r := range dealt[b] {
			body = append(append(body, r.order[:]...), r.inner...)
		}
		for _, id := range tokens[b] {
			body = append(body, id[:]...)
		}
		out.Dealt[b] = k.Seal(dealName(crowd, b, buckets), body)
	}
	return out, nil
}

// recordSize returns the length of a record in a deal, bytes.
func (h *Hop) recordSize() int { return len(order{}) + h.SizeOut() }

// Gathered is one bucket of a crowd in its order.
type Gathered struct {
	Envelopes  [][]byte // for the next hop
	Duplicates int      // copies that fell
	Tokens     []TokenID
}

// Gather orders what every part of a crowd gave to one bucket, counted from 0 of so
// many. It holds the bucket in memory.
func (h *Hop) Gather(k Key, crowd uint32, bucket, buckets int, deals iter.Seq2[[]byte, error]) (Gathered, error) {
	var records []record
	tokens := map[TokenID]struct{}{}
	size := h.recordSize()
	name := dealName(crowd, bucket, buckets)
	for f, err := range deals {
		if err != nil {
			return Gathered{}, err
		}
		body, err := k.Open(name, f)
		if err != nil || len(body) < dealHead {
			return Gathered{}, ErrSealed
		}
		n, m := int64(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint32(body[4:]))
		if body = body[dealHead:]; int64(len(body)) != n*int64(size)+m*int64(len(TokenID{})) {
			return Gathered{}, ErrSealed
		}
		for range n {
			records = append(records, record{order(body[:len(order{})]), body[len(order{}):size:size]})
			body = body[size:]
		}
		for ; len(body) > 0; body = body[len(TokenID{}):] {
			tokens[TokenID(body)] = struct{}{}
		}
	}
	var g Gathered
	g.Envelopes, g.Duplicates = arrange(records)
	for id := range tokens {
		g.Tokens = append(g.Tokens, id)
	}
	slices.SortFunc(g.Tokens, func(a, b TokenID) int { return bytes.Compare(a[:], b[:]) })
	return g, nil
}
