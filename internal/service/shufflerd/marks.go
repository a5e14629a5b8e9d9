package shufflerd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// A phase of a crowd at a hop. The empty one is before anything has happened.
type phase string

const (
	arriving  phase = "arriving"  // a later hop has some parts of the batch
	received  phase = "received"  // a later hop has the batch
	laidOut   phase = "mixing"    // in parts
	mixed     phase = "mixed"     // in the outbox
	forwarded phase = "forwarded" // the next hop has it
	withheld  phase = "withheld"  // too few respondents: destroyed
)

// crowd is the mark of one crowd at one hop.
type crowd struct {
	Phase    phase    `json:"phase"`
	In       []byte   `json:"in,omitempty"`       // later hops: SHA-256 of the batch that came
	Receipts [][]byte `json:"receipts,omitempty"` // of the hops so far; from mixed on with our own
	Lost     bool     `json:"lost,omitempty"`     // withheld: for the batch was damaged on disk
	Size     int64    `json:"size,omitempty"`     // bytes of the batch that came, from mixed on of the one that leaves

	// Of a batch that was damaged on disk: chunks that were set aside, bytes in its
	// box, envelopes that were lost with them, and envelopes that were lost of the
	// batch that came, before it was mixed.
	Aside   []int `json:"aside,omitempty"`
	Whole   int64 `json:"whole,omitempty"`
	Damaged int   `json:"damaged,omitempty"`
	Before  int   `json:"before,omitempty"`

	// Where the bodies are: of the batch that came, until it is mixed, and then of the one that
	// leaves and of the tokens that were spent.
	Box string `json:"box,omitempty"`

	Laid *mixer.Crowd `json:"laid,omitempty"` // in parts: where they are; the key is on the crowd's shelf
	Part uint64       `json:"part,omitempty"` // from mixed on: envelopes in each part of the batch that leaves; 0: it goes as a whole

	Spent int `json:"spent,omitempty"` // from mixed on: tokens that counted

	First []byte `json:"first,omitempty"` // SHA-256 of the batch that left before anything was set aside, if it did

	row []byte // as it is on disk; nil: there is none
}

func (t *post) crowdKey(c uint32) string { return fmt.Sprintf("%s/%d", t.name, c) }

// restore reads the marks of an earlier process.
func (t *post) restore(ctx context.Context) error {
	if err := t.refresh(ctx); err != nil {
		return err
	}
	for c := range t.crowds {
		if err := t.checkBatch(ctx, uint32(c)); err != nil {
			return err
		}
	}
	return nil
}

// refresh reads the marks as they are, of which another process may have written some.
func (t *post) refresh(ctx context.Context) error {
	var mixedNow []uint32
	err := t.s.rows.Each(ctx, rows.Crowds, t.name+"/", func(key string, value []byte) error {
		c, err := strconv.ParseUint(key[len(t.name)+1:], 10, 32)
		if err != nil || c >= uint64(len(t.crowds)) {
			return fmt.Errorf("shuffler: the mark %s is none of ours", key)
		}
		state, err := t.parse(ctx, uint32(c), value)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.busy[uint32(c)] && !bytes.Equal(t.crowds[c].row, value) {
			if t.crowds[c].Box != state.Box && state.Spent > 0 {
				mixedNow = append(mixedNow, uint32(c))
			}
			t.take(uint32(c), state)
		}
		return nil
	})
	for _, c := range mixedNow {
		if err == nil {
			err = t.restoreSpent(ctx, c)
		}
	}
	return err
}

// parse reads the mark of a crowd, and the key of one that lies in parts.
func (t *post) parse(ctx context.Context, c uint32, value []byte) (state crowd, err error) {
	if state, err = parseCrowd(value); err != nil {
		return state, fmt.Errorf("shuffler: the mark %s is damaged: %w", t.crowdKey(c), err)
	}
	state.row = value
	if state.Laid != nil {
		state.Laid.Key, err = t.s.rows.Key(ctx, t.name, c, orderOf(*state.Laid))
	}
	return state, err
}

// orderOf says what the key of a crowd in parts is for: another attempt has another order.
func orderOf(laid mixer.Crowd) string { return "parts " + laid.Under }

// newLaid names a crowd that is to lie in parts.
func (t *post) newLaid(ctx context.Context, head envelope.Head) (laid mixer.Crowd, err error) {
	if t.hop == 0 {
		laid = mixer.NewEntry(t.name, head, t.form().Bytes(), t.s.o.PartBytes)
	} else {
		laid = mixer.New(t.name, head, t.s.o.PartBytes)
	}
	laid.Key, err = t.s.rows.Key(ctx, t.name, head.Crowd, orderOf(laid))
	return laid, err
}

// box returns a body of a crowd: "in", "out", or of tokens that were "spent".
func (t *post) box(ctx context.Context, kind string, c uint32, attempt string) (b rows.Box, err error) {
	b = rows.Box{Blobs: t.s.o.Blobs, Under: fmt.Sprintf("%s/%s", t.folder(kind, c), attempt)}
	if kind == spentKind { // they outlive the crowd, or a token counts twice after a restart
		b.Key, err = t.s.rows.SpentKey(ctx)
	} else {
		b.Key, err = t.s.rows.Key(ctx, t.name, c, "bodies")
	}
	return b, err
}

const inKind, outKind, spentKind = "in", "out", "spent"

// folder returns what the names of a crowd's bodies of a kind begin with, of any attempt.
func (t *post) folder(kind string, c uint32) string { return fmt.Sprintf("%s/%s/%d", t.name, kind, c) }

// restoreSpent reads the tokens that counted for a crowd that has been mixed.
func (t *post) restoreSpent(ctx context.Context, c uint32) error {
	state := t.state(c)
	if state.Spent == 0 || state.Phase != mixed && state.Phase != forwarded {
		return nil
	}
	b, err := t.box(ctx, spentKind, c, state.Box)
	if err != nil {
		return err
	}
	var spent []shuffler.TokenID
	err = b.Each(ctx, int64(state.Spent*tokenBytes), func(body []byte) error {
		for ; len(body) >= tokenBytes; body = body[tokenBytes:] {
			spent = append(spent, shuffler.TokenID(body))
		}
		return nil
	})
	if err != nil {
		return damaged(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent[c] = spent
	return nil
}

const tokenBytes = len(shuffler.TokenID{})

// checkBatch reads the batch of a crowd that is on its way, and compares it with
// what was signed. What is damaged is refused, or set aside.
func (t *post) checkBatch(ctx context.Context, c uint32) error {
	_, err := t.walkBatch(ctx, c, t.state(c), io.Discard)
	if errors.Is(err, keep.ErrDamaged) && t.s.o.SetAside {
		return t.setAside(ctx, c, err)
	}
	return damaged(err)
}

// parseCrowd reads the mark of a crowd, and refuses one that no step leaves.
func parseCrowd(value []byte) (crowd, error) {
	var c crowd
	if err := json.Unmarshal(value, &c); err != nil {
		return crowd{}, errors.New("not JSON of a crowd") // the cause may quote it
	}
	for _, r := range c.Receipts {
		if _, err := relay.ParseReceipt(r); err != nil {
			return crowd{}, err
		}
	}
	switch {
	case c.Phase != "" && c.Phase != arriving && c.Phase != received && c.Phase != laidOut && c.Phase != mixed && c.Phase != forwarded && c.Phase != withheld:
		return crowd{}, errors.New("there is no such phase")
	case len(c.In) != 0 && len(c.In) != sha256.Size, c.Size < 0, c.Whole < 0, c.Damaged < 0, c.Before < 0, c.Spent < 0:
		return crowd{}, errors.New("a digest or a size that none has")
	case (c.Phase == arriving || c.Phase == received || c.Phase == mixed || c.Phase == forwarded) && len(c.Receipts) == 0:
		return crowd{}, errors.New("without a receipt")
	case (c.Phase == received || c.Phase == mixed || c.Phase == forwarded) != (c.Box != "") || c.Box != "" && !blob.IsName(c.Box):
		return crowd{}, errors.New("a batch without a place, or the other way round")
	case (c.Phase == laidOut || c.Phase == arriving) != (c.Laid != nil):
		return crowd{}, errors.New("in parts without saying which, or the other way round")
	case c.Laid != nil:
		return c, c.Laid.Validate()
	}
	return c, nil
}

// state returns the mark of a crowd.
func (t *post) state(c uint32) crowd {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crowds[c]
}

// mark makes a crowd's new state last. After an error nobody knows: settle finds out.
func (t *post) mark(ctx context.Context, c uint32, next crowd) (err error) {
	next.row = next.value()
	if err = t.s.rows.Set(ctx, rows.Crowds, t.crowdKey(c), next.row, t.state(c).row); err == nil {
		err = t.s.o.Failpoint("marked " + string(next.Phase))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unsure[c] = true
		return err
	}
	t.take(c, next)
	return nil
}

// take is the state of a crowd from now on; mu is held.
func (t *post) take(c uint32, next crowd) {
	if t.crowds[c].Phase != next.Phase {
		t.changed[c] = t.s.o.Now()
	}
	t.crowds[c] = next
}

// value returns the mark as it is written, without the key of a crowd in parts.
func (c crowd) value() []byte {
	if c.Laid != nil {
		laid := *c.Laid
		laid.Key = shuffler.Key{}
		c.Laid = &laid
	}
	return shelves.Marshal(c)
}

// settle finds out what the marks of crowds are of which a write was not answered, before
// anything is done by them.
func (t *post) settle(ctx context.Context) error {
	t.mu.Lock()
	unsure := slices.Sorted(maps.Keys(t.unsure))
	t.mu.Unlock()
	for _, c := range unsure {
		if !t.claim(c) {
			continue // somebody takes its batch in
		}
		err := t.settleOne(ctx, c)
		t.release(c)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *post) settleOne(ctx context.Context, c uint32) (err error) {
	value, there, err := t.s.rows.Settled(ctx, rows.Crowds, t.crowdKey(c))
	var state crowd
	if err == nil && there {
		state, err = t.parse(ctx, c, value)
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.take(c, state)
	delete(t.unsure, c)
	t.mu.Unlock()
	return t.restoreSpent(ctx, c)
}
