package shards

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A batch that comes in parts is dealt to shards as its parts come, each by itself and in
// any order: what a part has given to a shard is a piece of it. Beside the shards lie the
// manifest, and a blob for each part that is dealt.

// PartFailpoints are those of batches that come in parts.
var PartFailpoints = []string{
	"manifest-kept",
	"part-dealt", // each time, not acknowledged
}

func arrivalOf(b rows.Batch, attempt string) string  { return shardsOf(b, attempt) + "_in" }
func manifestOf(b rows.Batch, attempt string) string { return arrivalOf(b, attempt) + "/manifest" }
func dealtOf(b rows.Batch, attempt string, n int) string {
	return fmt.Sprintf("%s/dealt/%d", arrivalOf(b, attempt), n)
}

// arriving is a batch of which parts come. All of them are dealt to as many shards, or copies
// of an envelope would not fall together: where another number is configured meanwhile, the
// batch is forgotten and begins anew. Requests that bring parts at the same time write in the
// name of one attempt, and each part the same bytes.
type arriving struct {
	attempt  string
	manifest handover.Manifest
	shards   int
}

// find reads what came first of a batch; fs.ErrNotExist: nothing is here, or not that.
func (s *Sharing) find(ctx context.Context, mark rows.Batch) (a arriving, err error) {
	if a.attempt, err = s.Store.Attempt(ctx, mark); err != nil {
		return a, s.Problem(err)
	}
	text, err := s.Blobs.Get(ctx, manifestOf(mark, a.attempt))
	if err != nil {
		return a, err
	}
	if len(text) < 4 {
		return a, fs.ErrNotExist
	}
	if a.manifest, err = handover.ParseManifest(text[4:]); err != nil || a.manifest.Digest() != mark.SHA256 {
		return a, fs.ErrNotExist
	}
	a.shards = int(binary.BigEndian.Uint32(text))
	if parts.ShardsOf(a.manifest.Head, s.Bytes) != a.shards {
		return a, fs.ErrNotExist
	}
	return a, nil
}

// open begins with a request for a batch in parts, whose receipts are read.
func (s *Sharing) open(w http.ResponseWriter, r *http.Request, leg wire.Leg, keys []relay.VerifyKey, manifest bool) ([]relay.SignedReceipt, rows.Batch, error) {
	if s.Blobs == nil {
		return nil, rows.Batch{}, transfer.NoStore("count.folder or count.bucket")
	}
	receipts, err := transfer.ReadReceipts(w, r, leg, keys, manifest)
	if err != nil {
		return nil, rows.Batch{}, err
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return nil, rows.Batch{}, err
	}
	last := receipts[len(receipts)-1]
	return receipts, rows.Batch{
		Plan: fmt.Sprintf("%x", leg.Plan), Instance: int(leg.Instance), Crowd: int(leg.Crowd), SHA256: last.BatchOut,
		Receipts: Bytes(receipts), Respondents: int(last.Respondents), Counted: s.Now(),
	}, nil
}

// TakeManifest takes the manifest of a batch. Where parts are missing it answers with them,
// and the outcome is Failed without an error; otherwise the batch is counted as Take does.
func (s *Sharing) TakeManifest(w http.ResponseWriter, r *http.Request, leg wire.Leg, keys []relay.VerifyKey) (rows.Outcome, error) {
	ctx := r.Context()
	receipts, mark, err := s.open(w, r, leg, keys, true)
	if err != nil {
		return rows.Failed, err
	}
	m, err := transfer.ReadManifest(w, r)
	if err != nil {
		return rows.Failed, err
	}
	head := m.Head
	if leg != (wire.Leg{Plan: head.Plan, Instance: head.Instance, Hop: head.Hop, Crowd: head.Crowd}) {
		return rows.Failed, wire.Problemf(wire.BadRequest, "the batch in the body is not the one that the path names")
	}
	if head.Bytes() > s.BatchSize {
		return rows.Failed, wire.Problemf(wire.TooLarge, "the batch has %d bytes; at most %d fit here", head.Bytes(), s.BatchSize)
	}
	if m.Digest() != mark.SHA256 {
		return rows.Failed, wire.Problemf(wire.ReceiptRefused, "the manifest is not the one that hop %d signed for", leg.Hop)
	}
	if outcome, err := s.Store.Taken(ctx, mark); outcome != rows.New {
		return outcome, s.Problem(err)
	}
	run, err := s.Find(ctx, mark.Plan)
	if err != nil {
		return rows.Failed, s.Problem(err)
	}
	if err := run.BornOut(receipts, head, mark.SHA256); err != nil {
		return rows.Failed, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	shared, err := s.Store.Shared(ctx, mark)
	if err != nil {
		return rows.Failed, s.Problem(err)
	}
	if shared.All == 0 {
		attempt, missing, err := s.lacking(ctx, mark, m)
		if err != nil {
			return rows.Failed, err
		}
		if len(missing) > 0 {
			return rows.Failed, transfer.WriteMissing(w, missing)
		}
		if err := s.Failpoint("batch-dealt"); err != nil {
			return rows.Failed, err
		}
		if err := s.underWay(s.Store.Share(ctx, mark, attempt, parts.ShardsOf(head, s.Bytes))); err != nil {
			return rows.Failed, err
		}
		shared.Attempt = attempt
	}
	return s.finish(ctx, run, leg, mark, shared.Attempt)
}

// lacking finds the attempt at a batch, and the first parts that are not dealt. The manifest of
// a batch of which nothing is here is kept, in the name of a new attempt.
func (s *Sharing) lacking(ctx context.Context, mark rows.Batch, m handover.Manifest) (attempt string, missing []int, err error) {
	a, err := s.find(ctx, mark)
	attempt = a.attempt
	if errors.Is(err, fs.ErrNotExist) {
		if attempt, err = s.begin(ctx, mark); err != nil {
			return "", nil, err
		}
		n := parts.ShardsOf(m.Head, s.Bytes)
		if err := s.Blobs.Put(ctx, manifestOf(mark, attempt), append(binary.BigEndian.AppendUint32(nil, uint32(n)), m.Bytes()...)); err != nil {
			return "", nil, err
		}
		if err := s.Failpoint("manifest-kept"); err != nil {
			return "", nil, err
		}
	} else if err != nil {
		return "", nil, err
	}
	names, err := s.Blobs.List(ctx, arrivalOf(mark, attempt))
	if err != nil {
		return "", nil, err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	for n := range m.Parts {
		if len(missing) < handover.MaxMissing && !there[dealtOf(mark, attempt, n)] {
			missing = append(missing, n)
		}
	}
	return attempt, missing, nil
}

// TakePart deals a part of a batch whose manifest is here to the batch's shards.
func (s *Sharing) TakePart(w http.ResponseWriter, r *http.Request, leg wire.Leg, n int, keys []relay.VerifyKey) error {
	ctx := r.Context()
	_, mark, err := s.open(w, r, leg, keys, false)
	if err != nil {
		return err
	}
	switch outcome, err := s.Store.Taken(ctx, mark); {
	case outcome == rows.Again:
		serve.Created(w, true)
		return nil
	case err != nil:
		return s.Problem(err)
	}
	a, err := s.find(ctx, mark)
	if errors.Is(err, fs.ErrNotExist) {
		return wire.Problemf(wire.NotFound, "no manifest of the batch is here: send it first")
	}
	if err != nil {
		return err
	}
	m := a.manifest
	if n >= len(m.Parts) {
		return wire.Problemf(wire.BatchRefused, "the batch has %d parts, counted from 0", len(m.Parts))
	}
	there, err := s.Blobs.Has(ctx, dealtOf(mark, a.attempt, n))
	if err != nil {
		return err
	}
	if there {
		serve.Created(w, true)
		return nil
	}
	part, err := transfer.ReadPart(w, r, m, n)
	if err != nil {
		return err
	}
	err = parts.Deal(m.Head, a.shards, len(m.Parts), n, part, func(name string, body []byte) error {
		return s.Blobs.Put(ctx, shardsOf(mark, a.attempt)+"/"+name, body)
	})
	if err != nil {
		return err
	}
	if err := s.Blobs.Put(ctx, dealtOf(mark, a.attempt, n), nil); err != nil {
		return err
	}
	if err := s.Failpoint("part-dealt"); err != nil {
		return err
	}
	serve.Created(w, false)
	return nil
}
