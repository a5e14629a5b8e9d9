package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Work are tasks that processes share: each is given to one of them at a time, and again
// to another if the first says nothing for as long as a lease. A task may thus be done
// twice, and by two at once. It is safe for concurrent use.
type Work struct {
	begin    string
	lease    time.Duration
	q        *Queue
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

// Work opens the tasks of that name, and makes them if they are not there. All who open
// them give the same lease.
func (q *Queue) Work(ctx context.Context, name string, lease time.Duration) (*Work, error) {
	mustBe(nameForm, name)
	stream := prefix + "-work-" + name
	s, err := q.stream(ctx, jetstream.StreamConfig{
		Name: stream, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	consumer, err := s.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: prefix, AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease, MaxAckPending: 1 << 16,
	})
	if err != nil {
		return nil, explain(err)
	}
	return &Work{subjects(stream), lease, q, s, consumer}, nil
}

// Add puts a task there under a name, unless it is there and nobody has done it yet.
func (w *Work) Add(ctx context.Context, name string, body []byte) error {
	mustBe(nameForm, name)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := w.q.js.Publish(ctx, w.begin+name, body)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && strings.Contains(api.Description, "per subject") {
		return nil
	}
	return explain(err)
}

// Task is one that was taken.
type Task struct {
	Body []byte

	lease   time.Duration
	message jetstream.Msg
}

// Take waits for a task, at most so long; false: there was none.
func (w *Work) Take(ctx context.Context, wait time.Duration) (Task, bool, error) {
	batch, err := w.consumer.Fetch(1, jetstream.FetchMaxWait(wait))
	if err != nil {
		return Task{}, false, explain(err)
	}
	for m := range batch.Messages() {
		return Task{Body: m.Data(), lease: w.lease, message: m}, true, nil
	}
	if err := batch.Error(); err != nil {
		return Task{}, false, explain(err)
	}
	return Task{}, false, ctx.Err()
}

// Do runs what a task asks for, and holds it meanwhile. Done without an error, it is there
// no more; with one, it is given to somebody else, some seconds later.
func (t Task) Do(ctx context.Context, fn func(context.Context) error) error {
	ended := make(chan struct{})
	held := make(chan struct{})
	go func() {
		defer close(held)
		for {
			select {
			case <-ended:
				return
			case <-time.After(t.lease / 3):
				t.message.InProgress() // or the lease ends, and another does it too
			}
		}
	}()
	err := fn(ctx)
	close(ended)
	<-held
	if err != nil {
		return errors.Join(err, t.message.NakWithDelay(min(t.lease, 2*time.Second)))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := t.message.DoubleAck(ctx); err != nil {
		return explain(err)
	}
	return nil
}

// Backlog returns how many tasks wait for somebody, how many somebody is at or was when their
// process ended, and since when the oldest of all is there; the zero time: there is none.
func (w *Work) Backlog(ctx context.Context) (ready, leased int, oldest time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stream, err := w.stream.Info(ctx)
	if err != nil {
		return 0, 0, time.Time{}, explain(err)
	}
	taken, err := w.consumer.Info(ctx)
	if err != nil {
		return 0, 0, time.Time{}, explain(err)
	}
	all := int(stream.State.Msgs)
	if all > 0 {
		oldest = stream.State.FirstTime
	}
	leased = min(all, taken.NumAckPending) // the two were asked one after the other
	return all - leased, leased, oldest, nil
}
