package planlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// checkpoint is what everybody is shown of a tree.
type checkpoint struct {
	size int64
	root []byte
	text []byte // nil: none was shown yet
}

// openCheckpoint reads one of the log.
func openCheckpoint(text []byte, key note.Verifier) (checkpoint, error) {
	c, _, _, err := log.ParseCheckpoint(text, key.Name(), key)
	if err == nil && c.Size > 1<<62 {
		err = errors.New("a checkpoint of more entries than a log can have")
	}
	if err != nil {
		return checkpoint{}, fmt.Errorf("its checkpoint: %w", err)
	}
	return checkpoint{int64(c.Size), c.Hash, text}, nil
}

// of says that a tree does not begin as the checkpoint says.
func (c checkpoint) of(t *tree) error {
	if t.size < c.size {
		return fmt.Errorf("%d entries were shown, and the tree has %d", c.size, t.size)
	}
	root, err := tlog.TreeHash(c.size, t)
	if err == nil && string(root[:]) != string(c.root) {
		err = fmt.Errorf("its entries are not those of the checkpoint of %d", c.size)
	}
	return err
}

// follow takes up what other processes have added and shown.
func (s *Service) follow(ctx context.Context) error {
	get := func(t keep.Table, key string) ([]byte, bool, error) { return s.main.Get(ctx, t, key) }
	text, there, err := get(shownTable, shownKey)
	if err != nil {
		return err
	}
	if _, err := s.catchUp(get); err != nil || !there {
		return err
	}
	s.mu.Lock()
	same := s.shown.text != nil && bytes.Equal(text, s.shown.text)
	s.mu.Unlock()
	if same { // it was compared with entries, which stay
		return nil
	}
	c, err := openCheckpoint(text, s.verifier)
	if err == nil {
		t := s.known()
		err = c.of(&t)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown.text == nil || c.size > s.shown.size {
		s.shown = c
		close(s.news)
		s.news = make(chan struct{})
	}
	return nil
}

// run publishes until the context ends.
func (s *Service) run(ctx context.Context) {
	defer close(s.stopped)
	tick := time.NewTicker(cmp.Or(s.o.Interval, time.Second))
	defer tick.Stop()
	for {
		err := s.publish(ctx)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if err != nil && s.fault == nil {
			s.o.Log.Warn("what was added is not shown yet", "reason", err.Error())
		}
		s.fault = err
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// publish shows what is kept, once the witnesses have signed it.
func (s *Service) publish(ctx context.Context) error {
	if err := s.follow(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	t, shown := s.tree, s.shown
	s.mu.Unlock()
	if shown.text != nil && t.size == shown.size {
		return nil
	}
	root, err := tlog.TreeHash(t.size, &t)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: string(log.Checkpoint{Origin: s.o.Name, Size: uint64(t.size), Hash: root[:]}.Marshal())}, s.signer)
	if err != nil {
		return err
	}
	text, err := s.cosigned(ctx, string(signed), t)
	if err != nil {
		return err
	}
	if err := s.o.Failpoint("checkpoint signed"); err != nil {
		return err
	}
	err = s.main.Update(ctx, func(tx keep.Tx) error {
		stands, there, err := tx.Get(shownTable, shownKey)
		if err == nil && there {
			var c checkpoint
			if c, err = openCheckpoint(stands, s.verifier); err == nil && c.size >= t.size {
				return nil // another process was first
			}
		}
		if err == nil {
			tx.Put(shownTable, shownKey, []byte(text))
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.follow(ctx)
}

// stands returns the evidence of an entry, once the witnesses have signed.
func (s *Service) stands(ctx context.Context, at int64) (plan.Evidence, error) {
	for {
		s.mu.Lock()
		shown, news, t := s.shown, s.news, s.tree
		s.mu.Unlock()
		if shown.size > at {
			proof, err := tlog.ProveRecord(shown.size, at, &t)
			return plan.Evidence{Index: at, Proof: proof, Checkpoint: string(shown.text)}, err
		}
		select {
		case <-news:
		case <-s.stopped:
			return plan.Evidence{}, errors.New("log: it ends")
		case <-ctx.Done():
			return plan.Evidence{}, fmt.Errorf("log: no checkpoint was published: %w", ctx.Err())
		}
	}
}
