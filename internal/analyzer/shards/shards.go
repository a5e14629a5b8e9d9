// Package shards counts a batch that does not fit memory, by any number of processes. Used by
// internal/service/analyzerd.
package shards

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/protocol"
)

// A batch that does not fit memory is dealt to shards as it comes in, so that copies of an
// envelope fall together, and each shard is counted by whoever leases it: the request that
// brings the batch, and workers that are other processes on the same database and store.
// The request is answered when all shards are counted and added up. Until then nothing of
// the batch is in any tally, and a hop that comes again finds what was done.

const (
	poll      = time.Second
	shardPoll = 200 * time.Millisecond
)

// Failpoints are those of batches in shards.
var Failpoints = []string{
	"batch-dealt",   // the shards are in the store of blobs, nobody counts them yet
	"shard-counted", // each time
	"shards-added",  // counted as a whole; the shards are still there
}

// Plan is one whose batches are counted.
type Plan struct {
	Counter  *analyzer.Counter // nil where answers are summed
	Protocol *protocol.Protocol
	// BornOut checks receipts against the plan's keys, each other and the batch.
	BornOut func(receipts []relay.SignedReceipt, head envelope.Head, digest [32]byte) error
}

// Sharing is what a service and its workers count with. All must be set but Blobs.
type Sharing struct {
	Store     *rows.Store
	Blobs     blob.Store    // nil: no batch is shared
	Bytes     int           // of a shard, at least
	Lease     time.Duration // for which a shard is its taker's alone; nobody prolongs it
	BatchSize int64         // most bytes of a batch
	Alone     chan struct{} // held by who counts: it takes all cores
	Elsewhere bool          // others count, and leave tables beside the shards (package parts)
	Find      func(ctx context.Context, plan string) (Plan, error)
	Problem   func(error) error                              // of the store, as who asks is told
	Standing  func(ctx context.Context, plan [32]byte) error // a plan that is not served, or not now
	Took      func(time.Duration)                            // by each shard that was counted here
	Opened    func(counted, dropped int)
	Failpoint func(string) error
	Now       func() time.Time
	Log       *slog.Logger

	mu        sync.Mutex
	forgotten map[string]bool // plans of which nothing is left

	looking sync.Mutex
	looked  time.Time
	kept    int64 // bytes in the store, then
	unknown error // why they are not known
}

// Bytes are receipts as they are kept, one after the other.
func Bytes(receipts []relay.SignedReceipt) (all []byte) {
	for _, r := range receipts {
		all = append(all, r.Bytes()...)
	}
	return all
}

// shardsOf names the place of an attempt's shards of a batch. A build that named no attempt left
// them without a name behind them.
func shardsOf(b rows.Batch, attempt string) string {
	name := fmt.Sprintf("%s/%d_%d/%x", b.Plan, b.Instance, b.Crowd, b.SHA256[:8])
	if attempt == "" {
		return name
	}
	return name + "_" + attempt
}

// Take takes a batch whose body has not been read, and which the last of the
// receipts vouches for.
func (s *Sharing) Take(w http.ResponseWriter, r *http.Request, leg wire.Leg, receipts []relay.SignedReceipt) (rows.Outcome, error) {
	ctx := r.Context()
	mark := rows.Batch{
		Plan: fmt.Sprintf("%x", leg.Plan), Instance: int(leg.Instance), Crowd: int(leg.Crowd), SHA256: receipts[len(receipts)-1].BatchOut,
		Receipts: Bytes(receipts), Respondents: int(receipts[len(receipts)-1].Respondents), Counted: s.Now(),
	}
	if outcome, err := s.Store.Taken(ctx, mark); outcome != rows.New {
		return outcome, s.Problem(err)
	}
	run, err := s.Find(ctx, mark.Plan)
	if err != nil {
		return rows.Failed, s.Problem(err)
	}
	if run.Counter == nil {
		return rows.Failed, wire.Problemf(wire.BatchRefused, "the plan's answers are summed")
	}
	shared, err := s.Store.Shared(ctx, mark)
	if err != nil {
		return rows.Failed, s.Problem(err)
	}
	if shared.All == 0 {
		if shared.Attempt, err = s.deal(ctx, w, r, run, leg, receipts, mark); err != nil {
			return rows.Failed, err
		}
	}
	return s.finish(ctx, run, leg, mark, shared.Attempt)
}

// finish waits until a batch is counted whose shards are there, and writes its tally. Several
// requests may wait for the same attempt: the first writes.
func (s *Sharing) finish(ctx context.Context, run Plan, leg wire.Leg, mark rows.Batch, attempt string) (rows.Outcome, error) {
	whole, err := s.counted(ctx, run, mark, attempt)
	if err != nil && !errors.Is(err, errAgain) {
		return rows.Failed, err
	}
	if err != nil {
		if outcome, _ := s.Store.Taken(ctx, mark); outcome == rows.Again {
			return outcome, nil // another has written it, and has let go of the shards
		}
	}
	// Counting may have taken long: whoever signed the plan has to be trusted still.
	if err := s.Standing(ctx, leg.Plan); err != nil {
		return rows.Failed, s.Problem(err)
	}
	outcome := rows.Failed
	if err == nil {
		outcome, err = s.count(context.WithoutCancel(ctx), run, mark, whole)
	}
	refused, ok := errors.AsType[*wire.Problem](err)
	if err == nil || errors.Is(err, errAgain) || ok && refused.Code == wire.BatchRefused {
		err = errors.Join(err, s.drop(context.WithoutCancel(ctx), mark, attempt))
	}
	return outcome, err
}

// deal reads a batch and writes its shards in the name of an attempt, which it returns, for
// everybody to count.
func (s *Sharing) deal(ctx context.Context, w http.ResponseWriter, r *http.Request, run Plan, leg wire.Leg, receipts []relay.SignedReceipt, mark rows.Batch) (attempt string, err error) {
	digest := sha256.New()
	body := bufio.NewReaderSize(io.TeeReader(serve.Body(w, r, s.BatchSize), digest), 1<<20)
	raw := make([]byte, envelope.HeadSize)
	if _, err := io.ReadFull(body, raw); err == io.EOF || err == io.ErrUnexpectedEOF {
		return "", wire.Problemf(wire.BatchRefused, "the body is shorter than a batch's header")
	} else if err != nil {
		return "", err
	}
	head, err := envelope.ParseHead(raw)
	if err != nil {
		return "", wire.Problemf(wire.BatchRefused, "%w", err)
	}
	if leg != (wire.Leg{Plan: head.Plan, Instance: head.Instance, Hop: head.Hop, Crowd: head.Crowd}) {
		return "", wire.Problemf(wire.BadRequest, "the batch in the body is not the one that the path names")
	}
	if err := run.BornOut(receipts, head, mark.SHA256); err != nil {
		return "", wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	if err := s.Failpoint("batch-arrived"); err != nil {
		return "", err
	}
	if attempt, err = s.begin(ctx, mark); err != nil {
		return "", err
	}
	shards, err := s.pour(ctx, body, head, mark, attempt)
	if err == nil && [32]byte(digest.Sum(nil)) != mark.SHA256 {
		err = wire.Problemf(wire.ReceiptRefused, "the batch is not the one that hop %d signed for", leg.Hop)
	}
	if err != nil { // whoever comes next need not wait
		return "", errors.Join(err, s.drop(context.WithoutCancel(ctx), mark, attempt))
	}
	if err := s.Failpoint("batch-dealt"); err != nil {
		return "", err
	}
	return attempt, s.underWay(s.Store.Share(ctx, mark, attempt, shards))
}

// pour deals the envelopes of a body to shards, and returns how many these are.
func (s *Sharing) pour(ctx context.Context, body io.Reader, head envelope.Head, mark rows.Batch, attempt string) (shards int, err error) {
	alone := time.Now()
	dealer := parts.NewDealer(head, s.Bytes, func(name string, body []byte) error {
		return s.Blobs.Put(ctx, shardsOf(mark, attempt)+"/"+name, body)
	})
	one := make([]byte, head.Size)
	for range head.Envelopes {
		if _, err := io.ReadFull(body, one); err == io.EOF || err == io.ErrUnexpectedEOF {
			return 0, wire.Problemf(wire.BatchRefused, "truncated: fewer envelopes than are stated")
		} else if err != nil {
			return 0, err
		}
		if now := time.Now(); now.Sub(alone) > s.alone()/3 {
			if err := s.underWay(s.Store.Hold(ctx, mark, attempt, now.Add(s.alone()))); err != nil {
				return 0, err
			}
			alone = now
		}
		if err := dealer.Add(one); err != nil {
			return 0, err
		}
	}
	if err := dealer.Close(); err != nil {
		return 0, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(body, 1)); err != nil || n > 0 {
		return 0, errors.Join(err, wire.Problemf(wire.BatchRefused, "oversized: more than the envelopes that are stated"))
	}
	return dealer.Shards(), nil
}

// count writes what was counted of a batch as its tally.
func (s *Sharing) count(ctx context.Context, run Plan, mark rows.Batch, whole analyzer.Counted) (rows.Outcome, error) {
	receipts, err := relay.SplitReceipts(mark.Receipts)
	if err != nil {
		return rows.Failed, err
	}
	last := receipts[len(receipts)-1]
	if whole.Tally == nil || whole.Opened+whole.Dropped != int(last.Out) {
		return rows.Failed, errAgain
	}
	head := envelope.Head{
		Plan: last.Plan, Instance: last.Instance, Crowd: last.Crowd, Hop: last.Hop + 1, Respondents: last.Respondents, Envelopes: last.Out,
		Size: 1, // which counting does not look at
	}
	crowd, err := analyzer.Whole(run.Protocol, head, whole)
	if err != nil {
		return rows.Failed, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	mark.Smallest, mark.Dropped = crowd.Smallest, whole.Dropped
	tally, err := crowd.Tally.MarshalBinary()
	if err != nil {
		return rows.Failed, err
	}
	if err := s.Failpoint("batch-opened"); err != nil {
		return rows.Failed, err
	}
	outcome, err := s.Store.Count(ctx, mark, tally)
	if err != nil {
		return rows.Failed, s.Problem(err)
	}
	if outcome == rows.New {
		s.Opened(whole.Opened, whole.Dropped)
		s.Log.Info("batch counted in shards", "plan", mark.Plan, "instance", mark.Instance, "crowd", mark.Crowd)
	}
	return outcome, s.Failpoint("shards-added")
}
