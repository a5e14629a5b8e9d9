package aggregated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Tables of a plan's shelves, as package rows has them, and the key of the first crowd.
const (
	bodies keep.Table = 3
	sums   keep.Table = 7
	shares keep.Table = 8
	told   keep.Table = 9

	first = "\x00\x00\x00\x00"
)

// kept is what an aggregator keeps of the plan.
func (w *world) kept(role dap.Role) *rows.Plan {
	return found(w.nodes[role].service, w.plan.Hash()).kept
}

// shelf is one of an aggregator, of the plan.
func (w *world) shelf(role dap.Role, prefix string) keep.Shelf {
	w.t.Helper()
	shelf, err := w.nodes[role].store.Open(context.Background(), prefix+w.plan.Name())
	if err != nil {
		w.t.Fatal(err)
	}
	return shelf
}

// file is one of such a shelf.
func (w *world) file(role dap.Role, prefix, ending string) string {
	return filepath.Join(w.databases[role], prefix+w.plan.Name()+ending)
}

// spoil flips a bit of a row of a table where an open aggregator has it, as no code of ours does,
// and returns what flips it back.
func (w *world) spoil(role dap.Role, prefix string, table keep.Table) (mend func()) {
	w.t.Helper()
	shelf := w.shelf(role, prefix)
	bad := func() bool {
		err := shelf.Each(context.Background(), table, "", func(string, []byte) error { return nil })
		return errors.Is(err, keep.ErrDamaged)
	}
	if dsn := w.databases[role]; strings.ContainsAny(dsn, "=:") {
		db, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { db.Close(context.Background()) })
		flip := func() {
			if err := flipRow(context.Background(), db, prefix+w.plan.Name(), table, 2); err != nil {
				w.t.Fatal(err)
			}
		}
		if flip(); !bad() {
			w.t.Fatalf("a bit of table %d flips, and nobody sees it", table)
		}
		return flip
	}
	path := w.file(role, prefix, ".rows")
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := len(text) - 1; i >= 0; i -= 8 { // a row is longer
		flipBit(w.t, path, int64(i), 2)
		if bad() {
			return func() { flipBit(w.t, path, int64(i), 2) }
		}
		flipBit(w.t, path, int64(i), 2)
	}
	w.t.Fatalf("no bit of %s is of table %d", path, table)
	return nil
}

// flipRow flips a bit of a row of a table in a database: of all its rows and bits the nth.
func flipRow(ctx context.Context, db *pgx.Conn, shelf string, table keep.Table, nth uint32) error {
	var name string
	if err := db.QueryRow(ctx, "SELECT 'confetti_s' || number FROM confetti_shelves WHERE shelf = $1", shelf).Scan(&name); err != nil {
		return err
	}
	_, err := db.Exec(ctx, "UPDATE "+name+" SET v = set_bit(v, bit, 1 - get_bit(v, bit)) FROM (SELECT t AS of, k AS key, (($2::bigint / 64) % (8 * length(v)))::int AS bit FROM "+
		name+" WHERE t = $1 ORDER BY k OFFSET $2::bigint % (SELECT count(*) FROM "+name+" WHERE t = $1) LIMIT 1) one WHERE t = of AND k = key", int16(table), int64(nth))
	return err
}

func flipBit(t testing.TB, path string, at int64, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	b[0] ^= 1 << bit
	if err == nil {
		_, err = f.WriteAt(b, at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// lasting are the tables of all shelves.
var lasting = []keep.Table{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15}

// content is what stands on the shelves of a store, by shelf, table and key.
type content map[string]map[keep.Table]map[string]string

// read reads all that stands on shelves, and says of which tables it cannot be read: "main/1", or
// "reports/3" of a plan's.
func read(store keep.Store) (all content, faults map[string]error) {
	ctx := context.Background()
	all, faults = content{}, map[string]error{}
	names, err := store.List(ctx)
	if err != nil {
		faults["list"] = err
	}
	for _, name := range append(names, keep.Main) {
		shelf, err := store.Open(ctx, name)
		if err != nil {
			faults[name] = err
			continue
		}
		all[name] = map[keep.Table]map[string]string{}
		for _, table := range lasting {
			rows := map[string]string{}
			if err := shelf.Each(ctx, table, "", func(key string, value []byte) error { rows[key] = string(value); return nil }); err != nil {
				faults[kind(name, table)] = err
			}
			if len(rows) > 0 {
				all[name][table] = rows
			}
		}
	}
	return all, faults
}

// kind names a table of a kind of shelves.
func kind(shelf string, table keep.Table) string {
	of, _, _ := strings.Cut(shelf, "-")
	return fmt.Sprintf("%s/%d", of, table)
}

// older keeps in mind what an aggregator has on disk now, and returns what has it begin again on
// that.
func (w *world) older(role dap.Role) (again func()) {
	w.t.Helper()
	all, faults := read(w.nodes[role].store)
	if len(faults) > 0 {
		w.t.Fatal(faults)
	}
	return func() {
		w.t.Helper()
		w.kill(role)
		ctx := context.Background()
		w.databases[role] = database(w.t)
		store, err := open(w.databases[role])
		if err != nil {
			w.t.Fatal(err)
		}
		for name, tables := range all {
			shelf, err := store.Open(ctx, name)
			if name != keep.Main {
				shelf, err = store.Create(ctx, name)
			}
			var came []keep.Row
			put := func(tx keep.Tx) error {
				for table, rows := range tables {
					for key, value := range rows {
						if strings.HasPrefix(name, "reports-") && table <= bodies {
							came = append(came, keep.Row{Table: table, Key: key, Value: []byte(value)})
						} else {
							tx.Put(table, key, []byte(value))
						}
					}
				}
				return nil
			}
			if err == nil {
				err = shelf.Update(ctx, put)
			}
			if err == nil && len(came) > 0 {
				_, err = shelf.Insert(ctx, came...)
			}
			if err != nil {
				w.t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			w.t.Fatal(err)
		}
		w.start(role)
	}
}
