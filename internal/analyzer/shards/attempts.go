package shards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
)

// mostAlone is the longest that a batch waits for a dealer who has stopped: one who goes on says
// so three times as often.
const mostAlone = 15 * time.Second

func (s *Sharing) alone() time.Duration { return min(s.Lease, mostAlone) }

// begin begins an attempt to deal a batch, under a name that no other has, and deletes what an
// attempt before it has left. Where another request deals the batch it is to come again.
func (s *Sharing) begin(ctx context.Context, mark rows.Batch) (attempt string, err error) {
	attempt = fmt.Sprintf("%016x", rng.New().Uint64())
	before, err := s.Store.Begin(ctx, mark, attempt, time.Now(), s.alone())
	if err != nil {
		return "", s.underWay(err)
	}
	return attempt, s.delete(ctx, mark, before)
}

// underWay tells who brings a batch that is being dealt when to come again.
func (s *Sharing) underWay(err error) error {
	if !errors.Is(err, rows.ErrUnderWay) {
		return s.Problem(err)
	}
	p := wire.Problemf(wire.Overloaded, "%w", err)
	p.RetryAfter = s.alone()
	return p
}

// drop forgets an attempt and all that it wrote.
func (s *Sharing) drop(ctx context.Context, mark rows.Batch, attempt string) error {
	_, err := s.Store.Unshare(ctx, mark, attempt)
	return errors.Join(err, s.delete(ctx, mark, attempt))
}

func (s *Sharing) delete(ctx context.Context, mark rows.Batch, attempt string) error {
	return errors.Join(s.Blobs.Delete(ctx, arrivalOf(mark, attempt)), s.Blobs.Delete(ctx, shardsOf(mark, attempt)))
}
