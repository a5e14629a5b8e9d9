package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/confetti-dp/confetti/internal/durable"
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
}

const usageAge = time.Second

func (q *Queue) measure(ctx context.Context) (used, limit int64, err error) {
	u := &q.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.at) < usageAge {
		return u.used, u.limit, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := q.js.AccountInfo(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	u.used, u.limit = int64(info.Store), info.Limits.MaxStore
	for _, kind := range []string{"log", "dropped"} {
		if err := q.eachLog(kind, func(_ string, size int64) { u.used += size }); err != nil {
			return 0, 0, err
		}
	}
	if u.limit <= 0 {
		u.limit = 1 << 62 // none that the server tells
	}
	if q.server != nil {
		u.limit = min(u.limit, q.server.JetStreamConfig().MaxStore)
		if free, known := durable.Free(q.streams); known {
			u.limit = min(u.limit, u.used+free-reserve)
		}
	}
	u.at = time.Now()
	return u.used, u.limit, nil
}

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

// Bytes is what the queue's boxes and records take of the disk.
func (q *Queue) Bytes(ctx context.Context) (int64, error) {
	used, _, err := q.measure(ctx)
	return used, err
}

// lastResort is ErrFull where a write might be the one that fills the disk.
func (q *Queue) lastResort() error {
	if q.streams == "" {
		return nil
	}
	if free, known := durable.Free(q.streams); known && free < reserve/2 {
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
