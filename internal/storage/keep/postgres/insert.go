package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// insertion is an Insert that waits for its group.
type insertion struct {
	rows  []row
	size  int
	done  chan struct{} // closed when it is answered
	again bool
	err   error
}

type row struct {
	t              keep.Table
	k, tag, v, sum []byte
	i              int32
}

func name(t keep.Table, k []byte) string { return string([]byte{byte(t)}) + string(k) }

func (r row) name() string { return name(r.t, r.k) }

// A group has at most so many bytes, or one call, and as many rows. It ends within groupTime but
// for its commit.
const (
	groupBytes = 1 << 20
	groupRows  = 4096
	groupTime  = time.Minute
)

// Insert waits for a group. A context that ends ends the waiting alone.
func (s *shelf) Insert(ctx context.Context, rows ...keep.Row) (again bool, err error) {
	if err := keep.CheckRows(rows); err != nil {
		return false, err
	}
	ctx, end, err := s.s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	w := &insertion{done: make(chan struct{})}
	for _, r := range rows {
		row := row{t: r.Table, k: []byte(r.Key), tag: s.secret.tag(r.Tag)}
		row.v, row.sum = s.secret.close(r.Table, row.k, row.tag, r.Value)
		w.rows, w.size = append(w.rows, row), w.size+len(row.k)+len(row.v)
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	if !s.busy {
		s.busy = true
		go s.write()
	}
	s.mu.Unlock()
	select {
	case <-w.done:
		return w.again, w.err
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
}

// write writes groups until nobody waits. Those who come while one is written are the next.
func (s *shelf) write() {
	for {
		group := s.take()
		if group == nil {
			return
		}
		err := s.insert(group)
		for _, w := range group {
			if err != nil {
				w.again, w.err = false, err
			}
			close(w.done)
		}
	}
}

// take returns the next group, in the order in which they came. A call that has a key of
// another in the group waits: what becomes of it follows from what becomes of the other.
func (s *shelf) take() (group []*insertion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	var later []*insertion
	size, rows := 0, 0
	for _, w := range s.waiting {
		fits := len(group) == 0 || size+w.size <= groupBytes && rows+len(w.rows) <= groupRows
		for _, r := range w.rows {
			fits = fits && !names[r.name()]
		}
		for _, r := range w.rows { // also of one that waits: the next of its key comes behind it
			names[r.name()] = true
		}
		if !fits {
			later = append(later, w)
			continue
		}
		group, size, rows = append(group, w), size+w.size, rows+len(w.rows)
	}
	s.waiting = later
	s.busy = group != nil
	return group
}

var errMoved = errors.New("keep: a row is gone that was in the way")

// insert writes a group by one statement, and answers each call of it.
func (s *shelf) insert(group []*insertion) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupTime)
	defer cancel()
	for {
		err := s.insertOnce(ctx, group)
		if errors.Is(err, errMoved) && ctx.Err() == nil { // by an Update, between two statements
			continue
		}
		return explain(ctx, err)
	}
}

func (s *shelf) insertOnce(ctx context.Context, group []*insertion) error {
	if !s.tabled.Load() {
		if err := s.makeTable(ctx); err != nil {
			return err
		}
	}
	var rows columns
	for _, w := range group {
		for _, r := range w.rows {
			rows.add(r)
		}
	}
	rows.sort()
	fresh := map[string]bool{}
	tx, err := s.s.begin(ctx, []lock{{s.inserting, true}}, func(b *pgx.Batch) {
		b.Queue(statusColumns, s.name)
		b.Queue("INSERT INTO "+s.table+` (t, k, tag, v, sum, n, i)
			SELECT t, k, tag, v, sum, (SELECT nextval('confetti_groups')), i
			FROM unnest($1::smallint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::int[]) AS r (t, k, tag, v, sum, i)
			ON CONFLICT DO NOTHING RETURNING t, k`, rows.t(), rows.k(), rows.tag(), rows.v(), rows.sum(), rows.i())
	}, func(r pgx.BatchResults) error {
		st, err := s.current(r.QueryRow())
		if err == nil && st.state != isOpen {
			err = keep.ErrSealed
		}
		if err != nil {
			return err
		}
		got, err := r.Query()
		if err != nil {
			return err
		}
		var t int16
		var k []byte
		_, err = pgx.ForEachRow(got, []any{&t, &k}, func() error {
			fresh[name(keep.Table(t), k)] = true
			return nil
		})
		return err
	})
	if err != nil {
		return s.gone(ctx, err)
	}
	defer tx.rollback()
	wrote, again, err := s.answer(ctx, tx, group, rows, fresh)
	if err == nil && !wrote && again {
		err = s.touch(ctx, tx)
	}
	if err != nil || !wrote && !again { // nothing to acknowledge
		return err
	}
	return tx.commit(ctx)
}

// answer says to each call what became of it, and takes away the rows of one that met another's.
func (s *shelf) answer(ctx context.Context, tx *transaction, group []*insertion, rows columns, fresh map[string]bool) (wrote, again bool, err error) {
	var old columns
	for _, r := range rows {
		if !fresh[r.name()] {
			old = append(old, r)
		}
	}
	met := map[string]row{}
	if len(old) > 0 {
		got, err := tx.conn.Query(ctx, "SELECT t, k, tag, sum FROM "+s.table+" JOIN unnest($1::smallint[], $2::bytea[]) AS r (t, k) USING (t, k)", old.t(), old.k())
		if err != nil {
			return false, false, err
		}
		var t int16
		var k, tag, sum []byte
		_, err = pgx.ForEachRow(got, []any{&t, &k, &tag, &sum}, func() error {
			met[name(keep.Table(t), k)] = row{tag: bytes.Clone(tag), sum: bytes.Clone(sum)}
			return nil
		})
		if err == nil && len(met) != len(old) {
			err = errMoved
		}
		if err != nil {
			return false, false, err
		}
	}
	var undone columns
	for _, w := range group {
		news, same := 0, 0
		for _, r := range w.rows {
			was, there := met[r.name()]
			if !there {
				news++
			} else if bytes.Equal(was.tag, r.tag) && bytes.Equal(was.sum, r.sum) {
				same++
			}
		}
		w.again, w.err = same == len(w.rows), nil
		wrote, again = wrote || news == len(w.rows), again || w.again
		if w.again || news == len(w.rows) {
			continue
		}
		w.err = keep.ErrTaken
		for _, r := range w.rows {
			if fresh[r.name()] {
				undone.add(r)
			}
		}
	}
	if len(undone) > 0 {
		_, err = tx.conn.Exec(ctx, "DELETE FROM "+s.table+" AS s USING unnest($1::smallint[], $2::bytea[]) AS r (t, k) WHERE s.t = r.t AND s.k = r.k", undone.t(), undone.k())
	}
	return wrote, again, err
}

// touch writes this process's row, which nobody reads: the commit then waits for the disk and the
// standbys, and what stands before it is there too. A transaction that writes nothing waits for
// nobody, and what it says again of may be lost with this server.
func (s *shelf) touch(ctx context.Context, tx *transaction) error {
	_, err := tx.conn.Exec(ctx, "INSERT INTO "+s.table+" (t, k, v, sum, n) VALUES (0, $1, '', '', 0) ON CONFLICT (t, k) DO UPDATE SET n = excluded.n", s.s.process)
	return err
}

// makeTable makes the shelf's table, once, whoever asks.
func (s *shelf) makeTable(ctx context.Context) error {
	tx, err := s.s.begin(ctx, []lock{{s.inserting, true}}, nil, nil)
	if err != nil {
		return err
	}
	defer tx.rollback()
	if err := s.makeTableIn(ctx, tx); err != nil {
		return err
	}
	if err := tx.commit(ctx); err != nil {
		return err
	}
	s.tabled.Store(true)
	return nil
}

func (s *shelf) makeTableIn(ctx context.Context, tx *transaction) error {
	st, err := s.current(tx.conn.QueryRow(ctx, statusColumns+" FOR UPDATE", s.name))
	if err != nil || st.tabled {
		return err
	}
	_, err = tx.conn.Exec(ctx, fmt.Sprintf(tableForm, s.table))
	if err == nil {
		_, err = tx.conn.Exec(ctx, "UPDATE confetti_shelves SET tabled = true WHERE shelf = $1", s.name)
	}
	return err
}

const tableForm = `CREATE TABLE %s (t smallint NOT NULL, k bytea NOT NULL, tag bytea, v bytea NOT NULL, sum bytea NOT NULL, n bigint, i int, PRIMARY KEY (t, k));
	ALTER TABLE %[1]s ALTER v SET STORAGE EXTERNAL`

// columns are rows as a statement takes them, each with its place among those that were added.
type columns []row

func (c *columns) add(r row) {
	r.i = int32(len(*c))
	*c = append(*c, r)
}

// sort sorts by table and key: transactions that lock rows in one order do not wait in a circle.
func (c columns) sort() {
	slices.SortFunc(c, func(a, b row) int { return cmp.Or(cmp.Compare(a.t, b.t), bytes.Compare(a.k, b.k)) })
}

func column[T any](c columns, of func(row) T) []T {
	all := make([]T, len(c))
	for i, r := range c {
		all[i] = of(r)
	}
	return all
}

func (c columns) t() []int16    { return column(c, func(r row) int16 { return int16(r.t) }) }
func (c columns) k() [][]byte   { return column(c, func(r row) []byte { return r.k }) }
func (c columns) tag() [][]byte { return column(c, func(r row) []byte { return r.tag }) }
func (c columns) v() [][]byte   { return column(c, func(r row) []byte { return r.v }) }
func (c columns) sum() [][]byte { return column(c, func(r row) []byte { return r.sum }) }
func (c columns) i() []int32    { return column(c, func(r row) int32 { return r.i }) }
