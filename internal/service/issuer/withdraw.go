package issuer

import (
	"context"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// Withdraw ends a plan for good, as one of its publishers says: no token is signed any
// more, and who has some is forgotten. When it returns, that is on disk and holds after
// every restart. again says that the plan was withdrawn before. The error is a
// *wire.Problem where the withdrawal is at fault.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	if err := s.abreast(ctx); err != nil {
		return false, err
	}
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	signed, here := s.plans.Signed(w.Plan)
	if again, err = s.plans.Withdraw(ctx, s.o.Common, w); err != nil || !here {
		return again, err
	}
	if err := s.o.Failpoint("withdrawn"); err != nil {
		return false, err
	}
	return again, s.end(ctx, w.Plan, scope(signed), func(p *served) { p.marks.end(s.withdrawals.Err(w.Plan)) })
}

func (s *Service) keepWithdrawal(ctx context.Context, name string, w plan.SignedWithdrawal) error {
	return explained(s.main.Update(ctx, func(tx keep.Tx) error {
		_, err := shelves.First(tx, withdrawnTable, name, w.Marshal())
		return err
	}))
}

// unserved says which plans are here and not served, and why; and why those that are over
// are here at all.
func (s *Service) unserved() (alarms []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apart != nil {
		alarms = append(alarms, "what is over waits to be forgotten: "+s.apart.Error())
	}
	return append(alarms, s.plans.Unserved()...)
}
