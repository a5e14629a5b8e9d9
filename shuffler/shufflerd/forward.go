package shufflerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// forward hands a mixed crowd to the next hop, or to the analyzer, and deletes
// it once that is acknowledged. What is sent again is the same, byte for byte,
// and the next one says so.
func (t *post) forward(ctx context.Context, c uint32) error {
	if t.givenUp(c) {
		return nil
	}
	state := t.state(c)
	if there, err := t.there(ctx, c, state); err != nil {
		return err
	} else if !there {
		if err := t.send(ctx, c, state); err != nil {
			t.refused(c, err)
			if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == wire.PlanWithdrawn {
				err = errors.Join(err, t.adopt(ctx))
			}
			return err
		}
	}
	if err := t.s.o.Failpoint("next-acknowledged"); err != nil {
		return err
	}
	state.Phase = forwarded
	if err := t.mark(ctx, c, state); err != nil {
		return err
	}
	if err := t.s.o.Failpoint("forwarded"); err != nil {
		return err
	}
	if err := t.s.o.Queue.Drop(ctx, t.outName(c)); err != nil {
		return err
	}
	return t.s.o.Failpoint("outbox-purged")
}

// there walks the batch that is to leave, sets aside what is damaged of it, and
// reports whether the next one has it already, from before it was damaged.
func (t *post) there(ctx context.Context, c uint32, state crowd) (bool, error) {
	err := t.walkBatch(ctx, c, state, io.Discard)
	damaged := errors.Is(err, queue.ErrDamaged)
	if err != nil && !damaged {
		return false, err
	}
	if damaged || len(state.First) > 0 {
		r, broken := wire.ParseReceipt(state.Receipts[len(state.Receipts)-1])
		if broken != nil {
			return false, fmt.Errorf("shuffler: a receipt that was kept: %w", broken)
		}
		held, unknown := t.ask(ctx, t.next().URL, t.hop+1, c)
		if unknown == nil && held.Received != "" && (held.Received == hexOf(r.BatchOut[:]) || held.Received == hexOf(state.First)) {
			return true, nil
		}
	}
	if damaged {
		err = errors.Join(err, t.setAside(ctx, c, err))
	}
	return false, err
}

// peerError is what keeps the next one from having a batch.
type peerError struct {
	operator, what string // for the status: of the plan, and of ours
	cause          error
}

func (e *peerError) Error() string {
	text := "shuffler: " + e.operator + " " + e.what
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *peerError) Unwrap() error { return e.cause }

// enough is how many times in a row the next one may refuse a batch for good: what
// was spoilt on the way is not spoilt again and again.
const enough = 3

// refusal is how often the next one has refused a crowd's batch, and how.
type refusal struct {
	times int
	why   string
}

// refused counts a refusal that the same bytes will meet again. After enough of
// them the batch stays on disk, is not sent again before a restart, and is an alarm.
func (t *post) refused(c uint32, err error) {
	peer, fromPeer := errors.AsType[*peerError](err)
	p, ok := errors.AsType[*wire.Problem](err)
	final := ok && fromPeer && slices.Contains([]wire.Code{wire.BatchRefused, wire.ReceiptRefused, wire.BatchTaken, wire.EpochOver, wire.TooLarge}, p.Code)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !final {
		delete(t.refusals, c)
		return
	}
	r := refusal{t.refusals[c].times + 1, peer.operator + " " + peer.what}
	t.refusals[c] = r
	if r.times == enough {
		t.s.o.Log.Error("a batch is refused for good, and is not sent again before a restart", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c, "reason", r.why)
	}
}

// givenUp says that a crowd's batch is not sent any more.
func (t *post) givenUp(c uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusals[c].times >= enough
}

// slowest is the rate in bytes a second below which sending is given up.
const slowest = 64 << 10

func (t *post) send(ctx context.Context, c uint32, state crowd) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience+time.Duration(state.Size/slowest)*time.Second)
	defer cancel()
	receipts := make([]wire.SignedReceipt, len(state.Receipts))
	for i, text := range state.Receipts {
		var err error
		if receipts[i], err = wire.ParseReceipt(text); err != nil {
			return fmt.Errorf("shuffler: a receipt that was kept: %w", err)
		}
	}
	batch := piped(func(w io.Writer) error { return t.walkBatch(ctx, c, state, w) })
	defer batch.Close()
	prefix := wire.MarshalHandover(receipts, nil)
	url := strings.TrimSuffix(t.next().URL, "/") + wire.BatchPath(t.hash, uint16(t.instance), uint8(t.hop+1), c)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, io.MultiReader(bytes.NewReader(prefix), batch))
	if err != nil {
		return fmt.Errorf("shuffler: %w", err)
	}
	req.ContentLength = int64(len(prefix)) + state.Size
	req.Header.Set("Content-Type", wire.BatchType)
	res, err := t.s.o.Client.Do(req)
	if err != nil {
		return &peerError{t.next().Operator, "is out of reach", err}
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return &peerError{t.next().Operator, "refuses: " + string(p.Code), p}
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated { // a proxy on the way, perhaps
		return &peerError{t.next().Operator, fmt.Sprintf("answers %d, which acknowledges nothing", res.StatusCode), nil}
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 1<<10)) // so that the connection can serve again
	return nil
}
