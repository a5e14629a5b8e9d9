package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// shelf is a shelf of a store. Its table is made with its first row: a shelf of which only the
// secret is asked has none.
type shelf struct {
	s                   *store
	name, table         string
	secret              *secret
	inserting, updating int64 // advisory locks
	tabled              atomic.Bool

	mu      sync.Mutex
	waiting []*insertion
	busy    bool // somebody writes, and takes who waits
}

// undefined is the SQLSTATE of a table that is not there.
const undefined = "42P01"

// gone says what it means that the table is not there.
func (s *shelf) gone(ctx context.Context, err error) error {
	if !is(err, undefined) {
		return err
	}
	st, failed := s.s.status(ctx, s.s.pool, s.name)
	switch {
	case failed != nil:
		return failed
	case st.state >= isDropping:
		return fmt.Errorf("%w: %s", keep.ErrDropped, s.name)
	}
	return fmt.Errorf("%w: the table of shelf %s is gone", keep.ErrDamaged, s.name)
}

// current returns the shelf's row as it is now, and keep.ErrDropped of a dropped one.
func (s *shelf) current(row pgx.Row) (status, error) {
	st, err := scanStatus(s.name, row)
	if err == nil && st.state >= isDropping {
		err = fmt.Errorf("%w: %s", keep.ErrDropped, s.name)
	}
	if err == nil && st.tabled {
		s.tabled.Store(true)
	}
	return st, err
}

// ask reads the shelf's row, and then more from its table, if it has one: all in one message.
func (s *shelf) ask(ctx context.Context, q querier, sql string, args []any, more func(pgx.BatchResults) error) error {
	with := func(tabled bool) (status, error) {
		b := &pgx.Batch{}
		b.Queue(statusColumns, s.name)
		if tabled {
			b.Queue(sql, args...)
		}
		r := q.SendBatch(ctx, b)
		defer r.Close()
		st, err := s.current(r.QueryRow())
		if err == nil && tabled {
			err = more(r)
		}
		if err == nil {
			err = r.Close()
		}
		return st, err
	}
	had := s.tabled.Load()
	st, err := with(had)
	if err == nil && !had && st.tabled { // made meanwhile, by another process
		_, err = with(true)
	}
	return s.gone(ctx, err)
}

// asked asks on any connection, for what writes nothing.
func (s *shelf) asked(ctx context.Context, sql string, args []any, more func(pgx.BatchResults) error) error {
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.s.read(ctx, func() error { return s.ask(ctx, s.s.pool, sql, args, more) })
}

func (s *shelf) Get(ctx context.Context, t keep.Table, key string) (value []byte, there bool, err error) {
	if err := keep.CheckKey(t, key); err != nil {
		return nil, false, err
	}
	sql, args, more := s.get(t, key, &value, &there)
	err = s.asked(ctx, sql, args, more)
	return value, there, err
}

// get returns the statement of a Get, and what reads its result.
func (s *shelf) get(t keep.Table, key string, value *[]byte, there *bool) (string, []any, func(pgx.BatchResults) error) {
	return "SELECT tag, v, sum FROM " + s.table + " WHERE t = $1 AND k = $2", []any{int16(t), []byte(key)}, func(r pgx.BatchResults) error {
		*value, *there = nil, false
		var tag, v, sum []byte
		err := r.QueryRow().Scan(&tag, &v, &sum)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			*value, err = s.secret.open(int16(t), []byte(key), tag, v, sum)
			*there = err == nil
		}
		return err
	}
}

// A page of Each is read whole before fn sees it: fn may ask for more, and no connection waits.
const (
	pageRows  = 1000
	pageBytes = 1 << 20
)

type pair struct {
	key   string
	value []byte
}

// page reads the rows of a prefix behind a key, as many as fit. last reports that none follows.
func (s *shelf) page(t keep.Table, prefix, behind string, rows *[]pair, last *bool) (string, []any, func(pgx.BatchResults) error) {
	from, than := prefix, ">="
	if behind != "" {
		from, than = behind, ">"
	}
	args, until := []any{int16(t), []byte(from)}, ""
	if next := after(prefix); next != "" {
		args, until = append(args, []byte(next)), "AND k < $3"
	}
	// The length of a value is known without reading it.
	sql := fmt.Sprintf(`SELECT k, tag, v, sum FROM (SELECT k, tag, v, sum, sum(octet_length(v)) OVER (ORDER BY k) - octet_length(v) AS before
		FROM %s WHERE t = $1 AND k %s $2 %s ORDER BY k LIMIT %d) AS page WHERE before < %d ORDER BY k`, s.table, than, until, pageRows, pageBytes)
	return sql, args, func(r pgx.BatchResults) error {
		*rows = nil
		size := 0
		got, err := r.Query()
		if err != nil {
			return err
		}
		var k, tag, v, sum []byte
		_, err = pgx.ForEachRow(got, []any{&k, &tag, &v, &sum}, func() error {
			size += len(v)
			value, err := s.secret.open(int16(t), k, tag, v, sum)
			*rows = append(*rows, pair{string(k), value})
			return err
		})
		*last = len(*rows) < pageRows && size < pageBytes
		return err
	}
}

// after returns the first key behind all of a prefix; "" where there is none.
func after(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) > 0 {
		b[len(b)-1]++
	}
	return string(b)
}

func (s *shelf) Each(ctx context.Context, t keep.Table, prefix string, fn func(string, []byte) error) error {
	return s.pages(t, prefix, func(sql string, args []any, more func(pgx.BatchResults) error) error {
		return s.asked(ctx, sql, args, more)
	}, fn)
}

// pages asks for the rows of a prefix, page after page.
func (s *shelf) pages(t keep.Table, prefix string, ask func(sql string, args []any, more func(pgx.BatchResults) error) error, fn func(string, []byte) error) error {
	behind := ""
	for {
		var rows []pair
		last := true // where there is no table
		if err := ask(s.page(t, prefix, behind, &rows, &last)); err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(r.key, r.value); err != nil {
				return err
			}
			behind = r.key
		}
		if last {
			return nil
		}
	}
}

func (s *shelf) Count(ctx context.Context, t keep.Table, tag uint32) (n int, err error) {
	err = s.asked(ctx, "SELECT count(*) FROM "+s.table+" WHERE t = $1 AND tag = $2", []any{int16(t), s.secret.tag(tag)}, func(r pgx.BatchResults) error {
		return r.QueryRow().Scan(&n)
	})
	return n, err
}

func (s *shelf) Secret(ctx context.Context, purpose string) (secret []byte, err error) {
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	err = s.s.read(ctx, func() error {
		_, err := s.current(s.s.pool.QueryRow(ctx, statusColumns, s.name))
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.secret.of("secret/" + purpose), nil
}

// InOrder implements keep.Shelf. It reads all of the shelf, so that a row of which the table has
// changed is found.
func (s *shelf) InOrder(ctx context.Context, t keep.Table, fn func(string, []byte) error) error {
	return s.walk(ctx, " ORDER BY n, i", func(_ context.Context, st status) error {
		if st.state == isOpen {
			return fmt.Errorf("keep: shelf %s is not sealed: it has no order yet", s.name)
		}
		return nil
	}, func(of keep.Table, key string, inserted bool, value []byte) error {
		if of != t || !inserted {
			return nil
		}
		return fn(key, value)
	})
}

// Check implements keep.Shelf.
func (s *shelf) Check(ctx context.Context) error {
	return s.walk(ctx, "", func(ctx context.Context, st status) error {
		_, err := s.s.key(ctx, s.name, st)
		return err
	}, func(keep.Table, string, bool, []byte) error { return nil })
}

// aRow leaves out what touch writes.
const aRow = "(t <> 0 OR n IS DISTINCT FROM 0)"

// walk calls fn for all rows as they are at one moment, by one statement that lies open until the end,
// and compares how many of Insert's there are with what Seal has counted.
func (s *shelf) walk(ctx context.Context, order string, begin func(context.Context, status) error, fn func(t keep.Table, key string, inserted bool, value []byte) error) error {
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := turn(ctx, s.s.reading); err != nil {
		return err
	}
	defer func() { <-s.s.reading }()
	var tx pgx.Tx
	var st status
	err = s.s.read(ctx, func() (err error) {
		if tx, err = s.s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
			return err
		}
		if st, err = s.current(tx.QueryRow(ctx, statusColumns, s.name)); err != nil {
			tx.Rollback(context.WithoutCancel(ctx))
		}
		return err
	})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if err := begin(ctx, st); err != nil || !st.tabled {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := tx.Query(within, "SELECT t, k, tag, v, sum FROM "+s.table+" WHERE "+aRow+order)
	if err != nil {
		return explain(ctx, s.gone(ctx, err))
	}
	defer rows.Close() // reads on to the end, where the context has not ended
	var n int64
	for rows.Next() {
		var t int16
		var k, tag, v, sum []byte
		if err = rows.Scan(&t, &k, &tag, &v, &sum); err != nil {
			break
		}
		if tag != nil {
			n++
		}
		value, err := s.secret.open(t, k, tag, v, sum)
		if err == nil {
			err = fn(keep.Table(t), string(k), tag != nil, value)
		}
		if err != nil {
			cancel()
			return err
		}
	}
	if err == nil {
		err = rows.Err()
	}
	if err == nil && st.due != nil && *st.due != n {
		err = fmt.Errorf("%w: shelf %s has %d of the %d rows that it was sealed with", keep.ErrDamaged, s.name, n, *st.due)
	}
	return explain(ctx, s.gone(ctx, err))
}
