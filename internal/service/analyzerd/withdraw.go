package analyzerd

import (
	"context"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// trusted returns the publishers whose plans are taken now.
func (s *Service) trusted() plan.Publishers {
	p := s.o.Trust.Now()
	if slices.Contains(s.publishers, "") {
		return p
	}
	p.Keys = slices.DeleteFunc(slices.Clone(p.Keys), func(k plan.PublisherKey) bool { return !slices.Contains(s.publishers, k.Key) })
	return p
}

// suspended says why nothing is done for a registered plan now: its publishers are not
// trusted any more. It goes on once they are, or the plan has the signature of others.
func (s *Service) suspended(ctx context.Context, name string) error {
	o, err := s.outline(ctx, name)
	if err != nil {
		return err
	}
	return s.trusted().Stands(o.signed)
}

// standing returns the problem of a plan that is withdrawn or suspended.
func (s *Service) standing(ctx context.Context, hash [32]byte) error {
	if err := s.withdrawals.Err(hash); err != nil {
		return err
	}
	o, err := s.outline(ctx, nameOf(hash))
	if err != nil {
		return err
	}
	if s.trusted().Stands(o.signed) != nil {
		return registry.Suspended()
	}
	return nil
}

// resign serves a registered plan on under signatures that are trusted, where those
// that it had are not any more. The caller holds registering and has verified them.
func (s *Service) resign(ctx context.Context, signed plan.Signed) (bool, error) {
	name := signed.Plan.Name()
	o, err := s.outline(ctx, name)
	if err != nil || s.trusted().Stands(o.signed) == nil {
		return false, nil // it is not here, or stands as it is
	}
	if err := s.o.Store.Resign(ctx, name, signed.Marshal()); err != nil {
		return false, storeProblem(err)
	}
	s.texts.forget(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	o.signed = standing(signed)
	s.outlines[name] = o
	s.o.Log.Info("plan signed anew", "plan", name)
	return true, nil
}

// Withdraw ends a plan for good, as one of its publishers says: no batch is taken, what
// was counted is deleted, and nothing is released. What is released already stays. When
// it returns, that is on disk. again says that the plan was withdrawn before. The error
// is a *wire.Problem where the withdrawal is at fault.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	if err := s.registering.take(ctx); err != nil {
		return false, err
	}
	defer s.registering.give()
	name := nameOf(w.Plan)
	var signers []string
	if _, err := s.o.Store.Plan(ctx, name); err == nil {
		o, err := s.outline(ctx, name)
		if err != nil {
			return false, err
		}
		signers = o.signed.Signers()
	} else if p, ok := storeProblem(err).(*wire.Problem); !ok || p.Code != wire.UnknownPlan {
		return false, err
	}
	if again, err = s.withdrawals.Take(ctx, w, signers, s.trusted()); err != nil || again {
		return again, err
	}
	s.forget(name)
	s.texts.forget(name)
	s.o.Log.Warn("a plan is withdrawn", "plan", name, "publisher", w.Publisher, "reason", w.Reason, "here", signers != nil)
	return false, nil
}

func (s *Service) keepWithdrawal(ctx context.Context, name string, w plan.SignedWithdrawal) error {
	var err error
	if registry.Final(name) {
		err = s.o.Store.Withdraw(ctx, name, w.Marshal(), w.String(), s.o.Now())
		if err == nil {
			err = s.shards.Forget(ctx) // what workers have counted of a batch that is not whole yet
		}
	} else {
		err = s.o.Store.KeepWithdrawal(ctx, name, w.Marshal())
	}
	return storeProblem(err)
}

// unserved says which plan is here and not served, and why; "" for one that is.
func (s *Service) unserved(ctx context.Context, p string) string {
	if err := s.suspended(ctx, p); err != nil {
		return fmt.Sprintf("plan %s is suspended until its publishers are trusted again, or it is withdrawn; what was counted is kept: %s", plan.Short(p), err)
	}
	return ""
}
