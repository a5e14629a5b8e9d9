package issuer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// withdrawn ends the name of a file that holds a withdrawal.
const withdrawn = ".withdrawn"

// Withdraw ends a plan for good, as one of its publishers says: no token is signed any
// more, and who has some is forgotten. When it returns, that is on disk and holds after
// every restart. again says that the plan was withdrawn before. The error is a
// *wire.Problem where the withdrawal is at fault.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	signed, here := s.plans.Signed(w.Plan)
	if again, err = s.plans.Withdraw(ctx, s.o.Common, w); err != nil || !here {
		return again, err
	}
	if err := s.o.Failpoint("withdrawn"); err != nil {
		return false, err
	}
	return again, s.end(w.Plan, scope(signed), func(p *served) { p.marks.end(s.withdrawals.Err(w.Plan)) })
}

func (s *Service) keepWithdrawal(_ context.Context, name string, w plan.SignedWithdrawal) error {
	if err := atomicfile.Replace(filepath.Join(s.o.Folder, name+withdrawn), w.Marshal(), 0o600); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}

func (s *Service) restoreWithdrawals() error {
	paths, err := filepath.Glob(filepath.Join(s.o.Folder, "*"+withdrawn))
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
		if err := s.withdrawals.Restore(strings.TrimSuffix(filepath.Base(path), withdrawn), text); err != nil {
			return fmt.Errorf("issuer: %s: %w", path, err)
		}
	}
	return nil
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
