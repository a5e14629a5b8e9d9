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

	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
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
	if there, manifest, err := t.there(ctx, c, state); err != nil {
		return err
	} else if !there {
		if state.Part > 0 {
			err = t.sendParts(ctx, c, state, manifest)
		} else {
			err = t.send(ctx, c, state)
		}
		if err != nil {
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
	if err := t.clear(ctx, c); err != nil {
		return err
	}
	return t.s.o.Failpoint("outbox-purged")
}

// there walks the batch that is to leave, sets aside what is damaged of it, and
// reports whether the next one has it already, from before it was damaged. The manifest
// is that of a batch that goes in parts.
func (t *post) there(ctx context.Context, c uint32, state crowd) (bool, handover.Manifest, error) {
	manifest, err := t.walkBatch(ctx, c, state, io.Discard)
	damaged := errors.Is(err, keep.ErrDamaged)
	if err != nil && !damaged {
		return false, manifest, err
	}
	if damaged || len(state.First) > 0 {
		r, broken := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
		if broken != nil {
			return false, manifest, fmt.Errorf("shuffler: a receipt that was kept: %w", broken)
		}
		held, unknown := t.behind.Held(ctx, t.s.o.Client, c)
		if unknown == nil && held.Received != "" && (held.Received == hexOf(r.BatchOut[:]) || held.Received == hexOf(state.First)) {
			return true, manifest, nil
		}
	}
	if damaged {
		err = errors.Join(err, t.setAside(ctx, c, err))
	}
	return false, manifest, err
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

// behind returns the receipts that a crowd's batch travels behind.
func (c crowd) behind() (receipts []relay.SignedReceipt, err error) {
	for _, text := range c.Receipts {
		r, err := relay.ParseReceipt(text)
		if err != nil {
			return nil, fmt.Errorf("shuffler: a receipt that was kept: %w", err)
		}
		receipts = append(receipts, r)
	}
	return receipts, nil
}

// send hands a batch over as a whole.
func (t *post) send(ctx context.Context, c uint32, state crowd) error {
	receipts, err := state.behind()
	if err != nil {
		return err
	}
	batch := piped(func(w io.Writer) error {
		_, err := t.walkBatch(ctx, c, state, w)
		return err
	})
	defer batch.Close()
	prefix := handover.MarshalHandover(receipts, nil)
	_, err = t.put(ctx, wire.BatchPath(t.hash, uint16(t.instance), uint8(t.hop+1), c), wire.BatchType, io.MultiReader(bytes.NewReader(prefix), batch), int64(len(prefix))+state.Size, state.Size)
	return err
}

// put sends a body of so many bytes to the next one, and reads what it answers, nil
// where it has everything. patience is what it may have to work on, bytes.
func (t *post) put(ctx context.Context, path, mediaType string, body io.Reader, length, work int64) (missing []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience+time.Duration(work/slowest)*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, strings.TrimSuffix(t.next().URL, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("shuffler: %w", err)
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", mediaType)
	res, err := t.s.o.Client.Do(req)
	if err != nil {
		return nil, &peerError{t.next().Operator, "is out of reach", err}
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return nil, &peerError{t.next().Operator, "refuses: " + string(p.Code), p}
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, handover.MaxMissingBytes+1)) // also so that the connection can serve again
	switch {
	case res.StatusCode == http.StatusOK || res.StatusCode == http.StatusCreated:
		return nil, nil
	case res.StatusCode == http.StatusAccepted && mediaType == wire.PartedType && err == nil:
		return text, nil
	}
	return nil, &peerError{t.next().Operator, fmt.Sprintf("answers %d, which acknowledges nothing", res.StatusCode), nil} // a proxy on the way, perhaps
}

// sendParts hands a batch over in parts: those that the next one has not. It has the batch
// when it lacks none.
func (t *post) sendParts(ctx context.Context, c uint32, state crowd, m handover.Manifest) error {
	receipts, err := state.behind()
	if err != nil {
		return err
	}
	read, err := t.readPart(ctx, c, state, m)
	if err != nil {
		return err
	}
	leg := wire.Leg{Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(t.hop + 1), Crowd: c}
	return transfer.Send(leg, receipts, m, transfer.Sender{
		Read: read,
		Put: func(path, mediaType string, body io.Reader, length int64) ([]byte, error) {
			return t.put(ctx, path, mediaType, body, length, max(length, m.Head.Bytes()))
		},
		Broken: func(what string, cause error) error { return &peerError{t.next().Operator, what, cause} },
		Sent:   func() error { return t.s.o.Failpoint("part-sent") },
	})
}

// readPart gives the parts of a batch that is to leave.
func (t *post) readPart(ctx context.Context, c uint32, state crowd, m handover.Manifest) (func(n int) ([]byte, error), error) {
	if len(state.Aside) > 0 {
		rest, err := t.rest(ctx, c, state)
		return func(n int) ([]byte, error) {
			from := n * int(state.Part)
			return bytes.Join(rest.Envelopes[from:from+int(m.Parts[n].Envelopes)], nil), nil
		}, err
	}
	box, err := t.box(ctx, outKind, c, state.Box)
	return func(n int) ([]byte, error) {
		part, err := box.Stretch(ctx, int64(n)*m.PartBytes(0), m.PartBytes(n))
		if err != nil {
			return nil, fmt.Errorf("of the batch of crowd %d: %w", c+1, err)
		}
		return part, nil
	}, err
}
