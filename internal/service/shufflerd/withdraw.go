package shufflerd

import (
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Withdraw ends a plan for good, as one of its publishers says: it takes nothing more,
// nothing more leaves, and what was collected is destroyed with its keys. When it
// returns, that is on disk and holds after every restart; Run destroys what is there.
// again says that the plan was withdrawn before. The error is a *wire.Problem where the
// withdrawal is at fault.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	if err := s.abreast(ctx); err != nil {
		return false, err
	}
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	p, served := s.plans.Find(w.Plan)
	signed, here := s.plans.Signed(w.Plan)
	if again, err = s.plans.Withdraw(ctx, s.o.Common, w); err != nil {
		return false, err
	}
	if err := s.o.Failpoint("withdrawn"); err != nil {
		return false, err
	}
	if served {
		for _, t := range p.posts {
			t.poke()
		}
	} else if here {
		return again, s.destroyIdle(ctx, signed.Plan)
	}
	return again, nil
}

func (s *Service) keepWithdrawal(ctx context.Context, name string, w plan.SignedWithdrawal) error {
	err := s.rows.Set(ctx, rows.Withdrawn, name, w.Marshal(), nil)
	if errors.Is(err, rows.ErrChanged) {
		err = nil // it was there
	}
	return inbox.Storage(err)
}

// destroy ends a post of a plan that was withdrawn. The caller holds working.
func (t *post) destroy(ctx context.Context) error {
	t.mu.Lock()
	t.ended = true // nothing more comes in
	coming := len(t.busy)
	t.mu.Unlock()
	if coming > 0 {
		return wire.Problemf(wire.Overloaded, "a batch is still coming in")
	}
	if err := t.s.erase(ctx, t.name); err != nil {
		return err
	}
	t.mu.Lock()
	t.erased = true
	t.mu.Unlock()
	return t.s.forget(ctx, t.hash)
}

// adopt takes up the withdrawal that the next one refuses a batch for, if it can show
// it: whoever brings a withdrawal to some of the services has brought it to those
// before them.
func (t *post) adopt(ctx context.Context) error {
	text, err := serve.Get(ctx, t.s.o.Client, t.next().URL, wire.WithdrawalPath(t.hash), plan.MaxWithdrawalBytes)
	if err != nil {
		return err
	}
	w, err := plan.ParseWithdrawal(text)
	if err == nil && w.Plan != t.hash {
		err = errors.New("shuffler: the withdrawal is of another plan")
	}
	if err == nil {
		_, err = t.s.Withdraw(ctx, w) // who may have signed it, is asked there
	}
	return err
}

// destroyIdle destroys what is here of a withdrawn plan without posts.
func (s *Service) destroyIdle(ctx context.Context, p plan.Plan) error {
	for i, in := range p.Route.Instances() {
		for h := range in.Hops {
			if err := s.erase(ctx, postName(p.Hash(), i, h)); err != nil {
				return err
			}
		}
	}
	return s.remove(ctx, p.Hash())
}

func postName(hash [32]byte, instance, hop int) string {
	return fmt.Sprintf("%x_%d_%d", hash, instance, hop)
}

// erase drops all shelves of a post, and deletes its blobs and marks.
func (s *Service) erase(ctx context.Context, post string) error {
	shelves, err := s.rows.List(ctx)
	if err != nil {
		return err
	}
	for _, name := range shelves {
		if _, crowd := rows.CrowdOfShelf(name, post); crowd || name == inbox.ShelfName(post) {
			if err := s.rows.Forget(ctx, name); err != nil {
				return err
			}
		}
	}
	if err := s.o.Blobs.Delete(ctx, post); err != nil {
		return err
	}
	var marks []string
	err = s.rows.Each(ctx, rows.Crowds, post+"/", func(key string, _ []byte) error {
		marks = append(marks, key)
		return nil
	})
	if err == nil {
		err = s.rows.Delete(ctx, rows.Crowds, marks...)
	}
	if err == nil {
		err = s.rows.Delete(ctx, rows.Epochs, post)
	}
	return err
}
