package issuer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/plan"
)

// withdrawn ends the name of a file that holds a withdrawal.
const withdrawn = ".withdrawn"

// Withdraw ends a plan for good, as one of its publishers says: no token is signed any
// more, and who has some is forgotten. When it returns, that is on disk and holds after
// every restart. again says that the plan was withdrawn before. The error is a
// *wire.Problem where the withdrawal is at fault.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, left := s.plans[w.Plan], s.idle[w.Plan]
	var signers []string
	var of [32]byte
	switch {
	case p != nil:
		signers, of = p.signed.Signers(), p.scope
	case left.why != "":
		signers, of = left.signed.Signers(), scope(left.signed)
	}
	if again, err = s.withdrawals.Take(ctx, w, signers, s.o.Publishers.Now()); err != nil {
		return false, err
	}
	if signers == nil {
		return again, nil
	}
	s.o.Log.Warn("a plan is withdrawn", "plan", fmt.Sprintf("%x", w.Plan), "publisher", w.Publisher, "reason", w.Reason)
	if err := s.o.Failpoint("withdrawn"); err != nil {
		return false, err
	}
	if p != nil && s.sharing(w.Plan, of) == nil {
		p.log.stop(s.withdrawals.Err(w.Plan))
		err = p.log.close()
	}
	delete(s.plans, w.Plan)
	delete(s.idle, w.Plan)
	return again, errors.Join(err, s.remove(w.Plan, of))
}

func (s *Service) keepWithdrawal(_ context.Context, name string, w plan.SignedWithdrawal) error {
	if err := durable.Replace(filepath.Join(s.o.Folder, name+withdrawn), w.Marshal(), 0o600); err != nil {
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
	publishers := s.o.Publishers.Now()
	if err := s.o.Publishers.Err(); err != nil {
		alarms = append(alarms, "publishers: what was read last counts: "+err.Error())
	}
	for _, p := range s.sorted() {
		if err := publishers.Stands(p.signed); err != nil {
			alarms = append(alarms, fmt.Sprintf("%s is suspended until its publishers are trusted again, or it is withdrawn; who has tokens is kept: %s", plan.Short(p.signed.Plan.Name()), err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apart != nil {
		alarms = append(alarms, "what is over waits to be forgotten: "+s.apart.Error())
	}
	for _, p := range s.idle {
		alarms = append(alarms, fmt.Sprintf("%s is not served any more: %s", plan.Short(p.signed.Plan.Name()), p.why))
	}
	return alarms
}
