package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// reserve is kept free on the embedded server's disk: after one write that finds
// none left, JetStream writes nothing more until it is started again.
const reserve = 2 * (MaxBody + headroom)

// usage is what is kept and what there is to keep it in, as of a while ago: so
// much can come in meanwhile that the reserve holds it.
type usage struct {
	mu          sync.Mutex
	at          time.Time
	used, limit int64 // bytes
	free        int64 // of the disk, after the reserve

	beside atomic.Pointer[func() int64]
}

const usageAge = time.Second

func (q *Queue) measure(ctx context.Context) (used, limit int64, err error) {
	u := &q.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.at) >= usageAge {
		if err := q.look(ctx); err != nil {
			return 0, 0, err
		}
	}
	used = u.used
	if beside := u.beside.Load(); beside != nil {
		used += (*beside)()
	}
	return used, min(u.limit, used+u.free), nil
}

// look measures what is in the queue. The caller holds the usage's mu.
func (q *Queue) look(ctx context.Context) error {
	u := &q.usage
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := q.js.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	u.used, u.limit, u.free = int64(info.Store), info.Limits.MaxStore, none
	for _, kind := range []string{"log", "dropped"} {
		if err := q.eachLog(kind, func(_ string, size int64) { u.used += size }); err != nil {
			return err
		}
	}
	if u.limit <= 0 {
		u.limit = none // that the server tells
	}
	if q.server != nil {
		u.limit = min(u.limit, q.server.JetStreamConfig().MaxStore)
		if free, known := atomicfile.Free(q.streams); known {
			u.free = free - reserve
		}
	}
	u.at = time.Now()
	return nil
}

// none stands for no bound, and adds up with what there is.
const none = math.MaxInt64 / 4

// Beside has bytes that lie elsewhere, and come through the queue when they leave, counted
// among what it keeps. They may be asked for at any moment.
func (q *Queue) Beside(bytes func() int64) { q.usage.beside.Store(&bytes) }

// Room is ErrFull unless so many more bytes could be taken and everything kept
// once more: what came in stays until what is made of it is on disk too, and a
// box that has filled the disk alone could never be emptied.
func (q *Queue) Room(ctx context.Context, more int64) error {
	used, limit, err := q.measure(ctx)
	if err == nil && 2*(used+more) > limit {
		err = ErrFull
	}
	return err
}

// Bytes returns what the queue's boxes and records take of the disk, and what lies beside them.
func (q *Queue) Bytes(ctx context.Context) (int64, error) {
	used, _, err := q.measure(ctx)
	return used, err
}

// lastResort is ErrFull where a write might be the one that fills the disk.
func (q *Queue) lastResort() error {
	if q.streams == "" {
		return nil
	}
	if free, known := atomicfile.Free(q.streams); known && free < reserve/2 {
		return ErrFull
	}
	return nil
}

// publish writes a message, through to the disk.
func (q *Queue) publish(ctx context.Context, m *nats.Msg, expect jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := q.js.PublishMsg(ctx, m, expect)
	q.stuck.Store(errors.Is(err, context.DeadlineExceeded))
	return ack, err
}
