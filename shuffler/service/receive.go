package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// patience is how long a piece of a batch may take, and the disk to take it.
const patience = 30 * time.Second

// receive takes the batch of a crowd from the hop before: once, on disk before
// it is acknowledged. The receipts stand before the batch and are checked before
// a byte of it is kept; they say what its digest will be.
func (s *Service) receive(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	if leg.Hop == 0 {
		return wire.Problemf(wire.WrongRole, "the entry takes contributions, not batches")
	}
	t, err := s.post(leg.Plan, leg.Instance, leg.Hop)
	if err != nil {
		return err
	}
	if err := wire.CheckType(r, wire.BatchType); err != nil {
		return err
	}
	if int64(leg.Crowd) >= int64(len(t.crowds)) {
		return wire.Problemf(wire.BadRequest, "the plan has %d crowds, counted from 0", len(t.crowds))
	}
	if s.over(t.plan) {
		if s.o.Clock.Settled() != nil {
			return unsure()
		}
		return wire.Problemf(wire.EpochOver, "the plan has closed too long ago")
	}
	again, err := t.receive(w, r, leg.Crowd)
	if err != nil {
		return err
	}
	if again {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusCreated)
		t.poke()
	}
	return nil
}

func (t *post) receive(w http.ResponseWriter, r *http.Request, c uint32) (again bool, err error) {
	receipts, head, total, err := t.readHead(w, r, c)
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
	case state.Phase != "" && bytes.Equal(state.In, digest[:]):
		return true, nil
	case state.Phase != "":
		return false, wire.Problemf(wire.BatchTaken, "crowd %d", c+1)
	case !claimed:
		p := wire.Problemf(wire.Overloaded, "a batch of crowd %d is coming in already", c+1)
		p.RetryAfter = 5 * time.Second
		return false, p
	}

	// To the end, whatever becomes of the connection, once the body has come.
	ctx := context.WithoutCancel(r.Context())
	q, name := t.s.o.Queue, t.batchName(c)
	if err := q.Room(ctx, total); err != nil {
		return false, storage(err)
	}
	if err := q.Drop(ctx, name); err != nil { // of an attempt that was cut short
		return false, storage(err)
	}
	box, err := q.Box(ctx, name, queue.Refuse)
	if err != nil {
		return false, storage(err)
	}
	drop := func(reason error) (bool, error) {
		return false, errors.Join(reason, q.Drop(ctx, name))
	}
	to := newChunks(ctx, box)
	if _, err := to.Write(head); err != nil {
		return drop(storage(err))
	}
	if err := copyBody(to, serve.Body(w, r, total-int64(prefixSize(t.hop)+batchHeader))); err != nil {
		return drop(err)
	}
	if err := to.flush(); err != nil {
		return drop(storage(err))
	}
	if to.sum() != digest {
		return drop(wire.Problemf(wire.ReceiptRefused, "the batch is not the one that hop %d signed for", t.hop))
	}
	if err := t.s.o.Failpoint("batch-chunks-kept"); err != nil {
		return false, err
	}
	next := crowd{Phase: received, In: digest[:], Size: to.size}
	for _, s := range receipts {
		next.Receipts = append(next.Receipts, s.Bytes())
	}
	if err := t.mark(ctx, c, next); err != nil {
		return false, storage(err)
	}
	return false, t.s.o.Failpoint("batch-kept")
}

// copyBody tells a body that does not come from a disk that does not take it.
func copyBody(to *chunks, body io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if _, err := to.Write(buf[:n]); err != nil {
			return storage(err)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// prefixSize is the length in bytes of what stands before the batch that comes to a
// hop: a receipt of each hop before it, and a few bytes.
func prefixSize(hop int) int { return len(wire.MarshalHandover(make([]wire.SignedReceipt, hop), nil)) }

// readHead reads and checks what stands before the envelopes: the receipts of
// the earlier hops, and the batch's own header, which it returns with the length
// of the whole.
func (t *post) readHead(w http.ResponseWriter, r *http.Request, c uint32) (receipts []wire.SignedReceipt, header []byte, total int64, err error) {
	// The form is wire.Handover's: a few bytes, receipts, then the batch.
	prefix := prefixSize(t.hop)
	head := make([]byte, prefix+batchHeader)
	if _, err := io.ReadFull(serve.Body(w, r, int64(len(head))), head); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "truncated: not even %d receipts and a batch's header", t.hop)
	} else if err != nil {
		return nil, nil, 0, err
	}
	header = head[prefix:]
	number := int64(binary.BigEndian.Uint32(header[40:]))
	size := int64(binary.BigEndian.Uint32(header[44:]))
	want, least, most := t.batchBounds(binary.BigEndian.Uint32(header[49:]))
	total = int64(len(head)) + number*size
	switch {
	case size != int64(want):
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "envelopes of %d bytes: the plan's have %d here", size, want)
	case r.ContentLength >= 0 && r.ContentLength != total:
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "a body of %d bytes: %d envelopes of %d bytes make %d", r.ContentLength, number, size, total)
	case number < least || number > most:
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "%d envelopes: need %d to %d", number, least, most)
	}
	// Everything else about the head is checked on a batch with its number of
	// envelopes, whose content is still to come.
	one := append(bytes.Clone(head), make([]byte, size)...)
	binary.BigEndian.PutUint32(one[prefix+40:], 1)
	h, err := wire.ParseHandover(one)
	if err != nil {
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	b := h.Batch
	if b.Plan != t.hash || int(b.Instance) != t.instance || int(b.Hop) != t.hop || b.Crowd != c {
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "the batch is of another plan, instance, hop or crowd than the path says")
	}
	if int64(b.Respondents) < int64(t.plan.Crowd.Minimum) {
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "fewer than %d distinct respondents, the plan's minimum", t.plan.Crowd.Minimum)
	}
	if most := int64(t.plan.Crowd.Maximum); most > 0 && int64(b.Respondents) > most {
		return nil, nil, 0, wire.Problemf(wire.BatchRefused, "more than %d respondents, the plan's maximum", most)
	}
	b.Envelopes = make([][]byte, number)
	if err := wire.CheckChain(h.Receipts, t.receiptKeys, b, h.Receipts[len(h.Receipts)-1].BatchOut); err != nil {
		return nil, nil, 0, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	return h.Receipts, header, total, nil
}

// batchBounds are the length of an envelope that reaches this hop, and how many
// so many respondents can have left: no fewer than those of n_h, no more than all.
func (t *post) batchBounds(respondents uint32) (size int, least, most int64) {
	perDevice := int64(t.plan.Envelopes.PerDevice)
	slots := t.plan.Slots(t.instance)
	layers := len(slots) - t.hop
	size = envelope.Suite(t.plan.Envelopes.Suite).Size(layers, t.plan.Envelopes.PayloadBytes)
	for _, s := range slots[t.hop:] {
		size += s
	}
	return size, max(1, int64(t.plan.HonestMinimum())*perDevice), int64(respondents) * perDevice
}

// mixReceived mixes what came, and deletes it. What has rotted since it came is set
// aside first.
func (t *post) mixReceived(ctx context.Context, c uint32) error {
	err := t.alone(ctx, func() error {
		b, err := t.readBatch(ctx, c, t.state(c))
		if errors.Is(err, queue.ErrDamaged) {
			return errors.Join(err, t.setAside(ctx, c, err))
		}
		if err != nil {
			return err
		}
		return t.mix(ctx, b, t.state(c))
	})
	if err != nil {
		return err
	}
	if err := t.s.o.Queue.Drop(ctx, t.batchName(c)); err != nil {
		return err
	}
	return t.s.o.Failpoint("inbox-purged")
}
