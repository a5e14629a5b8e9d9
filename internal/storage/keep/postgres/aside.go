package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// SetAside implements keep.Store: it moves rows that are not what was written to a table beside the
// shelf's, where they stay until Drop, in one transaction that nobody writes beside. Where the table
// is gone it makes another one. A key that is lost, and what PostgreSQL itself cannot read, it
// refuses: others may have them still.
func (s *store) SetAside(ctx context.Context, name string) (keep.Shelf, error) {
	if name == keep.Main {
		return nil, fmt.Errorf("%w: nothing of %s can be set aside", keep.ErrDamaged, name)
	}
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	sh, err := s.opened(ctx, name, false)
	if err != nil {
		return nil, err
	}
	tx, st, err := sh.beginUpdate(ctx, lock{sh.inserting, false})
	if err != nil {
		return nil, err
	}
	defer tx.rollback()
	if !st.tabled {
		return sh, nil
	}
	lost, err := sh.moveAside(ctx, tx, st.due)
	if err != nil || lost == 0 {
		return sh, explain(ctx, err)
	}
	if _, err := tx.conn.Exec(ctx, "UPDATE confetti_shelves SET lost = lost + $2, inserted = CASE WHEN inserted IS NOT NULL THEN (SELECT count(*) FROM "+sh.table+" WHERE tag IS NOT NULL) END WHERE shelf = $1", name, lost); err != nil {
		return nil, explain(ctx, err)
	}
	return sh, tx.commit(ctx)
}

// moveAside returns how many rows are lost: those that it has moved, and those that Seal had counted
// and that are not there.
func (s *shelf) moveAside(ctx context.Context, tx *transaction, due *int64) (lost int64, err error) {
	var there bool
	if err := tx.conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.table).Scan(&there); err != nil {
		return 0, err
	}
	if !there {
		_, err := tx.conn.Exec(ctx, fmt.Sprintf(tableForm, s.table))
		if lost = 1; due != nil {
			lost = *due
		}
		return lost, err
	}
	rows, err := tx.conn.Query(ctx, "SELECT ctid::text, n IS NULL, t, k, tag, v, sum FROM "+s.table+" WHERE "+aRow)
	if err != nil {
		return 0, err
	}
	var bad []string // where they lie: a key that has changed finds nothing
	whole, updated := int64(0), false
	var at string
	var byUpdate bool
	var t int16
	var k, tag, v, sum []byte
	_, err = pgx.ForEachRow(rows, []any{&at, &byUpdate, &t, &k, &tag, &v, &sum}, func() error {
		updated = updated || byUpdate
		if _, err := s.secret.open(t, k, tag, v, sum); err != nil {
			bad = append(bad, at)
		} else if tag != nil {
			whole++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if lost = int64(len(bad)); due != nil {
		lost = max(lost, *due-whole)
	}
	if lost > 0 && updated {
		return 0, fmt.Errorf("%w: an Update has put rows of the shelf %s, and a mark that is gone would guard nothing: nothing can be set aside", keep.ErrDamaged, s.name)
	}
	if len(bad) > 0 {
		_, err = tx.conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+s.table+aside+" (LIKE "+s.table+")")
		if err == nil {
			_, err = tx.conn.Exec(ctx, "WITH bad AS (DELETE FROM "+s.table+" WHERE ctid = ANY($1::text[]::tid[]) RETURNING *) INSERT INTO "+s.table+aside+" SELECT * FROM bad", bad)
		}
	}
	return lost, err
}

// aside ends the name of the table that has what was set aside of a shelf.
const aside = "_aside"

// Lost implements keep.Store.
func (s *store) Lost(ctx context.Context, name string) (rows uint64, err error) {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	err = s.read(ctx, func() error {
		st, err := s.status(ctx, s.pool, name)
		if err == nil && st.state >= isDropping {
			err = fmt.Errorf("%w: %s", keep.ErrDropped, name)
		}
		rows = uint64(st.lost)
		return err
	})
	return rows, err
}
