package shuffler

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// Hop mixes for one position of one instance of a plan, the entry's included.
// It is safe for concurrent use.
type Hop struct {
	in     instance
	hop    int
	key    envelope.PrivateKey
	opener *envelope.Opener // of envelopes, at later hops
	tokens token.PublicKey  // that respondents' tokens must bear; the zero key: none are demanded

	mu    sync.Mutex
	mixed map[uint32]bool    // crowds that have left, or may
	spent map[TokenID]uint32 // tokens that have counted, and for which crowd
}

// TokenID is what is remembered of a spent token.
type TokenID = [32]byte

// Receipt is what a hop may tell about a batch: In = Out + Dropped + Duplicates.
type Receipt struct {
	In         int // envelopes that came
	Out        int // that were handed on
	Dropped    int // that did not open, or had another length than the plan's, copies included
	Duplicates int // exact copies of another one that came and opened
	Tokens     int // distinct valid tokens that were not spent before; 0 where the plan demands none of this hop
}

// NewHop prepares to mix as the given hop, counted from 0, of the plan's
// instance, with the private key of the public one that the plan names there.
func NewHop(p plan.Plan, instance, hop int, key envelope.PrivateKey) (*Hop, error) {
	in, err := newInstance(p, instance)
	if err != nil {
		return nil, err
	}
	if hop < 0 || hop >= len(in.hops) {
		return nil, fmt.Errorf("shuffler: instance %d has no hop %d: it has %d, counted from 0", instance, hop, len(in.hops))
	}
	if key.Public().String() != in.hops[hop].Key {
		return nil, fmt.Errorf("shuffler: %v is not the key that the plan names for hop %d of instance %d", key, hop+1, instance+1)
	}
	h := &Hop{in: in, hop: hop, key: key, mixed: map[uint32]bool{}, spent: map[TokenID]uint32{}}
	if hop == 0 && !p.SealedOnce() {
		return nil, errEarlier(p.Version)
	}
	if hop > 0 {
		if h.opener, err = envelope.NewOpener(key, in.Plan, in.Instance, uint8(hop), in.size(hop)); err != nil {
			return nil, err
		}
	}
	if in.slots[hop] > 0 {
		if h.tokens, err = token.ParsePublicKey(in.hops[hop].Tokens); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// SizeOut returns the length in bytes of an envelope that leaves this hop.
func (h *Hop) SizeOut() int { return h.in.size(h.hop + 1) }

// Restore tells a new Hop what an earlier one has let leave: a crowd, and the
// tokens that counted for it.
func (h *Hop) Restore(crowd uint32, spent []TokenID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mixed[crowd] = true
	for _, id := range spent {
		h.spent[id] = crowd
	}
}

// Spent returns the tokens that counted for a crowd that has left, in the order of
// their bytes.
func (h *Hop) Spent(crowd uint32) []TokenID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []TokenID
	for id, c := range h.spent {
		if c == crowd {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b TokenID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// Mix checks a batch in memory, takes off this hop's layer, orders what opened by a fresh key,
// and returns what the next hop gets. With an error nothing may be handed on; the error is
// ErrWithheld where too few respondents, or too few of their envelopes, are
// there to hide among. Where the plan has a token key for this hop, respondents
// are those whose token came inside this hop's layer, which an entry hop can
// neither read nor invent.
//
// One batch of a crowd leaves a hop, and no other: a second one that lacked a
// single respondent would show, by what is missing, which envelopes were theirs.
//
// The key that orders the crowd is drawn afresh from the system's randomness;
// nothing of it is kept. The entry gets contributions, and no batch: see Enter.
func (h *Hop) Mix(b envelope.Batch) (envelope.Batch, Receipt, error) {
	if h.hop == 0 {
		return envelope.Batch{}, Receipt{}, errors.New("shuffler: a batch for the entry, which gets contributions")
	}
	return h.mix(NewKey(), b.Head(), b.Envelopes)
}

// mix checks, opens and orders a crowd that lies in memory: one part and one bucket.
func (h *Hop) mix(k Key, head envelope.Head, came [][]byte) (envelope.Batch, Receipt, error) {
	if err := h.Check(head); err != nil {
		return envelope.Batch{}, Receipt{}, err
	}
	opened := h.takeOff(k, head.Crowd, came)
	out, copies := arrange(opened.records)
	receipt := Receipt{In: int(head.Envelopes), Out: len(out), Dropped: opened.dropped, Duplicates: copies}
	receipt, err := h.Leave(head, receipt, slices.Collect(maps.Keys(opened.tokens)))
	if err != nil {
		return envelope.Batch{}, receipt, err
	}
	return envelope.Batch{Plan: head.Plan, Instance: head.Instance, Crowd: head.Crowd, Hop: head.Hop + 1, Respondents: head.Respondents, Envelopes: out}, receipt, nil
}

// Leave decides whether a crowd may leave, when all of it is opened and ordered: given what was
// counted and the tokens that were found, it spends the tokens and returns the whole receipt. The errors are those of Mix; with one, nothing may leave.
func (h *Hop) Leave(head envelope.Head, did Receipt, tokens []TokenID) (Receipt, error) {
	if int64(did.In) != int64(head.Envelopes) || did.Out+did.Dropped+did.Duplicates != did.In {
		return did, fmt.Errorf("shuffler: crowd %d has %d envelopes and %d were ordered: a part or a bucket is missing", int64(head.Crowd)+1, head.Envelopes, did.Out+did.Dropped+did.Duplicates)
	}
	if err := h.enough(head.Crowd, did.Out); err != nil {
		return did, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mixed[head.Crowd] {
		return did, fmt.Errorf("%w: crowd %d", ErrMixed, int64(head.Crowd)+1)
	}
	if h.in.slots[h.hop] > 0 {
		var err error
		if did.Tokens, err = h.spend(head.Crowd, tokens); err != nil {
			return did, err
		}
	}
	h.mixed[head.Crowd] = true
	return did, nil
}

// token looks for a valid one in a slot. Most slots are empty: a device puts its
// token into one of its envelopes.
func (h *Hop) token(slot []byte) (TokenID, bool) {
	if !slices.ContainsFunc(slot, func(b byte) bool { return b != 0 }) {
		return TokenID{}, false
	}
	here := token.Context{Plan: h.in.Plan, Instance: h.in.Instance, Hop: uint8(h.hop)}
	if h.tokens.Verify(here, slot) != nil {
		return TokenID{}, false
	}
	return token.ID(slot), true
}

// spend counts the distinct tokens that have not counted before. Fewer than n_min: the
// earlier hops speak of respondents whom no issuer has seen, and nothing leaves. The
// caller holds mu.
func (h *Hop) spend(crowd uint32, tokens []TokenID) (int, error) {
	fresh := make(map[TokenID]struct{}, len(tokens))
	for _, id := range tokens {
		if _, before := h.spent[id]; !before {
			fresh[id] = struct{}{}
		}
	}
	if len(fresh) < h.in.Minimum {
		return len(fresh), fmt.Errorf("%w: crowd %d has tokens of fewer than %d distinct respondents, the plan's minimum", ErrWithheld, int64(crowd)+1, h.in.Minimum)
	}
	for id := range fresh {
		h.spent[id] = crowd
	}
	return len(fresh), nil
}

// Check refuses a crowd that may not be mixed here, by what is said of it. The errors
// are those of Mix.
func (h *Hop) Check(b envelope.Head) error {
	h.mu.Lock()
	again := h.mixed[b.Crowd]
	h.mu.Unlock()
	if again {
		return fmt.Errorf("%w: crowd %d", ErrMixed, int64(b.Crowd)+1)
	}
	if err := h.in.Accepts(b.Plan, b.Instance, b.Crowd); err != nil {
		return err
	}
	if int(b.Hop) != h.hop {
		return fmt.Errorf("shuffler: a batch for hop %d of the cascade: this is hop %d", int(b.Hop)+1, h.hop+1)
	}
	if int64(b.Respondents) < int64(h.in.Minimum) {
		return fmt.Errorf("%w: crowd %d has fewer than %d distinct respondents, the plan's minimum", ErrWithheld, int64(b.Crowd)+1, h.in.Minimum)
	}
	if h.in.Maximum > 0 && int64(b.Respondents) > int64(h.in.Maximum) {
		return fmt.Errorf("shuffler: crowd %d has more than %d respondents, the plan's maximum", int64(b.Crowd)+1, h.in.Maximum)
	}
	whole := int64(b.Respondents) * int64(h.in.Envelopes) // below 2^32 * 2^20
	n := int64(b.Envelopes)
	if n > whole || h.hop == 0 && n != whole {
		return fmt.Errorf("shuffler: %d envelopes from %d respondents: the plan wants %d from each", n, b.Respondents, h.in.Envelopes)
	}
	return h.enough(b.Crowd, int(b.Envelopes))
}

// enough holds back a batch that has lost so much on its way that it cannot
// hold the whole contributions of n_h honest respondents, whose noise the
// guarantee counts on. Theirs always open: what is lost is the doing of others.
func (h *Hop) enough(crowd uint32, envelopes int) error {
	if need := int64(h.in.honest) * int64(h.in.Envelopes); int64(envelopes) < need {
		return fmt.Errorf("%w: crowd %d has %d envelopes left and the guarantee counts on at least %d", ErrWithheld, crowd+1, envelopes, need)
	}
	return nil
}
