package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// update is the Tx of an Update. What it writes stays here until fn has returned.
type update struct {
	s       *shelf
	tx      *transaction
	ctx     context.Context
	sealed  bool
	changes map[string]change
	size    int
	err     error // of a read, or of what cannot be written
}

type change struct {
	t       keep.Table
	key     string
	value   []byte
	deleted bool
}

// beginUpdate begins a transaction that no other Update of the shelf runs beside.
func (s *shelf) beginUpdate(ctx context.Context, also ...lock) (tx *transaction, st status, err error) {
	tx, err = s.s.begin(ctx, append([]lock{{s.updating, false}}, also...),
		func(b *pgx.Batch) { b.Queue(statusColumns, s.name) },
		func(r pgx.BatchResults) (err error) {
			st, err = s.current(r.QueryRow())
			return err
		})
	return tx, st, explain(ctx, err)
}

func (s *shelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	tx, st, err := s.beginUpdate(ctx)
	if err != nil {
		return err
	}
	defer tx.rollback()
	u := &update{s: s, tx: tx, ctx: ctx, sealed: st.state == isSealed, changes: map[string]change{}}
	if err := fn(u); err != nil {
		return err
	}
	if u.err == nil {
		u.err = keep.CheckSize(u.size)
	}
	if u.err != nil {
		return u.err
	}
	if err := u.write(); err != nil {
		return explain(ctx, err)
	}
	if err := tx.commit(ctx); err != nil {
		return err
	}
	if len(u.changes) > 0 {
		s.tabled.Store(true)
	}
	return nil
}

// fail lets the Update write nothing, where there is an error.
func (u *update) fail(err error) error {
	if u.err == nil {
		u.err = err
	}
	return err
}

func (u *update) Get(t keep.Table, key string) (value []byte, there bool, err error) {
	if err := keep.CheckKey(t, key); err != nil {
		return nil, false, u.fail(err)
	}
	if c, ok := u.changes[name(t, []byte(key))]; ok {
		if c.deleted {
			return nil, false, nil
		}
		return append([]byte{}, c.value...), true, nil
	}
	sql, args, more := u.s.get(t, key, &value, &there)
	err = u.s.ask(u.ctx, u.tx.conn, sql, args, more)
	return value, there, u.fail(explain(u.ctx, err))
}

func (u *update) Each(t keep.Table, prefix string, fn func(string, []byte) error) error {
	var own []string // keys that were put, until now
	for _, c := range u.changes {
		if c.t == t && !c.deleted && strings.HasPrefix(c.key, prefix) {
			own = append(own, c.key)
		}
	}
	slices.Sort(own)
	// tell calls fn with what a row is now, if it is there.
	tell := func(key string, value []byte) error {
		if c, ok := u.changes[name(t, []byte(key))]; ok {
			if c.deleted {
				return nil
			}
			value = append([]byte{}, c.value...)
		}
		return fn(key, value)
	}
	err := u.s.pages(t, prefix, func(sql string, args []any, more func(pgx.BatchResults) error) error {
		return u.fail(explain(u.ctx, u.s.ask(u.ctx, u.tx.conn, sql, args, more)))
	}, func(key string, value []byte) error {
		for len(own) > 0 && own[0] < key {
			if err := tell(own[0], nil); err != nil {
				return err
			}
			own = own[1:]
		}
		if len(own) > 0 && own[0] == key {
			own = own[1:]
		}
		return tell(key, value)
	})
	if err != nil {
		return err
	}
	for _, key := range own {
		if err := tell(key, nil); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) Put(t keep.Table, key string, value []byte) {
	if err := keep.CheckRow(t, key, value); err != nil {
		u.fail(err)
		return
	}
	u.change(change{t: t, key: key, value: value})
}

func (u *update) Delete(t keep.Table, key string) {
	if err := keep.CheckKey(t, key); err != nil {
		u.fail(err)
		return
	}
	u.change(change{t: t, key: key, deleted: true})
}

func (u *update) change(c change) {
	at := name(c.t, []byte(c.key))
	if was, ok := u.changes[at]; ok {
		u.size -= len(was.key) + len(was.value) + keep.RowMore
	}
	u.changes[at] = c
	u.size += len(c.key) + len(c.value) + keep.RowMore
}

func (u *update) Sealed() bool { return u.sealed }

// write sends the changes in the order of their keys, as Insert does, so that nobody waits in a
// circle: those that follow one another and are of one kind by one statement.
func (u *update) write() error {
	s := u.s
	if !s.tabled.Load() && len(u.changes) == 0 {
		// What fn saw is in the shelf's row alone.
		_, err := u.tx.conn.Exec(u.ctx, "UPDATE confetti_shelves SET state = state WHERE shelf = $1", s.name)
		return err
	}
	if !s.tabled.Load() {
		if err := s.makeTableIn(u.ctx, u.tx); err != nil {
			return err
		}
	}
	if len(u.changes) == 0 {
		return s.touch(u.ctx, u.tx)
	}
	lost := int64(0) // of Insert's rows
	b := &pgx.Batch{}
	all := slices.Sorted(maps.Keys(u.changes))
	for len(all) > 0 {
		n := 1
		for n < len(all) && u.changes[all[n]].deleted == u.changes[all[0]].deleted {
			n++
		}
		var rows columns
		for _, at := range all[:n] {
			c := u.changes[at]
			r := row{t: c.t, k: []byte(c.key)}
			if !c.deleted {
				r.v, r.sum = s.secret.close(c.t, r.k, nil, c.value)
			}
			rows.add(r)
		}
		if u.sealed {
			b.Queue("SELECT count(*) FROM "+s.table+" JOIN unnest($1::smallint[], $2::bytea[]) AS r (t, k) USING (t, k) WHERE tag IS NOT NULL", rows.t(), rows.k()).QueryRow(func(r pgx.Row) error {
				var n int64
				err := r.Scan(&n)
				lost += n
				return err
			})
		}
		if u.changes[all[0]].deleted {
			b.Queue("DELETE FROM "+s.table+" AS s USING unnest($1::smallint[], $2::bytea[]) AS r (t, k) WHERE s.t = r.t AND s.k = r.k", rows.t(), rows.k())
		} else {
			b.Queue("INSERT INTO "+s.table+` (t, k, v, sum) SELECT * FROM unnest($1::smallint[], $2::bytea[], $3::bytea[], $4::bytea[])
				ON CONFLICT (t, k) DO UPDATE SET tag = NULL, v = excluded.v, sum = excluded.sum, n = NULL, i = NULL`, rows.t(), rows.k(), rows.v(), rows.sum())
		}
		all = all[n:]
	}
	if err := u.tx.conn.SendBatch(u.ctx, b).Close(); err != nil {
		return s.gone(u.ctx, err)
	}
	if lost > 0 {
		_, err := u.tx.conn.Exec(u.ctx, "UPDATE confetti_shelves SET inserted = inserted - $2 WHERE shelf = $1", s.name, lost)
		return err
	}
	return nil
}

// Seal takes both locks. It stops Insert first, and counts Insert's rows then, while no Update
// runs: nobody waits for the counting who is to be refused.
func (s *shelf) Seal(ctx context.Context) error {
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return err
	}
	defer end()
	tx, _, err := s.beginUpdate(ctx, lock{s.inserting, false})
	if err != nil {
		return err
	}
	defer tx.rollback()
	// Written again where it is there: only what is committed now is on a standby too.
	if _, err := tx.conn.Exec(ctx, "UPDATE confetti_shelves SET state = $2 WHERE shelf = $1", s.name, isSealed); err != nil {
		return explain(ctx, err)
	}
	if err := tx.commit(ctx); err != nil {
		return err
	}
	count, st, err := s.beginUpdate(ctx)
	if err != nil {
		return err
	}
	defer count.rollback()
	rows := "0"
	if st.tabled {
		rows = "(SELECT count(*) FROM " + s.table + " WHERE tag IS NOT NULL)"
	}
	if _, err := count.conn.Exec(ctx, "UPDATE confetti_shelves SET inserted = "+rows+" WHERE shelf = $1 AND inserted IS NULL", s.name); err != nil {
		return explain(ctx, err)
	}
	return count.commit(ctx)
}
