package rows

import (
	"context"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Withdrawals calls fn for the name and text of every withdrawal that was kept.
func (s *Store) Withdrawals(ctx context.Context, fn func(name string, text []byte) error) error {
	return s.main.Each(ctx, withdrawnTable, "", fn)
}

// KeepWithdrawal writes a withdrawal under a name. The first of a name stays.
func (s *Store) KeepWithdrawal(ctx context.Context, name string, text []byte) error {
	return s.write(ctx, s.main, "withdraw", func(tx keep.Tx) error {
		_, err := shelves.First(tx, withdrawnTable, name, text)
		return err
	})
}

// Withdraw keeps the withdrawal of a plan and, in the same step, ends it: it takes no
// batch, its shelf of tallies, receipts and marks is dropped, and where there is no verdict yet
// there is one, for the reason given, so that nothing of it is ever released. What it
// cost stays in the ledger, and so does a release that is out already. A plan that is
// not here has its withdrawal kept alone.
func (s *Store) Withdraw(ctx context.Context, plan string, text []byte, reason string, at time.Time) error {
	at = at.UTC().Truncate(time.Microsecond)
	if _, here, err := s.main.Get(ctx, plansTable, plan); err != nil {
		return err
	} else if here {
		if err := s.seal(ctx, plan); err != nil {
			return err
		}
	}
	here := false
	err := s.write(ctx, s.main, "withdraw", func(tx keep.Tx) (err error) {
		if _, err := shelves.First(tx, withdrawnTable, plan, text); err != nil {
			return err
		}
		if _, here, err = tx.Get(plansTable, plan); err != nil || !here {
			return err
		}
		if _, err := putClosing(tx, plan, closing{"its publisher, who withdrew it", at}); err != nil {
			return err
		}
		tx.Put(goneTable, plan, nil)
		if _, there, err := tx.Get(verdictsTable, plan); err != nil || there {
			return err
		}
		return put(tx, verdictsTable, plan, verdict{Reason: reason, At: at})
	})
	if err != nil || !here {
		return err
	}
	return s.drop(ctx, plan)
}
