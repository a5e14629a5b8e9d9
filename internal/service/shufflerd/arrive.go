package shufflerd

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// A batch that comes in parts is laid out as it comes: each part goes under the key of
// the crowd to where the mix reads it. The manifest stands there too, and the crowd's mark
// has its digest, so that whoever sends the manifest again learns which parts are not here.

// receiveManifest takes the manifest of a crowd's batch: 201 when all its parts are here,
// 200 for the same again, and 202 with what is missing before.
func (t *post) receiveManifest(w http.ResponseWriter, r *http.Request, leg wire.Leg) error {
	receipts, err := transfer.ReadReceipts(w, r, leg, t.receiptKeys[:t.hop], true)
	if err != nil {
		return err
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return err
	}
	m, err := transfer.ReadManifest(w, r)
	if err != nil {
		return err
	}
	if err := t.checkHead(m.Head, leg.Crowd); err != nil {
		return wire.Problemf(wire.BatchRefused, "%w", err)
	}
	digest := m.Digest()
	if err := handover.CheckChain(receipts, t.receiptKeys, m.Head, digest); err != nil {
		return wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	missing, again, err := t.arrive(context.WithoutCancel(r.Context()), receipts, m, digest)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return transfer.WriteMissing(w, missing)
	}
	serve.Created(w, again)
	if !again {
		t.poke()
	}
	return nil
}

// coming refuses a batch of a crowd that another is here of, or is being taken in.
func (t *post) coming(c uint32, digest [32]byte) (release func(), again bool, err error) {
	if !t.claim(c) {
		if state := t.state(c); state.Phase != "" && state.Phase != arriving && bytes.Equal(state.In, digest[:]) {
			return nil, true, nil
		}
		p := wire.Problemf(wire.Overloaded, "a batch of crowd %d is coming in already", c+1)
		p.RetryAfter = 5 * time.Second
		return nil, false, p
	}
	switch state := t.state(c); {
	case state.Phase == "" || state.Phase == arriving:
		return func() { t.release(c) }, false, nil
	case bytes.Equal(state.In, digest[:]):
		t.release(c)
		return nil, true, nil
	}
	t.release(c)
	return nil, false, wire.Problemf(wire.BatchTaken, "crowd %d", c+1)
}

// arrive finds the parts that are not here of a batch. When none is missing the crowd
// is marked as laid out.
func (t *post) arrive(ctx context.Context, receipts []relay.SignedReceipt, m handover.Manifest, digest [32]byte) (missing []int, again bool, err error) {
	c, blobs := m.Head.Crowd, t.s.o.Blobs
	release, again, err := t.coming(c, digest)
	if err != nil || again {
		return nil, again, err
	}
	defer release()
	state := t.state(c)
	if state.Phase == "" || !bytes.Equal(state.In, digest[:]) {
		done, err := t.s.quota.Reserve(ctx, m.Head.Bytes())
		if err != nil {
			return nil, false, inbox.Storage(err)
		}
		defer done()
		laid, err := t.newLaid(ctx, m.Head)
		if err != nil {
			return nil, false, inbox.Storage(err)
		}
		laid.Part = int(m.Parts[0].Envelopes)
		if err := laid.KeepManifest(ctx, blobs, m.Bytes()); err != nil {
			return nil, false, inbox.Storage(err)
		}
		// Nothing has left of one that was not here as a whole: its hop may have lost some of it.
		earlier := state.Laid
		state = crowd{Phase: arriving, In: digest[:], Laid: &laid}
		for _, s := range receipts {
			state.Receipts = append(state.Receipts, s.Bytes())
		}
		if err := t.mark(ctx, c, state); err != nil {
			return nil, false, inbox.Storage(err)
		}
		if err := t.s.o.Failpoint("manifest-kept"); err != nil {
			return nil, false, err
		}
		if earlier != nil {
			if err := blobs.Delete(ctx, earlier.Under); err != nil {
				return nil, false, inbox.Storage(err)
			}
		}
	}
	if missing, err = state.Laid.Lacking(ctx, blobs, handover.MaxMissing); err != nil || len(missing) > 0 {
		return missing, false, err
	}
	state.Phase = laidOut
	if err := t.mark(ctx, c, state); err != nil {
		return nil, false, inbox.Storage(err)
	}
	return nil, false, t.s.o.Failpoint("batch-kept")
}

// receivePart answers PUT .../batches/{crowd}/parts/{part}: 201 when the part is here, 200
// for the same again.
func (s *Service) receivePart(w http.ResponseWriter, r *http.Request) error {
	leg, n, err := wire.PathPartLeg(r)
	if err != nil {
		return err
	}
	t, err := s.receiver(leg)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.PartType); err != nil {
		return err
	}
	if err := t.open(leg.Crowd); err != nil {
		return err
	}
	if s.o.Blobs == nil {
		return transfer.NoStore("mix.folder or mix.bucket")
	}
	receipts, err := transfer.ReadReceipts(w, r, leg, t.receiptKeys[:t.hop], false)
	if err != nil {
		return err
	}
	release, again, err := t.coming(leg.Crowd, receipts[t.hop-1].BatchOut)
	if err != nil {
		return err
	}
	if !again {
		defer release()
		if again, err = t.keepPart(w, r, leg.Crowd, n, receipts[t.hop-1]); err != nil {
			return err
		}
	}
	serve.Created(w, again)
	return nil
}

func (t *post) keepPart(w http.ResponseWriter, r *http.Request, c uint32, n int, last relay.SignedReceipt) (again bool, err error) {
	ctx, blobs, state := context.WithoutCancel(r.Context()), t.s.o.Blobs, t.state(c)
	if state.Phase != arriving {
		return false, wire.Problemf(wire.NotFound, "no manifest of the batch is here: send it first")
	}
	if !bytes.Equal(state.Receipts[t.hop-1], last.Bytes()) {
		return false, wire.Problemf(wire.ReceiptRefused, "the receipts are not those of the manifest that is here")
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return false, err
	}
	text, err := state.Laid.Manifest(ctx, blobs)
	if err != nil {
		return false, inbox.Storage(err)
	}
	m, err := handover.ParseManifest(text)
	if err != nil {
		return false, err
	}
	if n >= len(m.Parts) {
		return false, wire.Problemf(wire.BatchRefused, "the batch has %d parts, counted from 0", len(m.Parts))
	}
	if there, err := state.Laid.Has(ctx, blobs, n); there || err != nil {
		return there, err
	}
	part, err := transfer.ReadPart(w, r, m, n)
	if err != nil {
		return false, err
	}
	if err := state.Laid.KeepPart(ctx, blobs, n, part); err != nil {
		return false, inbox.Storage(err)
	}
	return false, t.s.o.Failpoint("part-kept")
}
