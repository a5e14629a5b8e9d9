package shufflerd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A batch that lies in a box has a digest that somebody has signed: the hop before,
// of one that came in, or this one, of one that is to leave. It is walked at each
// start and again before the batch is mixed or sent. Chunks that are damaged are set
// aside with the envelopes in them. The rest goes on if it certainly holds the whole
// contributions of n_min respondents: one envelope damages one contribution at most.

// boxed returns the box of a crowd's batch, and the SHA-256 that the batch was signed
// with; nil: no batch is kept.
func (t *post) boxed(ctx context.Context, c uint32, state crowd) (box rows.Box, want []byte, err error) {
	switch state.Phase {
	case received:
		box, err = t.box(ctx, inKind, c, state.Box)
		return box, state.In, err
	case mixed:
		r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
		if err != nil {
			return box, nil, fmt.Errorf("shuffler: a receipt that was kept: %w", err)
		}
		box, err = t.box(ctx, outKind, c, state.Box)
		return box, r.BatchOut[:], err
	}
	return box, nil, nil
}

// head returns what stands before the batch of a crowd that was received, or is to leave,
// by the receipt that was signed over it.
func (t *post) head(c uint32, state crowd) (envelope.Head, error) {
	r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
	if err != nil {
		return envelope.Head{}, fmt.Errorf("shuffler: a receipt that was kept: %w", err)
	}
	if r.Out < 1 {
		return envelope.Head{}, fmt.Errorf("%w: the receipt of crowd %d is of a batch without envelopes", keep.ErrDamaged, c+1)
	}
	return envelope.Head{
		Plan: t.hash, Instance: uint16(t.instance), Hop: r.Hop + 1, Crowd: c, Respondents: r.Respondents, Envelopes: r.Out,
		Size: int((state.Size - state.before()) / int64(r.Out)),
	}, nil
}

// before returns how many bytes of a box stand before the envelopes.
func (c crowd) before() int64 {
	if c.Part > 0 {
		return 0
	}
	return envelope.HeadSize
}

// walkBatch reads the batch of a crowd through to w, and finds its manifest if it goes
// in parts. ErrDamaged: it is not the one that was signed.
func (t *post) walkBatch(ctx context.Context, c uint32, state crowd, w io.Writer) (m handover.Manifest, err error) {
	box, want, err := t.boxed(ctx, c, state)
	if err != nil || want == nil {
		return m, err
	}
	head, err := t.head(c, state)
	if err != nil {
		return m, err
	}
	sum := transfer.NewSum(state.Part, head.Size)
	to := io.MultiWriter(sum, w)
	if len(state.Aside) > 0 {
		rest, err := t.rest(ctx, c, state)
		if err != nil || state.Phase == received { // the digest is of the whole
			return m, err
		}
		if err := transfer.Write(to, rest, state.Part); err != nil {
			return m, err
		}
	} else {
		err := box.Each(ctx, state.Size, func(body []byte) error {
			_, err := to.Write(body)
			return err
		})
		if err != nil {
			return m, err
		}
	}
	digest, m := sum.Digest(head)
	if !bytes.Equal(digest[:], want) {
		return m, fmt.Errorf("%w: the batch of crowd %d (blobs %s) is not the one that was signed", keep.ErrDamaged, c+1, box.Under)
	}
	return m, nil
}

// openBatch returns the batch of a crowd that is to be mixed: its head, and what gives its
// envelopes one after the other. Either returns ErrDamaged where the batch is not the one that was signed.
func (t *post) openBatch(ctx context.Context, c uint32, state crowd) (envelope.Head, func(func([]byte) error) error, error) {
	if len(state.Aside) > 0 {
		b, err := t.rest(ctx, c, state)
		return b.Head(), func(take func([]byte) error) error {
			for _, e := range b.Envelopes {
				if err := take(e); err != nil {
					return err
				}
			}
			return nil
		}, err
	}
	box, _, err := t.boxed(ctx, c, state)
	if err != nil {
		return envelope.Head{}, nil, err
	}
	first, err := box.Chunk(ctx, 0)
	if err != nil {
		return envelope.Head{}, nil, err
	}
	head, err := envelope.ParseHead(first)
	if err != nil {
		return head, nil, fmt.Errorf("%w: of the batch of crowd %d: %w", keep.ErrDamaged, c+1, err)
	}
	return head, func(take func([]byte) error) error {
		cut := envelope.Cutter{Skip: envelope.HeadSize, Size: head.Size, Take: take}
		_, err := t.walkBatch(ctx, c, state, &cut)
		return err
	}, nil
}

// rest returns a batch without what was set aside of it. ErrDamaged: there is more to
// set aside.
func (t *post) rest(ctx context.Context, c uint32, state crowd) (envelope.Batch, error) {
	saved, err := t.salvage(ctx, c, state)
	if err == nil && len(saved.aside) > len(state.Aside) {
		err = fmt.Errorf("%w: of the batch of crowd %d %d chunks were set aside, and %d are damaged", keep.ErrDamaged, c+1, len(state.Aside), len(saved.aside))
	}
	return saved.batch, err
}

// salvaged is what can be read of a batch.
type salvaged struct {
	batch   envelope.Batch
	aside   []int // chunks that cannot, or were set aside before
	damaged int   // envelopes in them
}

// salvage reads what can be read of a crowd's batch. If it is to be mixed, a damaged
// envelope is there as one that does not open; if it is to be sent, it is left out.
func (t *post) salvage(ctx context.Context, c uint32, state crowd) (s salvaged, err error) {
	box, want, err := t.boxed(ctx, c, state)
	if err != nil {
		return s, err
	}
	head, err := t.head(c, state)
	if err != nil {
		return s, err
	}
	number := int(head.Envelopes)
	if state.Phase == mixed {
		number += state.Damaged // those that the receipt leaves out already
	}
	size := int(state.whole()-state.before()) / number
	data, sum, n := make([]byte, state.whole()), transfer.NewSum(state.Part, size), 0
	for rest := data; len(rest) > 0; n++ {
		part := rest[:min(len(rest), rows.ChunkBody)]
		rest = rest[len(part):]
		body, err := box.Chunk(ctx, n)
		if err != nil && !errors.Is(err, keep.ErrDamaged) {
			return s, err
		}
		if err != nil || len(body) != len(part) || slices.Contains(state.Aside, n) {
			s.aside = append(s.aside, n)
		}
		copy(part, body)
		sum.Write(part)
	}
	head.Size = size
	if digest, _ := sum.Digest(head); len(s.aside) == 0 && !bytes.Equal(digest[:], want) { // nobody can tell which
		for i := range n {
			s.aside = append(s.aside, i)
		}
	}
	// What the header says stands in the receipt that was signed over the batch.
	s.batch = envelope.Batch{Plan: t.hash, Instance: uint16(t.instance), Hop: head.Hop, Crowd: c, Respondents: head.Respondents}
	for i := range number {
		from := int(state.before()) + i*size
		one := data[from : from+size : from+size]
		whole := !slices.ContainsFunc(s.aside, func(j int) bool { return from < (j+1)*rows.ChunkBody && from+size > j*rows.ChunkBody })
		if !whole {
			s.damaged++
			if state.Phase == mixed {
				continue
			}
			clear(one)
			binary.BigEndian.PutUint64(one, uint64(i)) // no two alike
		}
		s.batch.Envelopes = append(s.batch.Envelopes, one)
	}
	return s, nil
}

// whole returns how many bytes of the batch were put into its box.
func (c crowd) whole() int64 { return cmp.Or(c.Whole, c.Size) }

// setAside goes on without what is damaged of a crowd's batch, for good: with the
// rest if that certainly holds n_min respondents, and otherwise without the crowd.
func (t *post) setAside(ctx context.Context, c uint32, why error) error {
	state := t.state(c)
	saved, err := t.salvage(ctx, c, state)
	if err != nil {
		return err
	}
	r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
	if err != nil {
		return fmt.Errorf("shuffler: a receipt that was kept: %w", err)
	}
	log := t.s.o.Log.With("plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c)
	log.Error("a batch is damaged on disk", "chunks", len(saved.aside), "envelopes", saved.damaged, "error", why.Error())
	if !t.holdsMinimum(saved) {
		log.Error("a crowd is lost: what is left of it may be of fewer than the plan's minimum")
		return t.mark(ctx, c, crowd{Phase: withheld, In: state.In, Lost: true})
	}
	next := state
	next.Whole, next.Aside, next.Damaged = state.whole(), saved.aside, saved.damaged
	if state.Phase == mixed { // another batch, with a receipt of its own
		head, size := saved.batch.Head(), counter(0)
		sum := transfer.NewSum(state.Part, head.Size)
		if err := transfer.Write(io.MultiWriter(sum, &size), saved.batch, state.Part); err != nil {
			return err
		}
		lost := uint64(saved.damaged - state.Damaged)
		again := r.Receipt
		again.Out, again.Dropped = r.Out-lost, r.Dropped+lost
		again.BatchOut, _ = sum.Digest(head)
		next.Size = int64(size)
		if len(next.First) == 0 {
			next.First = r.BatchOut[:]
		}
		next.Receipts = append(slices.Clone(state.Receipts[:len(state.Receipts)-1]), again.Sign(t.sign).Bytes())
	}
	return t.mark(ctx, c, next)
}

// holdsMinimum reports whether n_min respondents are certainly whole in what is left
// of a batch. Each envelope that is not there may be of another one.
func (t *post) holdsMinimum(s salvaged) bool {
	left := int64(len(s.batch.Envelopes))
	if int(s.batch.Hop) == t.hop { // the damaged ones are still among them
		left -= int64(s.damaged)
	}
	respondents := int64(s.batch.Respondents)
	missing := respondents*int64(t.plan.Envelopes.PerDevice) - left
	return respondents-missing >= int64(t.plan.Crowd.Minimum)
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
