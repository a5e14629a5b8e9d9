package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

func (s *store) Create(ctx context.Context, name string) (keep.Shelf, error) {
	if err := keep.CheckName(name); err != nil {
		return nil, err
	}
	if name == keep.Main {
		return nil, fmt.Errorf("%w: %s is made with the store", keep.ErrExists, name)
	}
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	tx, err := s.begin(ctx, nil, nil, nil)
	if err != nil {
		return nil, explain(ctx, err)
	}
	defer tx.rollback()
	st, err := s.add(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if err := tx.commit(ctx); err != nil {
		return nil, err
	}
	return s.shelf(name, st), nil
}

// add writes the row of a new shelf. Its key is on disk before the row is there, under a number
// that no other shelf ever has.
func (s *store) add(ctx context.Context, tx *transaction, name string) (st status, err error) {
	st.key = drawn(keySize)
	inside := st.key
	if s.config.Keys != nil {
		inside = nil
	}
	err = tx.conn.QueryRow(ctx, "INSERT INTO confetti_shelves (shelf, state, tabled, key) VALUES ($1, $2, false, $3) ON CONFLICT DO NOTHING RETURNING number", name, isOpen, inside).Scan(&st.number)
	if errors.Is(err, pgx.ErrNoRows) {
		was, err := s.status(ctx, tx.conn, name)
		if err == nil && was.state >= isDropping {
			return st, fmt.Errorf("%w: %s", keep.ErrDropped, name)
		}
		if err == nil {
			err = fmt.Errorf("%w: %s", keep.ErrExists, name)
		}
		return st, explain(ctx, err)
	}
	if err != nil {
		return st, explain(ctx, err)
	}
	if s.config.Keys != nil {
		if err := s.config.Keys.Put(ctx, keyName(name, st.number), keyForm(st.key)); err != nil {
			return st, fmt.Errorf("%w: the key of shelf %s cannot be written: %w", keep.ErrUnavailable, name, err)
		}
	}
	return st, nil
}

func keyName(shelf string, number int64) string { return shelf + "/" + strconv.FormatInt(number, 10) }

const statusColumns = "SELECT number, state, tabled, lost, inserted, key, sum = " + digest + " FROM confetti_shelves WHERE shelf = $1"

// status reads the row of a shelf: keep.ErrMissing where there is none.
func (s *store) status(ctx context.Context, q querier, name string) (status, error) {
	return scanStatus(name, q.QueryRow(ctx, statusColumns, name))
}

func scanStatus(name string, row pgx.Row) (st status, err error) {
	var whole bool
	err = row.Scan(&st.number, &st.state, &st.tabled, &st.lost, &st.due, &st.key, &whole)
	if errors.Is(err, pgx.ErrNoRows) {
		return st, fmt.Errorf("%w: %s", keep.ErrMissing, name)
	}
	if err == nil && !whole {
		err = rotten(name)
	}
	return st, err
}

func rotten(name string) error {
	return fmt.Errorf("%w: the row of shelf %s is not what was written", keep.ErrDamaged, name)
}

func (s *store) Open(ctx context.Context, name string) (keep.Shelf, error) {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	sh, err := s.opened(ctx, name, true)
	if err != nil { // and no shelf that is nil
		return nil, err
	}
	return sh, nil
}

// opened returns a shelf that is there, with its table if that is asked for.
func (s *store) opened(ctx context.Context, name string, whole bool) (*shelf, error) {
	var st status
	err := s.read(ctx, func() (err error) {
		st, err = s.status(ctx, s.pool, name)
		return err
	})
	if err == nil && st.state >= isDropping {
		err = fmt.Errorf("%w: %s", keep.ErrDropped, name)
	}
	if err == nil {
		st.key, err = s.key(ctx, name, st)
	}
	var there bool
	if err == nil && st.tabled && whole {
		err = s.read(ctx, func() error {
			return s.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table(st.number)).Scan(&there)
		})
		if err == nil && !there {
			err = fmt.Errorf("%w: the table of shelf %s is gone", keep.ErrDamaged, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.shelf(name, st), nil
}

// key returns a shelf's key from where it lies.
func (s *store) key(ctx context.Context, name string, st status) ([]byte, error) {
	key := st.key
	if s.config.Keys != nil {
		form, err := s.config.Keys.Get(ctx, keyName(name, st.number))
		if err != nil && ctx.Err() != nil {
			return nil, explain(ctx, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the key of shelf %s is not where keys lie: %w", keep.ErrDamaged, name, err)
		}
		if len(form) < keySize || !bytes.Equal(form, keyForm(form[:keySize])) {
			return nil, fmt.Errorf("%w: the key of shelf %s", keep.ErrDamaged, name)
		}
		return form[:keySize], nil
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%w: the key of shelf %s lies outside of the database, and nobody said where", keep.ErrDamaged, name)
	}
	return key, nil
}

// shelf returns the one shelf of a number.
func (s *store) shelf(name string, st status) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.shelves[name]; was != nil {
		return was
	}
	sh := &shelf{s: s, name: name, table: table(st.number), secret: newSecret(name, st.key, s.config.Plain), inserting: s.lock("insert/" + name), updating: s.lock("update/" + name)}
	sh.tabled.Store(st.tabled)
	s.shelves[name] = sh
	return sh
}

func (s *store) List(ctx context.Context) (names []string, err error) {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	err = s.read(ctx, func() error {
		rows, err := s.pool.Query(ctx, "SELECT shelf, sum = "+digest+" FROM confetti_shelves WHERE (state < $1 OR sum <> "+digest+") AND shelf <> $2 ORDER BY shelf", isDropping, keep.Main)
		if err != nil {
			return err
		}
		names = nil
		var name string
		var whole bool
		_, err = pgx.ForEachRow(rows, []any{&name, &whole}, func() error {
			if !whole {
				return rotten(name)
			}
			names = append(names, name)
			return nil
		})
		return err
	})
	return names, err
}

// Drop says that the shelf is dropped, behind all who write, destroys its key, and takes its
// table away. Its row stays.
func (s *store) Drop(ctx context.Context, name string) error {
	if name == keep.Main {
		return fmt.Errorf("keep: %s is never dropped", name)
	}
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	var st status
	tx, err := s.begin(ctx, []lock{{s.lock("update/" + name), false}, {s.lock("insert/" + name), false}},
		func(b *pgx.Batch) { b.Queue(statusColumns, name) },
		func(r pgx.BatchResults) (err error) {
			st, err = scanStatus(name, r.QueryRow())
			return err
		})
	if err != nil {
		return explain(ctx, err)
	}
	defer tx.rollback()
	// Written again where it is there: only what is committed now is on a standby too.
	if _, err := tx.conn.Exec(ctx, "UPDATE confetti_shelves SET state = greatest(state, $2::smallint), key = NULL WHERE shelf = $1", name, isDropping); err != nil {
		return explain(ctx, err)
	}
	if err := tx.commit(ctx); err != nil || st.state == isDropped {
		return err
	}
	return s.finishDrop(ctx, name, st.number)
}

// finishDrop does what is left behind the row of a dropped shelf.
func (s *store) finishDrop(ctx context.Context, name string, number int64) error {
	if s.config.Keys != nil {
		if err := s.config.Keys.Delete(ctx, name); err != nil {
			return fmt.Errorf("%w: the key of shelf %s cannot be deleted: %w", keep.ErrUnavailable, name, err)
		}
	}
	tx, err := s.begin(ctx, []lock{{s.lock("update/" + name), false}}, nil, nil)
	if err != nil {
		return explain(ctx, err)
	}
	defer tx.rollback()
	// Whoever waits for a lock of a table keeps all behind him waiting: not for long.
	_, err = tx.conn.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = '1s'; DROP TABLE IF EXISTS %s, %[1]s%s", table(number), aside))
	if is(err, "55P03") { // lock_not_available
		return fmt.Errorf("%w: shelf %s is dropped, and somebody still reads its table: drop it again later", keep.ErrUnavailable, name)
	}
	if err == nil {
		_, err = tx.conn.Exec(ctx, "UPDATE confetti_shelves SET state = $2 WHERE shelf = $1", name, isDropped)
	}
	if err != nil {
		return explain(ctx, err)
	}
	return tx.commit(ctx)
}

// finishDrops finishes what was begun, but for tables that are read: the next start does.
func (s *store) finishDrops(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, "SELECT shelf, number, sum = "+digest+" FROM confetti_shelves WHERE state = $1", isDropping)
	if err != nil {
		return explain(ctx, err)
	}
	type left struct {
		Shelf  string
		Number int64
		Whole  bool
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[left])
	if err != nil {
		return explain(ctx, err)
	}
	for _, l := range all {
		if !l.Whole {
			return rotten(l.Shelf)
		}
		if err := s.finishDrop(ctx, l.Shelf, l.Number); err != nil && !errors.Is(err, keep.ErrUnavailable) {
			return err
		}
	}
	return nil
}

func table(number int64) string { return "confetti_s" + strconv.FormatInt(number, 10) }
