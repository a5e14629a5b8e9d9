package rows

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Quota bounds what a hop keeps: what comes in stays until what is made of it is on disk too.
type Quota struct {
	store  *Store
	most   int64        // bytes; 0: what there is
	beside func() int64 // bytes that lie in blobs, or are to

	mu         sync.Mutex
	at         time.Time
	used, free int64
	coming     int64 // that room was given for, and that is not done
	since      int64 // that was done since it was measured
}

const (
	// measured is how old a measure may be.
	measured = time.Second

	// reserve is left free on the disk, for marks and for what comes between two measures.
	reserve = 32 << 20

	none = math.MaxInt64 / 4 // stands for no bound
)

// NewQuota returns the quota of a store.
func NewQuota(s *Store, most int64, beside func() int64) *Quota {
	return &Quota{store: s, most: most, beside: beside}
}

func (q *Quota) measure(ctx context.Context) (used, limit int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.at) >= measured {
		used, free, err := q.store.Store.Usage(ctx)
		if err != nil {
			return 0, 0, err
		}
		if free < 0 {
			free = none + reserve
		}
		q.used, q.free, q.at, q.since = used, free-reserve, time.Now(), 0
	}
	used, limit = q.used+q.beside(), none
	if q.most > 0 {
		limit = q.most
	}
	return used, min(limit, used+q.free), nil
}

// Reserve gives room for so many more bytes until done is called: keep.ErrFull unless they could be taken
// with all that is coming, and everything kept once more. A disk that was filled alone could never be
// emptied. What other processes are given at once it does not know.
func (q *Quota) Reserve(ctx context.Context, more int64) (done func(), err error) {
	used, limit, err := q.measure(ctx)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if 2*(used+q.since+q.coming+more) > limit {
		return nil, keep.ErrFull
	}
	q.coming += more
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.coming, q.since = q.coming-more, q.since+more
	}, nil
}

// Bytes returns how many bytes are kept.
func (q *Quota) Bytes(ctx context.Context) (int64, error) {
	used, _, err := q.measure(ctx)
	return used, err
}

// Healthy says why nothing can be kept now.
func (q *Quota) Healthy(ctx context.Context) error {
	if q.store.stuck.Load() {
		return fmt.Errorf("shuffler: %w: the last mark was not written; on a disk of this machine's it takes a restart", keep.ErrUnavailable)
	}
	done, err := q.Reserve(ctx, 0)
	if err == nil {
		done()
	}
	return err
}
