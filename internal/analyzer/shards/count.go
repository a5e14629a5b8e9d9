package shards

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/party/analyzer"
)

// errAgain is the error of a batch whose shards are not what was dealt: it has to be sent
// again.
var errAgain = errors.New("analyzer: the shards of a batch are not all there: it has to be sent again")

// countAll waits until every shard that an attempt dealt of a batch is counted, and counts
// meanwhile, shards of other batches too. What is wrong with those is no reason to answer for
// this one.
func (s *Sharing) countAll(ctx context.Context, mark rows.Batch, attempt string) error {
	for {
		shared, err := s.Store.Shared(ctx, mark)
		if err != nil {
			return s.Problem(err)
		}
		if shared.All == 0 || shared.Attempt != attempt {
			return errAgain
		}
		if shared.Counted == shared.All {
			return nil
		}
		took, err := s.countOne(ctx)
		if err != nil && (took == "" || took == shardsOf(mark, attempt) || ctx.Err() != nil) {
			return err
		}
		if err != nil {
			s.notCounted(err)
		}
		if took == "" {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(shardPoll):
			}
		}
	}
}

func (s *Sharing) notCounted(err error) {
	s.Log.Warn("a shard was not counted, and will be tried again", "reason", err.Error())
}

// Work counts shards until the context ends: all that a worker does.
func (s *Sharing) Work(ctx context.Context) {
	for ctx.Err() == nil {
		took, err := s.countOne(ctx)
		if err != nil && ctx.Err() == nil {
			s.notCounted(err)
		}
		if err != nil || took == "" {
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}
}

// countOne leases a shard of any batch and counts it, and says where those of the batch lie;
// "": there is none.
func (s *Sharing) countOne(ctx context.Context) (took string, err error) {
	select {
	case s.Alone <- struct{}{}:
		defer func() { <-s.Alone }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	sh, there, err := s.Store.Lease(ctx, time.Now(), s.Lease)
	if err != nil || !there {
		return "", err
	}
	mark := rows.Batch{Plan: sh.Plan, Instance: sh.Instance, Crowd: sh.Crowd, SHA256: sh.SHA256}
	took = shardsOf(mark, sh.Attempt)
	begun := time.Now()
	counted, err := s.countShard(ctx, sh, took)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errAgain) {
		stood, err := s.Store.Unshare(ctx, mark, sh.Attempt)
		if stood { // or it is counted, or dealt anew, and this came late
			s.Log.Error("a shard of a batch is damaged or lost, and the batch has to be sent again", "plan", sh.Plan, "instance", sh.Instance, "crowd", sh.Crowd)
		}
		return took, err
	}
	if err != nil {
		return took, fmt.Errorf("shard %d of %s: %w", sh.Shard, took, err)
	}
	fresh, err := s.Store.CountShard(ctx, sh, counted)
	if err == nil && fresh {
		s.Took(time.Since(begun))
	}
	return took, errors.Join(err, s.Failpoint("shard-counted"))
}

func (s *Sharing) countShard(ctx context.Context, sh rows.Shard, batch string) (c rows.ShardCount, err error) {
	run, err := s.Find(ctx, sh.Plan)
	if err != nil {
		return c, err
	}
	if run.Counter == nil {
		return c, fmt.Errorf("analyzer: a shard is of plan %s, whose answers are summed", sh.Plan)
	}
	names, err := s.Blobs.List(ctx, fmt.Sprintf("%s/%d", batch, sh.Shard))
	if err != nil {
		return c, err
	}
	found, err := parts.Shards(names)
	if err != nil || len(found) != 1 || found[0].Number != sh.Shard {
		return c, errors.Join(errAgain, err)
	}
	table, err := found[0].Count(ctx, run.Counter, s.Blobs)
	if fault, ok := errors.AsType[parts.Error](err); ok {
		return c, errors.Join(errAgain, fault)
	}
	if err != nil {
		return c, err
	}
	some := table.Counted
	tally, err := some.Tally.MarshalBinary()
	return rows.ShardCount{Opened: some.Opened, Dropped: some.Dropped, Tally: tally}, err
}

// counted waits until all shards of a batch are counted, here or elsewhere, and adds up.
func (s *Sharing) counted(ctx context.Context, run Plan, mark rows.Batch, attempt string) (whole analyzer.Counted, err error) {
	if s.Elsewhere {
		t, err := s.tables(ctx, run, mark, attempt)
		return t.Counted, err
	}
	if err := s.countAll(ctx, mark, attempt); err != nil {
		return whole, err
	}
	err = s.Store.ShardCounts(ctx, mark, attempt, func(c rows.ShardCount) error {
		one := analyzer.Counted{Tally: run.Protocol.NewTally(), Opened: c.Opened, Dropped: c.Dropped}
		if err := one.Tally.UnmarshalBinary(c.Tally); err != nil {
			return err
		}
		if whole.Tally == nil {
			whole = one
			return nil
		}
		whole.Opened, whole.Dropped = whole.Opened+one.Opened, whole.Dropped+one.Dropped
		return whole.Tally.Merge(one.Tally)
	})
	return whole, s.Problem(err)
}
