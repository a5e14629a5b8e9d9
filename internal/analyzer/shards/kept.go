package shards

import (
	"context"
	"errors"
	"time"
)

// Forget deletes what is left of batches of plans that take none any more: what workers
// have counted last, so that whoever is stopped in between finds the rest. Without a store
// of blobs, which an earlier configuration may have had, the rows go alone.
func (s *Sharing) Forget(ctx context.Context) error {
	unfinished, err := s.Store.Unfinished(ctx)
	closed, failed := s.closed(ctx)
	err = errors.Join(err, failed)
	for _, name := range append(closed, unfinished...) {
		if s.Blobs != nil {
			if deleting := s.Blobs.Delete(ctx, name); deleting != nil {
				err = errors.Join(err, deleting)
				continue
			}
		}
		if finishing := s.Store.Finish(ctx, name); finishing != nil {
			err = errors.Join(err, finishing)
			continue
		}
		s.mu.Lock()
		s.forgotten[name] = true
		s.mu.Unlock()
	}
	return err
}

// closed names the plans that take no batches any more, each once in a process's life:
// parts of a batch may lie there of which nobody has shared a shard.
func (s *Sharing) closed(ctx context.Context) (names []string, err error) {
	plans, err := s.Store.Plans(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgotten == nil {
		s.forgotten = map[string]bool{}
	}
	for _, p := range plans {
		if (p.Withdrawn || !p.Closed.IsZero()) && !s.forgotten[p.Name] {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// keptAge is the lifetime of Kept's cached sum, since it lists the store.
const keptAge = 30 * time.Second

// Kept returns how many bytes lie in the store of blobs, half a minute ago or later.
func (s *Sharing) Kept(ctx context.Context) (bytes int64, err error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.Blobs != nil && time.Since(s.looked) >= keptAge {
		s.kept, s.unknown = s.Blobs.Bytes(ctx, "")
		s.looked = time.Now()
	}
	return s.kept, s.unknown
}
