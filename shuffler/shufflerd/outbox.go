package shufflerd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/shuffler"
)

// chunk is how much of a batch goes into one message of a box, in bytes: much
// beside what a message costs, little beside what a process has.
const chunk = queue.ChunkBody

// chunks writes a stream into a box.
type chunks struct {
	ctx    context.Context
	box    *queue.Box
	n      int
	size   int64
	digest hash.Hash
	buf    []byte
}

func newChunks(ctx context.Context, box *queue.Box) *chunks {
	return &chunks{ctx: ctx, box: box, digest: sha256.New(), buf: make([]byte, 0, chunk)}
}

func (c *chunks) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(len(p), cap(c.buf)-len(c.buf))
		c.buf, p = append(c.buf, p[:n]...), p[n:]
		if len(c.buf) == cap(c.buf) {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (c *chunks) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	if _, err := c.box.Put(c.ctx, fmt.Sprint(c.n), "chunk", c.buf); err != nil {
		return err
	}
	c.digest.Write(c.buf)
	c.size += int64(len(c.buf))
	c.n++
	c.buf = c.buf[:0]
	return nil
}

// sum is the SHA-256 of what was flushed.
func (c *chunks) sum() [32]byte { return [32]byte(c.digest.Sum(nil)) }

// piped reads what a function writes. Closing it ends the function.
func piped(write func(io.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	return r
}

// mix mixes a crowd, writes what comes out to the outbox, and marks it as mixed.
// The mark is the one thing that counts: without it, all is done again with
// another permutation, and nobody has seen the first.
func (t *post) mix(ctx context.Context, b envelope.Batch, came crowd) error {
	if _, err := t.compareNext(ctx, b.Crowd); err != nil {
		return err
	}
	mixer, err := t.mixer()
	if err != nil {
		return err
	}
	out, did, err := mixer.Mix(b)
	if errors.Is(err, shuffler.ErrWithheld) {
		return t.withhold(ctx, b.Crowd, came.In)
	}
	if err != nil {
		return err
	}
	q, name := t.s.o.Queue, t.outName(b.Crowd)
	if err := q.Drop(ctx, name); err != nil { // of a process that got no further
		return err
	}
	box, err := q.Box(ctx, name, queue.Refuse)
	if err != nil {
		return err
	}
	w := newChunks(ctx, box)
	if _, err := out.WriteTo(w); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := t.keepSpent(ctx, b.Crowd, mixer.Spent(b.Crowd)); err != nil {
		return err
	}
	receipt := wire.Receipt{
		Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(t.hop), Crowd: b.Crowd,
		Respondents: b.Respondents, Tokens: uint32(did.Tokens),
		In: uint32(did.In), Out: uint32(did.Out), Dropped: uint32(did.Dropped), Duplicates: uint32(did.Duplicates),
		BatchOut: w.sum(),
	}
	if t.hop == 0 {
		if t.plan.Route.Instances()[t.instance].Hops[0].Tokens != "" {
			receipt.Tokens = b.Respondents // each came with one
		}
	} else {
		receipt.BatchIn = [32]byte(came.In)
		receipt.Previous = sha256.Sum256(came.Receipts[len(came.Receipts)-1])
	}
	if err := t.s.o.Failpoint("outbox-written"); err != nil {
		return err
	}
	next := crowd{Phase: mixed, In: came.In, Size: w.size, Before: came.Damaged}
	next.Receipts = append(append(next.Receipts, came.Receipts...), receipt.Sign(t.sign).Bytes())
	if err := t.mark(ctx, b.Crowd, next); err != nil {
		return err
	}
	t.mu.Lock()
	t.spent[b.Crowd] = mixer.Spent(b.Crowd)
	t.mu.Unlock()
	t.s.meters.batches.Add(ctx, 1)
	t.s.meters.envelopes.Add(ctx, int64(did.Out))
	return t.s.o.Failpoint("mixed")
}

// keepSpent writes down the tokens that counted for a crowd. What a process that
// got no further wrote stays beside it: a token too many counts as spent.
func (t *post) keepSpent(ctx context.Context, c uint32, ids []shuffler.TokenID) error {
	if !t.demandsTokens() {
		return nil
	}
	box, err := t.s.o.Queue.Box(ctx, t.spentName(), queue.Refuse)
	if err != nil {
		return err
	}
	const most = chunk / 32
	for len(ids) > 0 {
		n := min(len(ids), most)
		var body []byte
		for _, id := range ids[:n] {
			body = append(body, id[:]...)
		}
		if _, err := box.Put(ctx, fmt.Sprintf("%d-%x", c, sha256.Sum256(body)), fmt.Sprint(c), body); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
