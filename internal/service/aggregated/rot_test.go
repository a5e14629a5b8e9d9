package aggregated

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

// flips are how many bits flip in each file, and of each table.
const flips = 40

// stands are aggregators in the middle of their work: together they have rows in every table.
var stands = map[string]struct {
	role   dap.Role
	bring  func(w *world)
	tables []string
}{
	"a leader that adds": {dap.Leader, func(w *world) {
		w.close()
		jobs := 0
		w.meddle = func(_ *http.Request, send func() *http.Response) (*http.Response, error) {
			if jobs++; jobs > 1 {
				return nil, errors.New("no route to host")
			}
			return send(), nil
		}
		w.step()
		w.meddle = nil
	}, []string{"main/1", "main/15", "reports/1", "reports/2", "reports/3", "reports/4", "reports/7"}},
	"a leader that has handed on": {dap.Leader, func(w *world) { w.close(); w.finish() }, []string{"main/1", "main/15", "plan/8", "plan/9"}},
	"a helper that has":           {dap.Helper, func(w *world) { w.close(); w.finish() }, []string{"main/1", "main/15", "plan/5", "plan/6", "plan/7", "plan/8", "plan/9"}},
}

// forgetful is a store that passes over rot: a row that cannot be read is not there.
type forgetful struct{ keep.Store }

func (f forgetful) Open(ctx context.Context, name string) (keep.Shelf, error) {
	shelf, err := f.Store.Open(ctx, name)
	return forgetfulShelf{shelf}, err
}

type forgetfulShelf struct{ keep.Shelf }

func (f forgetfulShelf) Each(ctx context.Context, t keep.Table, prefix string, fn func(string, []byte) error) error {
	if err := f.Shelf.Each(ctx, t, prefix, fn); !errors.Is(err, keep.ErrDamaged) {
		return err
	}
	return nil
}

// Whatever bit of whatever file of an aggregator flips while it runs: what it reads is what was
// written, or it is told. Forty bits of each table's rows, and of each file, are flipped: journal flips a bit of each byte.
func TestNoFlipIsSilent(t *testing.T) {
	for name, stand := range stands {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.all(said...)
			stand.bring(w)
			silent, hit := w.flipOpen(stand.role, stand.tables, func(s keep.Store) keep.Store { return s })
			if silent > 0 {
				t.Errorf("%d flips are silent", silent)
			}
			for _, table := range stand.tables {
				if hit[table] < flips {
					t.Errorf("%d flips hit table %s", hit[table], table)
				}
			}
			if silent, _ := w.flipOpen(stand.role, nil, func(s keep.Store) keep.Store { return forgetful{s} }); silent == 0 {
				t.Error("a store that passes over rot is not caught")
			}
			if silent := w.flipClosed(stand.role, flips, func(string) {}); silent > 0 {
				t.Errorf("%d flips in a closed folder are silent", silent)
			}
			anew := func(folder string) { // as a service does that begins anew where it cannot read
				if store, err := open(folder); err != nil || !whole(store) {
					os.RemoveAll(folder)
				}
			}
			if silent := w.flipClosed(stand.role, 3, anew); silent == 0 {
				t.Error("a service that begins anew is not caught")
			}
		})
	}
}

// whole reports whether all shelves can be opened, and closes the store.
func whole(store keep.Store) bool {
	defer store.Close()
	_, faults := read(store)
	return len(faults) == 0
}

// flipOpen flips bits under a store that is open, one after the other, until each file and each of
// the tables has had its share, and counts those that changed what is read without a word.
func (w *world) flipOpen(role dap.Role, tables []string, seen func(keep.Store) keep.Store) (silent int, hit map[string]int) {
	w.t.Helper()
	before, faults := read(w.nodes[role].store)
	if len(faults) > 0 {
		w.t.Fatal(faults)
	}
	hit = map[string]int{}
	r := seeded.New(3)
	for _, file := range w.files(role) {
		of, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".rows"), "-")
		wanting := func(table string) bool {
			return hit[table] < flips && strings.HasPrefix(table, of+"/") && slices.Contains(tables, table)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		n := 0
		for _, at := range r.Perm(len(text)) {
			if n >= flips && !slices.ContainsFunc(tables, wanting) {
				break
			}
			if at > 0 && at < len(text)-1 && text[at] == text[at-1] && text[at] == text[at+1] {
				continue // what fills a block
			}
			for bit, more := 0, true; bit < 8 && more; bit++ {
				n++
				flipBit(w.t, file, int64(at), bit)
				after, faults := read(seen(w.nodes[role].store))
				flipBit(w.t, file, int64(at), bit)
				if len(faults) == 0 && !reflect.DeepEqual(after, before) {
					silent++
				}
				more = false
				for table := range faults {
					more = more || wanting(table)
					hit[table]++
				}
				if _, faults := read(w.nodes[role].store); len(faults) > 0 { // a key that was derived of it is still in memory
					w.kill(role)
					w.start(role)
				}
			}
		}
	}
	return silent, hit
}

// flipClosed flips bits of a copy of each file, and counts the starts after which something else
// stands there than before without an error or an alarm that names the file.
func (w *world) flipClosed(role dap.Role, n int64, meddle func(folder string)) (silent int) {
	w.t.Helper()
	before, faults := read(w.nodes[role].store)
	if len(faults) > 0 {
		w.t.Fatal(faults)
	}
	w.kill(role)
	defer w.start(role)
	r := seeded.New(4)
	for _, file := range w.files(role) {
		status, err := os.Stat(file)
		if err != nil {
			w.t.Fatal(err)
		}
		for range min(n, 8*status.Size()) {
			folder := filepath.Join(w.t.TempDir(), "copy")
			if err := os.CopyFS(folder, os.DirFS(w.databases[role])); err != nil {
				w.t.Fatal(err)
			}
			flipBit(w.t, filepath.Join(folder, filepath.Base(file)), r.Int64N(status.Size()), r.IntN(8))
			meddle(folder)
			after, said := w.found(role, folder)
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			if said == "" && !reflect.DeepEqual(after, before) || said != "" && !strings.Contains(said, name) {
				silent++
				w.t.Logf("a bit of %s: %q", filepath.Base(file), said)
			}
			os.RemoveAll(folder)
		}
	}
	return silent
}

// files are those of an aggregator's folder.
func (w *world) files(role dap.Role) []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.databases[role], "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { s, err := os.Stat(f); return err != nil || s.Size() == 0 })
}

// found starts an aggregator on a folder and returns what it has, or what it says is wrong.
func (w *world) found(role dap.Role, folder string) (all content, said string) {
	w.t.Helper()
	store, err := open(folder)
	if err != nil {
		return nil, err.Error()
	}
	defer store.Close()
	s, err := New(context.Background(), Options{
		Common: serve.Common{Keys: w.keys(role), Client: &http.Client{Transport: w}, Now: w.time},
		Role:   role, Store: store, Publishers: serve.Trust(w.signed.Signers()...), Pair: w.pair[role],
	})
	if err != nil {
		return nil, err.Error()
	}
	if alarms := s.Status(context.Background()).Alarms; len(alarms) > 0 {
		return nil, strings.Join(alarms, "\n")
	}
	all, faults := read(store)
	if len(faults) > 0 {
		return nil, fmt.Sprint(faults)
	}
	return all, ""
}

// In a database, too, each bit that flips in a row's value is told to whoever reads the row.
func TestNoFlipInADatabaseIsSilent(t *testing.T) {
	folder := database
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	defer func() { database = folder }()
	for name, stand := range stands {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.all(said...)
			stand.bring(w)
			store := w.nodes[stand.role].store
			before, faults := read(store)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			db, err := pgx.Connect(t.Context(), w.databases[stand.role])
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(context.Background())
			r := seeded.New(5)
			for shelf, tables := range before {
				for table := range tables {
					for range flips / 8 {
						bit := r.Uint32()
						for turn := range 2 { // and back
							if err := flipRow(t.Context(), db, shelf, table, bit); err != nil {
								t.Fatal(err)
							}
							after, faults := read(store)
							if turn == 0 && faults[kind(shelf, table)] == nil {
								t.Fatalf("a bit of table %d of %s is silent", table, shelf)
							}
							if turn == 1 && (len(faults) > 0 || !reflect.DeepEqual(after, before)) {
								t.Fatalf("it does not flip back: %v", faults)
							}
						}
					}
				}
			}
		})
	}
}
