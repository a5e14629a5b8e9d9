package rows

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Room bounds what a hop keeps: what comes in stays until what is made of it is on disk too.
type Room struct {
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

// NewRoom returns the room of a store.
func NewRoom(s *Store, most int64, beside func() int64) *Room {
	return &Room{store: s, most: most, beside: beside}
}

func (r *Room) measure(ctx context.Context) (used, limit int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) >= measured {
		used, free, err := r.store.Store.Room(ctx)
		if err != nil {
			return 0, 0, err
		}
		if free < 0 {
			free = none + reserve
		}
		r.used, r.free, r.at, r.since = used, free-reserve, time.Now(), 0
	}
	used, limit = r.used+r.beside(), none
	if r.most > 0 {
		limit = r.most
	}
	return used, min(limit, used+r.free), nil
}

// For gives room for so many more bytes until done is called: keep.ErrFull unless they could be taken
// with all that is coming, and everything kept once more. A disk that was filled alone could never be
// emptied. What other processes are given at once it does not know.
func (r *Room) For(ctx context.Context, more int64) (done func(), err error) {
	used, limit, err := r.measure(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if 2*(used+r.since+r.coming+more) > limit {
		return nil, keep.ErrFull
	}
	r.coming += more
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.coming, r.since = r.coming-more, r.since+more
	}, nil
}

// Bytes returns how many bytes are kept.
func (r *Room) Bytes(ctx context.Context) (int64, error) {
	used, _, err := r.measure(ctx)
	return used, err
}

// Healthy says why nothing can be kept now.
func (r *Room) Healthy(ctx context.Context) error {
	if r.store.stuck.Load() {
		return fmt.Errorf("shuffler: %w: the last mark was not written; on a disk of this machine's it takes a restart", keep.ErrUnavailable)
	}
	done, err := r.For(ctx, 0)
	if err == nil {
		done()
	}
	return err
}
