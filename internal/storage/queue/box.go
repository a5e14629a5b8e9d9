package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// digestHeader carries the SHA-256 of the body, so that a repeated Put is
// recognized whatever has been done to the body on its way to the disk.
const digestHeader = "Confetti-Digest"

// Box holds messages, each under a key of its own. It is safe for concurrent use.
type Box struct {
	q      *Queue
	stream jetstream.Stream
	begin  string // of each subject
}

func boxStream(name string) string { return prefix + "-box-" + name }

// Box opens the box of that name, which is letters, digits, - and _, and makes
// it if it is not there. ErrDamaged: the embedded server cannot read it without harm;
// SetAside goes on without what is behind the damage in the same block, of a box into
// which nothing is put any more.
func (q *Queue) Box(ctx context.Context, name string, d Damage) (*Box, error) {
	mustBe(nameForm, name)
	stream := boxStream(name)
	if q.server != nil {
		if err := q.checkStream(stream, d); err != nil {
			return nil, err
		}
	}
	s, err := q.stream(ctx, jetstream.StreamConfig{Name: stream, AllowAtomicPublish: true})
	if err != nil {
		return nil, err
	}
	return &Box{q, s, subjects(stream)}, nil
}

// Put keeps a body under a key, with a label to find it by. Both are letters,
// digits, - and _. The key must be free, whatever the label: a respondent is
// there once, to whatever crowd. Return means on disk.
//
// The same body under the same key and label again is no error but says so: the
// first Put may have been acknowledged to nobody. Any other is ErrTaken.
func (b *Box) Put(ctx context.Context, key, label string, body []byte) (again bool, err error) {
	mustBe(nameForm, key)
	mustBe(nameForm, label)
	if most := b.q.MaxBody(); len(body) > most {
		return false, fmt.Errorf("queue: a body of %d bytes: the limit is %d", len(body), most)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	digest := fmt.Sprintf("%x", sha256.Sum256(body))
	m := &nats.Msg{Subject: b.begin + key + "." + label, Data: body, Header: nats.Header{digestHeader: {digest}}}
	mark := b.begin + key + ".*"
	if err := b.q.lastResort(); err != nil {
		return false, err
	}
	_, err = b.q.publish(ctx, m, jetstream.WithExpectLastSequenceForSubject(0, mark))
	if !taken(err) {
		return false, explain(err)
	}
	there, err := b.stream.GetLastMsgForSubject(ctx, mark)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		// Another Put of the key is on its way to the disk. It will be first.
		return false, fmt.Errorf("%w: the same key is being written", ErrUnavailable)
	}
	if err != nil {
		return false, explain(err)
	}
	if there.Subject != m.Subject || there.Header.Get(digestHeader) != digest {
		return false, ErrTaken
	}
	return true, nil
}

func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == 10071 || api.ErrorCode == 10164) // wrong last sequence
}

// Each calls fn for what is in the box with that label (with any for ""), in
// the order in which it came, and stops at the first error. What is put
// meanwhile may be missed: seal the box first. A body is fn's to keep.
func (b *Box) Each(ctx context.Context, label string, fn func(key string, body []byte) error) error {
	return each(ctx, b.stream, jetstream.ConsumerConfig{FilterSubject: b.filter(label)}, 1, func(m jetstream.Msg, _ uint64) error {
		key, _, _ := strings.Cut(strings.TrimPrefix(m.Subject(), b.begin), ".")
		return fn(key, m.Data())
	})
}

// Get returns one message. ErrDamaged: it is not there, or not as it was put.
func (b *Box) Get(ctx context.Context, key, label string) ([]byte, error) {
	mustBe(nameForm, key)
	mustBe(nameForm, label)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m, err := b.stream.GetLastMsgForSubject(ctx, b.begin+key+"."+label)
	switch {
	case gone(err, b.stream), b.q.server != nil && errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: %s in %s: %w", ErrDamaged, key, b.stream.CachedInfo().Config.Name, err)
	case err != nil:
		return nil, explain(err)
	}
	if m.Header.Get(digestHeader) != fmt.Sprintf("%x", sha256.Sum256(m.Data)) {
		return nil, fmt.Errorf("%w: %s in %s is not as it was put", ErrDamaged, key, b.stream.CachedInfo().Config.Name)
	}
	return m.Data, nil
}

func (b *Box) filter(label string) string {
	if label == "" {
		return b.begin + ">"
	}
	mustBe(nameForm, label)
	return b.begin + "*." + label
}

// ahead is how many bytes are under way between the server and each, roughly: it
// asks for as many messages as would have them if all were like the longest yet.
const ahead = 8 << 20

// soon is how long each waits for a message before it asks for that one by its number.
const soon = time.Second

// errMissing is the error of each where the server has messages and does not give
// them.
var errMissing = fmt.Errorf("%w: messages are missing", ErrDamaged)

// each reads a stream from its beginning, or from where the consumer says, to where
// it ends now. Messages may be as long as most, if what has come does not tell of
// what comes. A message that does not come is an error, not a gap.
func each(ctx context.Context, stream jetstream.Stream, config jetstream.ConsumerConfig, most int, fn func(m jetstream.Msg, sequence uint64) error) error {
	end, err := newest(ctx, stream, config.FilterSubject)
	if err != nil {
		return err
	}
	consumer, err := pending(ctx, stream, config)
	if err != nil {
		return err
	}
	defer forget(context.WithoutCancel(ctx), stream, consumer)
	left, longest, last := consumer.CachedInfo().NumPending, ahead, max(config.OptStartSeq, 1)-1 // the first comes alone
	waited := time.Duration(0)
	for next := uint64(1); left > 0 || last < end; {
		batch, err := consumer.Fetch(int(min(max(1, left), uint64(max(1, ahead/longest)), 1024)), jetstream.FetchMaxWait(soon))
		if err != nil {
			return explain(err)
		}
		before := next
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return explain(err)
			}
			if meta.Sequence.Consumer != next {
				return fmt.Errorf("%w: a message went missing on its way", ErrUnavailable)
			}
			if err := fn(m, meta.Sequence.Stream); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return explain(err)
			}
			if next == 1 {
				longest = most
			}
			longest = max(longest, len(m.Data()))
			left, last = meta.NumPending, meta.Sequence.Stream
			next++
		}
		if next == before {
			waited += soon
			err := missing(ctx, stream, config.FilterSubject, last+1, left)
			if errors.Is(err, errMissing) && left == 0 {
				return nil // what was the newest is deleted
			}
			if errors.Is(err, errMissing) || waited >= callTimeout {
				return err
			}
			continue
		}
		waited = 0
		if err := batch.Error(); err != nil {
			return explain(err)
		}
	}
	return nil
}

// missing is why so many messages, the first at or behind a sequence number, do not
// come: the server cannot read it from its disk, or it is busy, or the consumer was
// on a node that is gone.
func missing(ctx context.Context, stream jetstream.Stream, filter string, first, number uint64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var next []jetstream.GetMsgOpt
	if filter != "" {
		next = append(next, jetstream.WithGetMsgSubject(filter))
	}
	_, err := stream.GetMsg(ctx, first, next...)
	if gone(err, stream) {
		return fmt.Errorf("%w: %d in %s, from number %d on: %w", errMissing, number, stream.CachedInfo().Config.Name, first, err)
	}
	return fmt.Errorf("%w: messages do not come", ErrUnavailable)
}

// gone reports whether a message cannot be had again: it is not there, or the one server
// there is cannot read it. A cluster says much else that it takes back.
func gone(err error, stream jetstream.Stream) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrMsgNotFound) || errors.As(err, &api) && !replicated(stream)
}

func replicated(stream jetstream.Stream) bool { return stream.CachedInfo().Config.Replicas > 1 }

// newest returns the number of the newest message of a stream that has replicas, as their leader
// knows it: a consumer may be on one that lags behind, as after its disk was lost, and takes
// that for the end. 0: there is none, or there are no replicas.
func newest(ctx context.Context, stream jetstream.Stream, filter string) (uint64, error) {
	if !replicated(stream) {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m, err := stream.GetLastMsgForSubject(ctx, cmp.Or(filter, subjects(stream.CachedInfo().Config.Name)+">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, explain(err)
	}
	return m.Sequence, nil
}

// pending returns a consumer that has consumed nothing yet: it knows how much there is.
func pending(ctx context.Context, stream jetstream.Stream, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	config.AckPolicy, config.MemoryStorage, config.InactiveThreshold = jetstream.AckNonePolicy, true, startTimeout
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, err := stream.CreateConsumer(ctx, config)
	return c, explain(err)
}

// forget deletes a consumer. One that is left behind the server deletes itself.
func forget(ctx context.Context, stream jetstream.Stream, c jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream.DeleteConsumer(ctx, c.CachedInfo().Name)
}

// Seal closes the box for good: every later Put is ErrSealed, from whatever
// process. What is in it stays until it is dropped.
func (b *Box) Seal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := b.stream.Info(ctx)
	if err != nil {
		return explain(err)
	}
	if info.Config.Sealed {
		return nil
	}
	info.Config.Sealed = true
	if _, err := b.q.js.UpdateStream(ctx, info.Config); err != nil {
		return explain(err)
	}
	return nil
}
