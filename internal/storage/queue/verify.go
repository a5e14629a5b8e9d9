package queue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// Verify reads every inbox and every box through, and calls say for each with nil or
// what is wrong with it, which is ErrDamaged where the disk is at fault. It mends as
// any opening does: use it on a copy. Whether a box is missing its owner knows.
func (q *Queue) Verify(ctx context.Context, say func(name string, err error)) error {
	names, err := q.Boxes(ctx, "")
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		say(name, q.verify(ctx, name))
	}
	return nil
}

func (q *Queue) verify(ctx context.Context, name string) error {
	_, missing := os.Stat(q.inboxPath(name, "log"))
	_, revision, err := q.checkpoint(ctx, name)
	if err != nil {
		return err
	}
	if missing == nil && q.server != nil || revision != 0 {
		in, err := q.Inbox(ctx, name, Refuse)
		if err != nil {
			return err
		}
		return in.Each(ctx, func([16]byte, uint32, []byte) error { return nil })
	}
	s, err := q.js.Stream(ctx, boxStream(name))
	if err != nil {
		return explain(err)
	}
	return each(ctx, s, jetstream.ConsumerConfig{}, 1, func(m jetstream.Msg, sequence uint64) error {
		if m.Headers().Get(digestHeader) != fmt.Sprintf("%x", sha256.Sum256(m.Data())) {
			return fmt.Errorf("%w: message %d is not as it was put", ErrDamaged, sequence)
		}
		return nil
	})
}
