package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrChanged is the error of a Set whose record was changed, or made, by
// somebody else since it was read.
var ErrChanged = errors.New("queue: the record has changed meanwhile")

// Records are small states under keys, each with a revision that a change must
// name. It is safe for concurrent use.
type Records struct {
	q      *Queue
	stream jetstream.Stream
	begin  string
}

// Records opens the records of that name, and makes them if they are not there.
func (q *Queue) Records(ctx context.Context, name string) (*Records, error) {
	mustBe(nameForm, name)
	stream := prefix + "-records-" + name
	s, err := q.stream(ctx, jetstream.StreamConfig{Name: stream, MaxMsgsPerSubject: 1})
	if err != nil {
		return nil, err
	}
	return &Records{q, s, subjects(stream)}, nil
}

// Get returns a record and its revision; nil and 0 where there is none.
func (r *Records) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	mustBe(keyForm, key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m, err := r.stream.GetLastMsgForSubject(ctx, r.begin+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, explain(err)
	}
	return m.Data, m.Sequence, nil
}

// Set writes a record if its revision still is the given one, 0 for a record
// that is not there, and returns the new one. Return means on disk.
func (r *Records) Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	mustBe(keyForm, key)
	if most := r.q.MaxBody(); len(value) > most {
		return 0, fmt.Errorf("queue: a record of %d bytes: the limit is %d", len(value), most)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m := &nats.Msg{Subject: r.begin + key, Data: value}
	ack, err := r.q.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision))
	if taken(err) {
		return 0, ErrChanged
	}
	if err != nil {
		return 0, explain(err)
	}
	return ack.Sequence, nil
}

// Delete removes a record; one that is not there is not an error.
func (r *Records) Delete(ctx context.Context, key string) error {
	mustBe(keyForm, key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return explain(r.stream.Purge(ctx, jetstream.WithPurgeSubject(r.begin+key)))
}

// Each calls fn for every record whose key begins with the given parts, all for
// "", in the order of their last change.
func (r *Records) Each(ctx context.Context, begin string, fn func(key string, value []byte, revision uint64) error) error {
	filter := r.begin + ">"
	if begin != "" {
		mustBe(keyForm, begin)
		filter = r.begin + begin + ".>"
	}
	return each(ctx, r.stream, jetstream.ConsumerConfig{FilterSubject: filter}, 1, func(m jetstream.Msg, sequence uint64) error {
		return fn(strings.TrimPrefix(m.Subject(), r.begin), m.Data(), sequence)
	})
}
