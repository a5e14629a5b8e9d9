package shufflerd

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// A crowd that does not fit memory is laid out in parts, and mixed by the steps of package
// mixer. Its key is on the crowd's shelf, and its mark says for which attempt: whatever is killed,
// whoever takes a step takes it with that key, and it gives the same bytes. The shelf is dropped
// when the crowd has left.

// lay writes a crowd's parts, and marks it as laid out. Without the mark what was written
// is nothing.
func (t *post) lay(ctx context.Context, head envelope.Head, each func(func([]byte) error) error, came crowd) error {
	laid, err := t.newLaid(ctx, head)
	if err != nil {
		return err
	}
	if err := laid.Lay(ctx, t.s.o.Blobs, each); err != nil {
		return err
	}
	if err := t.s.o.Failpoint("parts-written"); err != nil {
		return err
	}
	if err := t.mark(ctx, head.Crowd, crowd{Phase: laidOut, In: came.In, Receipts: came.Receipts, Before: came.Damaged, Laid: &laid}); err != nil {
		return err
	}
	return t.s.o.Failpoint("parts-marked")
}

// mixLaid takes the steps that are left of a crowd in parts, and writes what comes out to
// the outbox.
func (t *post) mixLaid(ctx context.Context, c uint32) error {
	state := t.state(c)
	laid, blobs := state.Laid, t.s.o.Blobs
	hop, err := t.mixer()
	if err != nil {
		return err
	}
	head := envelope.Head{
		Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(t.hop), Crowd: c,
		Respondents: laid.Respondents, Envelopes: laid.Envelopes, Size: laid.Size,
	}
	if len(state.In) > 0 { // it may have come in parts, and nobody has looked at it as a crowd yet
		if err := t.check(ctx, hop, head); errors.Is(err, shuffler.ErrWithheld) {
			return t.withhold(ctx, c, state.In)
		} else if err != nil {
			return err
		}
	}
	var asked map[mixer.Step]time.Time
	for {
		steps, err := laid.Steps(ctx, blobs)
		if errors.Is(err, mixer.ErrLost) {
			return t.lose(ctx, c, err)
		}
		if err != nil {
			return err
		}
		if len(steps) == 0 {
			break
		}
		if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
			return nil
		}
		if t.s.worker != nil {
			asked, err = t.share(ctx, c, laid.Under, steps, asked)
		} else {
			err = t.inTurn(ctx, hop, laid, steps)
		}
		if errors.Is(err, mixer.ErrLost) {
			return t.lose(ctx, c, err)
		}
		if err != nil {
			return err
		}
	}
	did, tokens, err := laid.Sums(ctx, blobs)
	if err != nil {
		return err
	}
	did, err = hop.Leave(head, did, tokens)
	if errors.Is(err, shuffler.ErrWithheld) {
		return t.withhold(ctx, c, state.In)
	}
	if err != nil {
		return err
	}
	out := head
	out.Hop++
	out.Envelopes, out.Size = uint64(did.Out), hop.SizeOut()
	err = t.leave(ctx, state, out, did, hop.Spent(c), func(w io.Writer) error { return laid.Write(ctx, blobs, w) })
	if err != nil {
		return err
	}
	if err := t.s.o.Blobs.Delete(ctx, mixer.Folder(t.name, c)); err != nil {
		return err
	}
	return t.s.o.Failpoint("parts-purged")
}

// inTurn takes steps of a crowd one after the other, until its plan is withdrawn.
func (t *post) inTurn(ctx context.Context, hop *shuffler.Hop, laid *mixer.Crowd, steps []mixer.Step) error {
	for _, step := range steps {
		if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
			return nil
		}
		if err := t.alone(ctx, func() error { return laid.Do(ctx, hop, t.s.o.Blobs, step) }); err != nil {
			return err
		}
		if err := t.s.o.Failpoint("step-done"); err != nil {
			return err
		}
	}
	return nil
}

// inBlobs returns how many bytes of envelopes lie in blobs, or are to: a batch that arrives has its
// room from its manifest on.
func (s *Service) inBlobs() (n int64) {
	for _, t := range s.posts() {
		t.mu.Lock()
		for _, state := range t.crowds {
			switch {
			case state.Laid != nil:
				n += state.Laid.Bytes()
			case state.Phase == received || state.Phase == mixed:
				n += state.whole()
			}
		}
		t.mu.Unlock()
	}
	return n
}

// clear destroys the key of a crowd that has left, or never will, and deletes what it opened.
func (t *post) clear(ctx context.Context, c uint32) error {
	if err := t.s.rows.Forget(ctx, rows.CrowdShelf(t.name, c)); err != nil {
		return err
	}
	for _, under := range []string{t.folder(inKind, c), t.folder(outKind, c), mixer.Folder(t.name, c)} {
		if err := t.s.o.Blobs.Delete(ctx, under); err != nil {
			return err
		}
	}
	return nil
}

// lose destroys a crowd of which a part is lost: without it another order could leave than
// with it, and who was in it cannot be told.
func (t *post) lose(ctx context.Context, c uint32, why error) error {
	t.s.o.Log.Error("a crowd is lost: the store does not give a part of it back", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c, "error", why.Error())
	if err := t.mark(ctx, c, crowd{Phase: withheld, In: t.state(c).In, Lost: true}); err != nil {
		return err
	}
	return t.clear(ctx, c)
}
