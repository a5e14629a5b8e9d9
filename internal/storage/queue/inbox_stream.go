package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// streamGroups are the groups of an inbox of a cluster: a message each. That the
// stream has not grown since is a condition of every write, so that two processes
// cannot write the same group, nor a write that was given up come later.
type streamGroups struct {
	q      *Queue
	stream jetstream.Stream
	most   int
	last   uint64 // sequence of the newest message that was read or written
	begin  hashchain.Point
	end    hashchain.Point
}

func inboxStream(name string) string { return prefix + "-inbox-" + name }

// openStream opens the stream of an inbox, whose key lies in its record.
func (q *Queue) openStream(ctx context.Context, in *Inbox, walk hashchain.Walk) error {
	for in.revision == 0 {
		in.known.Key = drawKey()
		if err := in.save(ctx); err != nil {
			return err
		}
		known, revision, err := q.checkpoint(ctx, in.name)
		if err != nil {
			return err
		}
		in.known.Key, in.revision = known.Key, revision // another process may have been first
	}
	if len(in.known.Key) != keySize {
		return fmt.Errorf("%w: the record of the inbox has no key", ErrDamaged)
	}
	in.secret = newSecret(in.known.Key)
	s, err := q.stream(ctx, jetstream.StreamConfig{Name: inboxStream(in.name)})
	if err != nil {
		return err
	}
	g := &streamGroups{q: q, stream: s, most: in.most, end: hashchain.Begin(inboxTitle + in.name)}
	g.begin = g.end
	in.groups = g
	return g.Read(ctx, walk, in.enter)
}

func (g *streamGroups) End() hashchain.Point { return g.end }

func (g *streamGroups) Append(ctx context.Context, body []byte) error {
	group := append(g.end.Append(nil), body...)
	m := &nats.Msg{Subject: subjects(g.stream.CachedInfo().Config.Name) + "group", Data: group}
	ack, err := g.q.publish(ctx, m, jetstream.WithExpectLastSequence(g.last))
	if taken(err) {
		return errStale
	}
	if err != nil {
		return explain(err)
	}
	walk := hashchain.Walk{End: g.end}
	if _, _, err := walk.Group(group); err != nil {
		panic(err) // it was made to follow
	}
	g.last, g.end = ack.Sequence, walk.End
	return nil
}

func (g *streamGroups) Read(ctx context.Context, walk hashchain.Walk, fn func(head, body []byte) error) error {
	last, end, err := g.walk(ctx, g.last, g.end, walk, fn)
	if err == nil {
		g.last, g.end = last, end
	}
	return err
}

func (g *streamGroups) Each(ctx context.Context, skip func(hashchain.Gap) error, fn func(head, body []byte) error) error {
	_, _, err := g.walk(ctx, 0, g.begin, hashchain.Walk{Skip: skip}, fn)
	return err
}

// walk reads from behind a message to the newest.
func (g *streamGroups) walk(ctx context.Context, last uint64, end hashchain.Point, walk hashchain.Walk, fn func(head, body []byte) error) (uint64, hashchain.Point, error) {
	walk.End = end
	config := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: last + 1}
	err := each(ctx, g.stream, config, g.most+hashchain.Head+groupHead+sealing, func(m jetstream.Msg, sequence uint64) error {
		head, body, err := walk.Group(m.Data())
		if err != nil {
			return err
		}
		last = sequence
		return fn(head, body)
	})
	if errors.Is(err, errMissing) && walk.Skip != nil {
		last, err = g.skipRest(ctx, last, &walk)
	}
	if err == nil {
		err = walk.Finish()
	}
	return last, walk.End, damaged(err)
}

// skipRest passes over messages that the server has, and does not give.
func (g *streamGroups) skipRest(ctx context.Context, last uint64, walk *hashchain.Walk) (uint64, error) {
	info, err := g.stream.Info(ctx)
	if err != nil {
		return last, explain(err)
	}
	missing := info.State.LastSeq - last
	return info.State.LastSeq, walk.Skip(hashchain.Gap{From: walk.End.Number + 1, To: walk.End.Number + missing})
}

func (g *streamGroups) Broken() error { return nil }
func (g *streamGroups) Mend() error   { return nil }
func (g *streamGroups) Close() error  { return nil }
