package analyzerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/shards"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// putBatch answers PUT /v1/plans/{plan}/instances/{instance}/hops/{hop}/batches/{crowd}:
// 201 when the batch is counted and its tally on disk, 200 for the same again.
func (s *Service) putBatch(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.BatchType, wire.PartedType); err != nil {
		return err
	}
	parted := web.CheckType(r.Header.Get("Content-Type"), wire.PartedType) == nil
	// {hop} is how many receipts there are: a body without room for them is no batch
	// of any plan.
	if n := r.ContentLength; n >= 0 && n < int64(handover.PrefixSize(int(leg.Hop))) {
		return transfer.Shorter(int(leg.Hop))
	}
	keys, err := s.keys(r.Context(), leg)
	if err != nil {
		return err
	}
	if parted {
		outcome, err := s.shards.TakeManifest(w, r, leg, keys)
		s.taken(r.Context(), outcome, err)
		if err == nil && outcome != rows.Failed {
			w.WriteHeader(status(outcome))
		}
		return err
	}
	receipts, err := transfer.Whole(w, r, leg, keys)
	if err != nil {
		return err
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return err
	}
	if s.o.Blobs != nil && r.ContentLength > int64(s.o.ShardBytes) {
		outcome, err := s.shards.Take(w, r, leg, receipts)
		s.taken(r.Context(), outcome, err)
		if err != nil {
			return err
		}
		w.WriteHeader(status(outcome))
		return nil
	}
	batch, err := serve.ReadBody(w, r, s.o.BatchSize)
	if err != nil {
		return err
	}
	h, err := handover.NewHandover(receipts, batch)
	if err != nil {
		return wire.Problemf(wire.BatchRefused, "%w", err)
	}
	b := h.Batch
	if leg != (wire.Leg{Plan: b.Plan, Instance: b.Instance, Hop: b.Hop, Crowd: b.Crowd}) {
		return wire.Problemf(wire.BadRequest, "the batch in the body is not the one that the path names")
	}
	outcome, err := s.Take(r.Context(), h)
	if err != nil {
		return err
	}
	w.WriteHeader(status(outcome))
	return nil
}

// putPart answers PUT .../batches/{crowd}/parts/{part}: 201 when the part is on disk, 200
// for the same again.
func (s *Service) putPart(w http.ResponseWriter, r *http.Request) error {
	leg, n, err := wire.PathPartLeg(r)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.PartType); err != nil {
		return err
	}
	keys, err := s.keys(r.Context(), leg)
	if err != nil {
		return err
	}
	return s.shards.TakePart(w, r, leg, n, keys)
}

// keys returns those of the receipts of the hops before the analyzer, on a leg that it serves.
func (s *Service) keys(ctx context.Context, leg wire.Leg) ([]relay.VerifyKey, error) {
	if err := s.standing(ctx, leg.Plan); err != nil {
		return nil, storeProblem(err)
	}
	o, err := s.outline(ctx, nameOf(leg.Plan))
	if err != nil {
		return nil, storeProblem(err)
	}
	if o.summed {
		return nil, wire.Problemf(wire.WrongRole, "the plan's answers are summed: the analyzer fetches the sums")
	}
	if int(leg.Instance) >= len(o.receipts) || int(leg.Hop) != len(o.receipts[leg.Instance]) {
		return nil, wire.Problemf(wire.WrongRole, "the analyzer comes after the last hop of an instance of the plan")
	}
	return o.receipts[leg.Instance], nil
}

// Take counts a batch of a registered plan. Once it returns New or Again, the
// batch's tally, its mark and its receipts are on disk, all of them, once. The
// error is a *wire.Problem where the batch is at fault.
func (s *Service) Take(ctx context.Context, h handover.Handover) (rows.Outcome, error) {
	outcome, err := s.take(ctx, h)
	s.taken(ctx, outcome, err)
	return outcome, err
}

// taken notes what became of a batch that came.
func (s *Service) taken(ctx context.Context, outcome rows.Outcome, err error) {
	s.meters.batch(outcome)
	if errors.Is(err, keep.ErrFull) {
		s.o.Log.Error("a batch was refused: the database's disk is full")
	}
}

func (s *Service) take(ctx context.Context, h handover.Handover) (rows.Outcome, error) {
	b := h.Batch
	name := nameOf(b.Plan)
	mark := rows.Batch{
		Plan: name, Instance: int(b.Instance), Crowd: int(b.Crowd), SHA256: h.Digest, Receipts: shards.Bytes(h.Receipts),
		Respondents: int(b.Respondents), Counted: s.o.Now(),
	}
	if err := s.standing(ctx, b.Plan); err != nil {
		return rows.Failed, storeProblem(err)
	}
	// Who asks about a batch that is here, or comes too late, gets the answer
	// without any work on what is in it.
	if outcome, err := s.o.Store.Taken(ctx, mark); outcome != rows.New {
		return outcome, storeProblem(err)
	}
	run, err := s.run(ctx, name)
	if err != nil {
		return rows.Failed, storeProblem(err)
	}
	if run.counter == nil || int(b.Instance) >= len(run.receipts) {
		return rows.Failed, wire.Problemf(wire.BatchRefused, "the plan has no instance %d", b.Instance+1)
	}
	if err := s.bornOut(run, h.Receipts, b.Head(), h.Digest); err != nil {
		return rows.Failed, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	if err := s.o.Failpoint("batch-arrived"); err != nil {
		return rows.Failed, err
	}
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return rows.Failed, ctx.Err()
	}
	if outcome, err := s.o.Store.Taken(ctx, mark); outcome != rows.New { // it came twice at once
		return outcome, storeProblem(err)
	}
	crowd, dropped, err := run.counter.Count(b)
	if err != nil {
		return rows.Failed, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	mark.Smallest, mark.Dropped = crowd.Smallest, dropped
	counted, err := crowd.Tally.MarshalBinary()
	if err != nil {
		return rows.Failed, err
	}
	if err := s.o.Failpoint("batch-opened"); err != nil {
		return rows.Failed, err
	}
	// A hop that has lost patience comes again: what is opened by then is kept, or
	// a batch that takes longer than its hop waits would never be counted.
	outcome, err := s.o.Store.Count(context.WithoutCancel(ctx), mark, counted)
	if err != nil {
		return rows.Failed, storeProblem(err)
	}
	if outcome == rows.New {
		s.meters.opened(len(b.Envelopes)-mark.Dropped, mark.Dropped)
		s.o.Log.Info("batch counted", "plan", name, "instance", b.Instance, "crowd", b.Crowd)
	}
	return outcome, nil
}

// bornOut checks the receipts against the plan's keys, each other and the batch.
func (s *Service) bornOut(run *running, receipts []relay.SignedReceipt, head envelope.Head, digest [32]byte) error {
	keys := run.receipts[head.Instance]
	if err := handover.CheckChain(receipts, keys, head, digest); err != nil {
		return err
	}
	p := run.signed.Plan
	for i, hop := range p.Route.Instances()[head.Instance].Hops {
		if hop.Tokens != "" && int64(receipts[i].Tokens) < int64(p.Crowd.Minimum) {
			return fmt.Errorf("analyzer: receipt of hop %d: fewer single-use tokens than the plan's minimum of %d", i+1, p.Crowd.Minimum)
		}
	}
	return nil
}
