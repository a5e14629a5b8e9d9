package shufflerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// patience is how long a piece of a batch may take, and the disk to take it.
const patience = 30 * time.Second

// receiver returns the post that batches of a leg are for.
func (s *Service) receiver(leg wire.Leg) (*post, error) {
	if leg.Hop == 0 {
		return nil, wire.Problemf(wire.WrongRole, "the entry takes contributions, not batches")
	}
	return s.post(leg.Plan, leg.Instance, leg.Hop)
}

// receive takes the batch of a crowd from the hop before: once, on disk before
// it is acknowledged. The receipts stand before the batch and are checked before
// a byte of it is kept; they say what its digest will be.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	t, err := s.receiver(leg)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.BatchType, wire.PartedType); err != nil {
		return err
	}
	if err := t.open(leg.Crowd); err != nil {
		return err
	}
	if web.CheckType(r.Header.Get("Content-Type"), wire.PartedType) == nil {
		return t.receiveManifest(w, r, leg)
	}
	again, err := t.receive(w, r, leg.Crowd)
	if err != nil {
		return err
	}
	serve.Created(w, again)
	if !again {
		t.poke()
	}
	return nil
}

// open refuses a crowd that the plan has not, and every batch once the plan is past.
func (t *post) open(c uint32) error {
	if int64(c) >= int64(len(t.crowds)) {
		return wire.Problemf(wire.BadRequest, "the plan has %d crowds, counted from 0", len(t.crowds))
	}
	if t.s.plans.Past(t.plan) {
		if t.s.o.Clock.Settled() != nil {
			return serve.Unsure()
		}
		return wire.Problemf(wire.EpochOver, "the plan has closed too long ago")
	}
	return nil
}

// receive takes the batch of a crowd to disk and marks it received; again reports that it was taken before.
func (t *post) receive(w http.ResponseWriter, r *http.Request, c uint32) (again bool, err error) {
	receipts, head, raw, err := t.readHead(w, r, c)
	if err != nil {
		return false, err
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return false, err
	}
	digest := receipts[len(receipts)-1].BatchOut

	claimed := t.claim(c)
	if claimed {
		defer t.release(c)
	}
	switch state := t.state(c); {
	case state.Phase != "" && state.Phase != arriving && bytes.Equal(state.In, digest[:]):
		return true, nil
	case state.Phase != "" && state.Phase != arriving:
		return false, wire.Problemf(wire.BatchTaken, "crowd %d", c+1)
	case !claimed:
		p := wire.Problemf(wire.Overloaded, "a batch of crowd %d is coming in already", c+1)
		p.RetryAfter = 5 * time.Second
		return false, p
	}

	// To the end, whatever becomes of the connection, once the body has come.
	ctx := context.WithoutCancel(r.Context())
	done, err := t.s.quota.Reserve(ctx, int64(handover.PrefixSize(t.hop))+head.Bytes())
	if err != nil {
		return false, inbox.Storage(err)
	}
	defer done()
	attempt := rows.Attempt()
	box, err := t.box(ctx, inKind, c, attempt)
	if err != nil {
		return false, inbox.Storage(err)
	}
	drop := func(reason error) (bool, error) {
		return false, errors.Join(reason, box.Drop(ctx))
	}
	to := box.Chunks(ctx)
	if _, err := to.Write(raw); err != nil {
		return drop(inbox.Storage(err))
	}
	if err := copyBody(to, serve.Body(w, r, head.Bytes()-envelope.HeadSize)); err != nil {
		return drop(err)
	}
	if err := to.Flush(); err != nil {
		return drop(inbox.Storage(err))
	}
	if to.Sum() != digest {
		return drop(wire.Problemf(wire.ReceiptRefused, "the batch is not the one that hop %d signed for", t.hop))
	}
	if err := t.s.o.Failpoint("batch-chunks-kept"); err != nil {
		return false, err
	}
	next := crowd{Phase: received, In: digest[:], Size: to.Size(), Box: attempt}
	for _, s := range receipts {
		next.Receipts = append(next.Receipts, s.Bytes())
	}
	if err := t.mark(ctx, c, next); err != nil {
		return false, inbox.Storage(err)
	}
	return false, t.s.o.Failpoint("batch-kept")
}

// copyBody copies a body to disk. An error of the disk is a problem of storage; one of the connection is returned as it is.
func copyBody(to *rows.Chunks, body io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if _, err := to.Write(buf[:n]); err != nil {
			return inbox.Storage(err)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// readHead reads and checks what stands before the envelopes: the receipts of the
// earlier hops, and the batch's own head.
func (t *post) readHead(w http.ResponseWriter, r *http.Request, c uint32) (receipts []relay.SignedReceipt, head envelope.Head, raw []byte, err error) {
	data := make([]byte, handover.PrefixSize(t.hop)+envelope.HeadSize)
	if _, err := io.ReadFull(serve.Body(w, r, int64(len(data))), data); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, head, nil, wire.Problemf(wire.BatchRefused, "truncated: not even %d receipts and a batch's header", t.hop)
	} else if err != nil {
		return nil, head, nil, err
	}
	if receipts, raw, err = handover.CutReceipts(data); err == nil {
		head, err = envelope.ParseHead(raw)
	}
	if err == nil {
		err = t.checkHead(head, c)
	}
	if total := int64(handover.PrefixSize(t.hop)) + head.Bytes(); err == nil && r.ContentLength >= 0 && r.ContentLength != total {
		err = fmt.Errorf("a body of %d bytes: %d envelopes of %d bytes make %d", r.ContentLength, head.Envelopes, head.Size, total)
	}
	if err != nil {
		return nil, head, nil, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	if err := handover.CheckChain(receipts, t.receiptKeys, head, receipts[len(receipts)-1].BatchOut); err != nil {
		return nil, head, nil, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	return receipts, head, raw, nil
}

// checkHead compares a batch's head with the plan and the path.
func (t *post) checkHead(h envelope.Head, c uint32) error {
	size, least, most := t.batchBounds(h.Respondents)
	switch {
	case h.Plan != t.hash || int(h.Instance) != t.instance || int(h.Hop) != t.hop || h.Crowd != c:
		return errors.New("the batch is of another plan, instance, hop or crowd than the path says")
	case h.Size != size:
		return fmt.Errorf("envelopes of %d bytes: the plan's have %d here", h.Size, size)
	case int64(h.Envelopes) < least || int64(h.Envelopes) > most:
		return fmt.Errorf("%d envelopes: need %d to %d", h.Envelopes, least, most)
	case int64(h.Respondents) < int64(t.plan.Crowd.Minimum):
		return fmt.Errorf("fewer than %d distinct respondents, the plan's minimum", t.plan.Crowd.Minimum)
	case t.plan.Crowd.Maximum > 0 && int64(h.Respondents) > int64(t.plan.Crowd.Maximum):
		return fmt.Errorf("more than %d respondents, the plan's maximum", t.plan.Crowd.Maximum)
	}
	return nil
}

// batchBounds returns the length of an envelope that reaches this hop, and how many
// so many respondents can have left: no fewer than those of n_h, no more than all.
func (t *post) batchBounds(respondents uint64) (size int, least, most int64) {
	perDevice := int64(t.plan.Envelopes.PerDevice)
	slots := t.plan.Slots(t.instance)
	layers := len(slots) - t.hop
	size = envelope.Suite(t.plan.Envelopes.Suite).Size(layers, t.plan.Envelopes.PayloadBytes)
	for _, s := range slots[t.hop:] {
		size += s
	}
	return size, max(1, int64(t.plan.MinHonest())*perDevice), int64(respondents) * perDevice
}

// mixReceived mixes what came, or lays it out in parts, and deletes it. What has rotted
// since it came is set aside first.
func (t *post) mixReceived(ctx context.Context, c uint32) error {
	err := t.alone(ctx, func() error {
		state := t.state(c)
		head, each, err := t.openBatch(ctx, c, state)
		if err == nil {
			err = t.mix(ctx, head, each, state)
		}
		if errors.Is(err, keep.ErrDamaged) {
			return errors.Join(err, t.setAside(ctx, c, err))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := t.s.o.Blobs.Delete(ctx, t.folder(inKind, c)); err != nil {
		return err
	}
	return t.s.o.Failpoint("inbox-purged")
}
