package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const withdrawalsVersion = 6 // of the migration

// withdrawable makes the tables of withdrawals, and of signatures that came later than
// their plans.
func (k kind) withdrawable(ctx context.Context, tx *sql.Tx) error {
	statements := []string{
		"CREATE TABLE withdrawals (name TEXT NOT NULL PRIMARY KEY, statement BYTEA NOT NULL)",
		"CREATE TABLE signatures (plan TEXT NOT NULL REFERENCES plans (name), number BIGINT NOT NULL, signed BYTEA NOT NULL, PRIMARY KEY (plan, number))",
	}
	for _, table := range []string{"withdrawals", "signatures"} {
		statements = append(statements, k.guardTable(table, true)...)
	}
	return execute(ctx, tx, statements)
}

func (k kind) unwithdrawable(ctx context.Context, tx *sql.Tx) error {
	statements := []string{"DROP TABLE signatures", "DROP TABLE withdrawals"}
	if k == postgres {
		for _, table := range []string{"withdrawals", "signatures"} {
			for _, verb := range []string{"update", "delete", "truncate"} {
				statements = append(statements, "DROP FUNCTION "+table+"_no_"+verb)
			}
		}
	}
	return execute(ctx, tx, statements)
}

// Withdrawals calls fn for the name and text of every withdrawal that was kept.
func (s *Store) Withdrawals(ctx context.Context, fn func(name string, text []byte) error) error {
	return each(ctx, s.reader, func(r *sql.Rows) error {
		var name string
		var text []byte
		if err := r.Scan(&name, &text); err != nil {
			return err
		}
		return fn(name, text)
	}, "SELECT name, statement FROM withdrawals ORDER BY name")
}

// KeepWithdrawal writes a withdrawal under a name. The first of a name stays.
func (s *Store) KeepWithdrawal(ctx context.Context, name string, text []byte) error {
	return s.write(ctx, "withdraw", func(tx *sql.Tx) error { return keepWithdrawal(ctx, tx, name, text) })
}

func keepWithdrawal(ctx context.Context, tx *sql.Tx, name string, text []byte) error {
	if there, err := exists(ctx, tx, "SELECT 1 FROM withdrawals WHERE name = $1", name); err != nil || there {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO withdrawals (name, statement) VALUES ($1, $2)", name, text); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Withdraw keeps the withdrawal of a plan and, in the same step, ends it: it takes no
// batch, its tallies, receipts and marks are deleted, and where there is no verdict yet
// there is one, for the reason given, so that nothing of it is ever released. What it
// cost stays in the ledger, and so does a release that is out already. A plan that is
// not here has its withdrawal kept alone.
func (s *Store) Withdraw(ctx context.Context, plan string, text []byte, reason string, at time.Time) error {
	err := s.write(ctx, "withdraw", func(tx *sql.Tx) error {
		if err := keepWithdrawal(ctx, tx, plan, text); err != nil {
			return err
		}
		p, err := planNamed(ctx, tx, plan)
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Closed.IsZero() {
			if _, err := tx.ExecContext(ctx, "INSERT INTO closings (plan, closer, closed) VALUES ($1, $2, $3)", plan, "its publisher, who withdrew it", stamp(at)); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		if p.Decided.IsZero() {
			if _, err := tx.ExecContext(ctx, "INSERT INTO verdicts (plan, released, reason, decided) VALUES ($1, 0, $2, $3)", plan, reason, stamp(at)); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		for _, table := range []string{"counts", "batches"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE plan = $1", plan); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.reclaim(ctx, "counts, batches")
}

// Resign keeps another signed form of a plan that is here: the same plan, signed by
// others. Signed returns the newest.
func (s *Store) Resign(ctx context.Context, plan string, signed []byte) error {
	return s.write(ctx, "resign", func(tx *sql.Tx) error {
		if _, err := planNamed(ctx, tx, plan); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO signatures (plan, number, signed)
			VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM signatures WHERE plan = $1), $2)`, plan, signed); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
}

const selectSigned = `SELECT COALESCE((SELECT signed FROM signatures WHERE plan = $1 ORDER BY number DESC LIMIT 1), signed) FROM plans WHERE name = $1`
