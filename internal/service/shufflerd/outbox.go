package shufflerd

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// piped reads what a function writes. Closing it ends the function.
func piped(write func(io.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	return r
}

// mix mixes a crowd that fits memory, and lays out in parts one that does not. What was
// laid out is mixed later, and needs what came no more.
//
// The key of a crowd in memory is drawn again if the process ends before the mark: nobody
// has seen the order that the first one gave.
func (t *post) mix(ctx context.Context, head envelope.Head, each func(func([]byte) error) error, came crowd) error {
	mixer, err := t.mixer()
	if err != nil {
		return err
	}
	switch err := t.check(ctx, mixer, head); {
	case errors.Is(err, shuffler.ErrWithheld):
		return t.withhold(ctx, head.Crowd, came.In)
	case err != nil:
		return err
	}
	if head.Bytes() > int64(t.s.o.PartBytes) {
		return t.lay(ctx, head, each, came)
	}
	var all [][]byte
	if err := each(func(one []byte) error { all = append(all, one); return nil }); err != nil {
		return err
	}
	var out envelope.Batch
	var did shuffler.Receipt
	if t.hop == 0 {
		out, did, err = mixer.Enter(shuffler.Collected{Plan: head.Plan, Instance: head.Instance, Crowd: head.Crowd, Bodies: all})
	} else {
		out, did, err = mixer.Mix(envelope.Batch{Plan: head.Plan, Instance: head.Instance, Crowd: head.Crowd, Hop: head.Hop, Respondents: head.Respondents, Envelopes: all})
	}
	if errors.Is(err, shuffler.ErrWithheld) {
		return t.withhold(ctx, head.Crowd, came.In)
	}
	if err != nil {
		return err
	}
	came.Before = came.Damaged
	return t.leave(ctx, came, out.Head(), did, mixer.Spent(head.Crowd), func(w io.Writer) error {
		for _, e := range out.Envelopes {
			if _, err := w.Write(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// check says whether a crowd may be mixed, by what is said of it here and at the next one.
func (t *post) check(ctx context.Context, hop *shuffler.Hop, head envelope.Head) error {
	if err := t.compareNext(ctx, head.Crowd); err != nil {
		return err
	}
	return hop.Check(head)
}

// leave writes what is to leave of a crowd to the outbox, whose envelopes write gives, and
// marks it as mixed. The mark is the one thing that counts.
func (t *post) leave(ctx context.Context, came crowd, head envelope.Head, did shuffler.Receipt, spent []shuffler.TokenID, write func(io.Writer) error) error {
	if t.hop > 0 && len(came.Receipts) == 0 {
		return errors.New("shuffler: a batch without receipts was kept")
	}
	attempt := rows.Attempt()
	box, err := t.box(ctx, outKind, head.Crowd, attempt)
	if err != nil {
		return err
	}
	part := transfer.PartOf(head, t.s.o.PartBytes)
	sum, w := transfer.NewSum(part, head.Size), box.Chunks(ctx)
	to := io.MultiWriter(w, sum)
	if part == 0 {
		err = head.Write(to)
	}
	if err == nil {
		err = write(to)
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = t.keepSpent(ctx, head.Crowd, attempt, spent)
	}
	if err != nil {
		return errors.Join(err, box.Drop(context.WithoutCancel(ctx)))
	}
	receipt := relay.Receipt{
		Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(t.hop), Crowd: head.Crowd,
		Respondents: head.Respondents, Tokens: uint64(did.Tokens),
		In: uint64(did.In), Out: uint64(did.Out), Dropped: uint64(did.Dropped), Duplicates: uint64(did.Duplicates),
	}
	receipt.BatchOut, _ = sum.Digest(head)
	if t.hop == 0 {
		if t.plan.Route.Instances()[t.instance].Hops[0].Tokens != "" {
			receipt.Tokens = head.Respondents // each came with one
		}
	} else {
		receipt.BatchIn = [32]byte(came.In)
		receipt.Previous = sha256.Sum256(came.Receipts[len(came.Receipts)-1])
	}
	if err := t.s.o.Failpoint("outbox-written"); err != nil {
		return err
	}
	next := crowd{Phase: mixed, In: came.In, Size: w.Size(), Part: part, Before: came.Before, Box: attempt, Spent: len(spent)}
	next.Receipts = append(append(next.Receipts, came.Receipts...), receipt.Sign(t.sign).Bytes())
	if err := t.mark(ctx, head.Crowd, next); err != nil {
		return err
	}
	t.mu.Lock()
	t.spent[head.Crowd] = spent
	t.mu.Unlock()
	if did.Dropped > 0 { // one contribution that does not open drops all its envelopes, here or at the next hop
		t.s.o.Log.Warn("envelopes did not open", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", head.Crowd, "envelopes", did.Dropped,
			"contributions at least", (did.Dropped+t.plan.Envelopes.PerDevice-1)/t.plan.Envelopes.PerDevice)
	}
	t.s.meters.batches.Add(1)
	t.s.meters.envelopes.Add(int(did.Out))
	return t.s.o.Failpoint("mixed")
}

// keepSpent writes down the tokens that counted for a crowd.
func (t *post) keepSpent(ctx context.Context, c uint32, attempt string, ids []shuffler.TokenID) error {
	box, err := t.box(ctx, spentKind, c, attempt)
	if err != nil {
		return err
	}
	to := box.Chunks(ctx)
	for _, id := range ids {
		if _, err := to.Write(id[:]); err != nil {
			return err
		}
	}
	return to.Flush()
}
