package shufflerd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/queue"
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

	Laid *mixer.Crowd `json:"laid,omitempty"` // in parts: where they are, and the key
	Part uint64       `json:"part,omitempty"` // from mixed on: envelopes in each part of the batch that leaves; 0: it goes as a whole

	First []byte `json:"first,omitempty"` // SHA-256 of the batch that left before anything was set aside, if it did

	revision uint64
}

func (t *post) crowdKey(c uint32) string  { return fmt.Sprintf("crowd.%s.%d", t.name, c) }
func (t *post) spentName() string         { return "spent_" + t.name }
func (t *post) outName(c uint32) string   { return fmt.Sprintf("out_%s_%d", t.name, c) }
func (t *post) batchName(c uint32) string { return fmt.Sprintf("in_%s_%d", t.name, c) }

// restore reads the marks of an earlier process.
func (t *post) restore(ctx context.Context) error {
	r := t.s.records
	err := r.Each(ctx, "crowd."+t.name, func(key string, value []byte, revision uint64) error {
		var c uint32
		if _, err := fmt.Sscanf(key[len("crowd."+t.name):], ".%d", &c); err != nil || int(c) >= len(t.crowds) {
			return fmt.Errorf("shuffler: the record %s is none of ours", key)
		}
		state, err := parseCrowd(value)
		if err != nil {
			return fmt.Errorf("shuffler: the record %s is damaged: %w", key, err)
		}
		state.revision = revision
		t.crowds[c], t.changed[c] = state, t.s.o.Now()
		return nil
	})
	if err != nil {
		return err
	}
	for c := range t.crowds {
		if err := t.checkBatch(ctx, uint32(c)); err != nil {
			return err
		}
	}
	for c := range t.crowds {
		if err := t.restoreSpent(ctx, uint32(c)); err != nil {
			return err
		}
	}
	return nil
}

// restoreSpent reads the tokens that counted for a crowd that has been mixed.
func (t *post) restoreSpent(ctx context.Context, c uint32) error {
	state := t.state(c)
	if !t.demandsTokens() || state.Phase != mixed && state.Phase != forwarded {
		return nil
	}
	b, err := t.s.o.Queue.Box(ctx, t.spentName(), queue.Refuse)
	if err != nil {
		return err
	}
	var spent []shuffler.TokenID
	err = b.Each(ctx, fmt.Sprint(c), func(_ string, body []byte) error {
		for ; len(body) >= 32; body = body[32:] {
			spent = append(spent, shuffler.TokenID(body))
		}
		return nil
	})
	if err != nil {
		return damaged(err)
	}
	r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
	if err == nil && t.hop > 0 && len(spent) < int(r.Tokens) {
		err = fmt.Errorf("%w: %d of the %d tokens that were spent for crowd %d are known", queue.ErrDamaged, len(spent), r.Tokens, c+1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent[c] = spent
	return damaged(err)
}

// checkBatch reads the batch of a crowd that is on its way, and compares it with
// what was signed. What is damaged is refused, or set aside.
func (t *post) checkBatch(ctx context.Context, c uint32) error {
	_, err := t.walkBatch(ctx, c, t.state(c), io.Discard)
	if errors.Is(err, queue.ErrDamaged) && t.s.o.Damage == queue.SetAside {
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
	case len(c.In) != 0 && len(c.In) != sha256.Size, c.Size < 0, c.Whole < 0, c.Damaged < 0, c.Before < 0:
		return crowd{}, errors.New("a digest or a size that none has")
	case (c.Phase == arriving || c.Phase == received || c.Phase == mixed || c.Phase == forwarded) && len(c.Receipts) == 0:
		return crowd{}, errors.New("without a receipt")
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
	next.revision, err = t.s.records.Set(ctx, t.crowdKey(c), next.value(), t.state(c).revision)
	if err == nil {
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

// value returns the mark as it is written.
func (c crowd) value() []byte {
	value, err := json.Marshal(c)
	if err != nil {
		panic("shuffler: " + err.Error()) // bytes and numbers always encode
	}
	return value
}

// settle finds out what the marks of crowds are of which a write was not answered, before
// anything is done by them. It writes what the mark was once more: then the write that was not
// answered cannot come late; or that has come, and is the mark.
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
	state := t.state(c)
	state.revision, err = t.s.records.Set(ctx, t.crowdKey(c), state.value(), state.revision)
	if errors.Is(err, queue.ErrChanged) {
		value, revision, failed := t.s.records.Get(ctx, t.crowdKey(c))
		if failed == nil {
			state, failed = parseCrowd(value)
		}
		state.revision, err = revision, failed
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
