package postgres

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

var many = flag.Int("shelves", 1000, "shelves of TestManyShelves")

// scalar reads one value from the database.
func scalar[T any](t testing.TB, url, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Two that read under REPEATABLE READ, behind a lock, see nothing of each other. The tests' server
// has it as its default, and the engine is not taken in: keeptest's Updates count together.
func TestTheServersDefaultIsAnother(t *testing.T) {
	if is := scalar[string](t, postgrestest.Postgres(t), "SHOW default_transaction_isolation"); is != "repeatable read" {
		t.Errorf("the server's default is %s: these tests prove nothing of the engine", is)
	}
}

// Seal comes through while 64 callers insert without an end.
func TestSealUnderLoad(t *testing.T) {
	s, _ := opened(t, Config{Keys: folder(t)})
	shelf := created(t, s, "a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // or the callers go on for ever
	defer cancel()
	var kept, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for r := 0; ; r++ {
				_, err := shelf.Insert(ctx, keep.Row{Table: 1, Key: fmt.Sprint(i, " ", r), Tag: 1, Value: bytes.Repeat([]byte{1}, 800)})
				if errors.Is(err, keep.ErrSealed) {
					refused.Add(1)
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				kept.Add(1)
			}
		})
	}
	begun := time.Now()
	for kept.Load() < 1000 {
		time.Sleep(time.Millisecond)
	}
	t.Logf("%.0f rows a second", float64(kept.Load())/time.Since(begun).Seconds())
	begun = time.Now()
	if err := shelf.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("Seal took %v", time.Since(begun))
	all.Wait()
	n, err := shelf.Count(t.Context(), 1, 1)
	if err != nil || int64(n) != kept.Load() || refused.Load() != 64 {
		t.Errorf("%d were acknowledged, %d are there, %d callers were refused: %v", kept.Load(), n, refused.Load(), err)
	}
	if err := shelf.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Somebody reads one shelf for as long as he likes: others are dropped, made and written
// meanwhile. His own is dropped behind him, at once for everybody but its table.
func TestAReaderHoldsUpNobody(t *testing.T) {
	keys := folder(t)
	s, c := opened(t, Config{Keys: keys})
	shelf := created(t, s, "read")
	for i := range 3000 {
		if i%1000 == 0 || i > 2990 {
			if _, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: fmt.Sprint(i), Value: make([]byte, 1<<20)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := shelf.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	created(t, s, "other")
	if err := found(t, s, "other").Update(t.Context(), func(tx keep.Tx) error { tx.Put(1, "k", nil); return nil }); err != nil {
		t.Fatal(err)
	}
	read := 0
	err := shelf.InOrder(t.Context(), 1, func(string, []byte) error {
		if read++; read > 1 {
			return nil
		}
		if err := s.Drop(t.Context(), "other"); err != nil {
			t.Errorf("another shelf cannot be dropped: %v", err)
		}
		if _, err := created(t, s, "new").Insert(t.Context(), row1("k")); err != nil {
			t.Errorf("a new shelf cannot be written: %v", err)
		}
		if err := s.Drop(t.Context(), "read"); !errors.Is(err, keep.ErrUnavailable) {
			t.Errorf("a shelf that is read is dropped: %v", err)
		}
		if _, _, err := shelf.Get(t.Context(), 1, "0"); !errors.Is(err, keep.ErrDropped) {
			t.Errorf("it is there for others: %v", err)
		}
		if names, err := keys.List(t.Context(), "read"); len(names) != 0 || err != nil {
			t.Errorf("its key is there: %v", err)
		}
		return nil
	})
	if err != nil || read < 10 {
		t.Errorf("the reader saw %d rows: %v", read, err)
	}
	// A start takes away what was left.
	again, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n := scalar[int](t, c.URL, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname LIKE 'confetti\\_s%' AND relname <> 'confetti_shelves'"); n != 1 {
		t.Errorf("%d tables are left, and one shelf", n)
	}
	if err := s.Drop(t.Context(), "read"); err != nil {
		t.Errorf("dropped again: %v", err)
	}
	if names, err := s.List(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

// Eight make a store at once, and eight start at once.
func TestStartsAtOnce(t *testing.T) {
	c := Config{URL: postgrestest.Postgres(t)}
	var made, there atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := Make(t.Context(), c)
			switch {
			case err == nil:
				made.Add(1)
			case errors.Is(err, keep.ErrExists):
				there.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 || there.Load() != 7 {
		t.Errorf("%d have made it, %d found it", made.Load(), there.Load())
	}
	var created atomic.Int32
	for range 8 {
		all.Go(func() {
			s, err := Open(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			shelf, err := s.Create(t.Context(), "one")
			if err == nil {
				created.Add(1)
			} else if shelf, err = s.Open(t.Context(), "one"); err != nil {
				t.Error(err)
				return
			}
			if _, err := shelf.Insert(t.Context(), row1("k")); err != nil { // and its table at once
				t.Error(err)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 {
		t.Errorf("a shelf was made %d times", created.Load())
	}
}

// Inserts of many rows that cross, each of a process of its own, and Updates among them never wait
// in a circle.
func TestNoDeadlock(t *testing.T) {
	const callers, rounds, rows = 4, 12, 400
	s, c := opened(t, Config{})
	created(t, s, "a")
	before := scalar[int](t, c.URL, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
	var shelves []keep.Shelf
	for range callers {
		process, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer process.Close()
		shelves = append(shelves, found(t, process, "a"))
	}
	for r := range rounds {
		var all sync.WaitGroup
		for i, shelf := range shelves {
			var call []keep.Row
			for n := range rows {
				call = append(call, row1(fmt.Sprint(r, " ", n)))
			}
			if i%2 == 1 {
				slices.Reverse(call)
			}
			all.Go(func() {
				var err error
				if i < 3 {
					_, err = shelf.Insert(t.Context(), call...)
				} else {
					err = shelf.Update(t.Context(), func(tx keep.Tx) error {
						for n, row := range call {
							if n%40 < 20 {
								tx.Delete(1, row.Key)
							} else {
								tx.Put(1, row.Key, nil)
							}
						}
						return nil
					})
				}
				if err != nil && !errors.Is(err, keep.ErrTaken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if n := scalar[int](t, c.URL, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") - before; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// A process that is stopped in the middle of a write holds up the others for a while, and not until it wakes. What it
// was writing is not kept.
func TestAStoppedProcessHoldsUpNobodyForLong(t *testing.T) {
	s, c := opened(t, Config{})
	created(t, s, "a")
	process, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Close()
	process.(*store).idle = 200 * time.Millisecond
	stopped, goes := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- found(t, process, "a").Update(t.Context(), func(tx keep.Tx) error {
			tx.Put(1, "half", []byte("written"))
			close(stopped)
			<-goes
			return nil
		})
	}()
	<-stopped
	if err := found(t, s, "a").Update(t.Context(), func(tx keep.Tx) error { tx.Put(1, "whole", nil); return nil }); err != nil {
		t.Errorf("another process waits: %v", err)
	}
	close(goes)
	if err := <-ended; !errors.Is(err, keep.ErrUnavailable) {
		t.Errorf("the one that was stopped is told %v", err)
	}
	if _, there, err := found(t, s, "a").Get(t.Context(), 1, "half"); there || err != nil {
		t.Errorf("what it was writing is kept: %v", err)
	}
}

// What the database has of earlier versions, of later ones, or nothing of ours, is refused by name.
func TestOtherTablesAreRefused(t *testing.T) {
	url := postgrestest.Postgres(t)
	refused := func(what, why string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := Open(t.Context(), Config{URL: url})
	refused("an empty database", "no tables of a store", err)
	for _, table := range []string{"goose_db_version", "goose_sums_version"} {
		execute(t, url, "CREATE TABLE "+table+" (id int)")
		_, err = Open(t.Context(), Config{URL: url})
		refused("an earlier version's", table, err)
		_, err = Start(t.Context(), url, nil)
		refused("an earlier version's, to make", "start with an empty database", err)
		execute(t, url, "DROP TABLE "+table)
	}
	_, c := disk(t, Config{URL: url})
	execute(t, url, "UPDATE confetti_version SET version = 2")
	_, err = Open(t.Context(), c)
	refused("another version's", "version 4", err)
}

// Each bit that flips in a row is found when it is read, and a row or a table that is gone when
// the shelf is checked.
func TestRot(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s, c := opened(t, Config{Plain: plain})
		shelf := created(t, s, "a")
		for _, key := range []string{"the first", "middle", "at last"} {
			if _, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: key, Tag: 1, Value: []byte("value")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := shelf.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		number := scalar[int](t, c.URL, "SELECT number FROM confetti_shelves WHERE shelf = 'a'")
		table := fmt.Sprintf("confetti_s%d", number)
		for _, column := range []string{"k", "tag", "v", "sum"} {
			bits := 8 * scalar[int](t, c.URL, "SELECT length("+column+") FROM "+table+" WHERE k = 'middle'")
			for bit := 0; bit < bits; bit += 11 {
				flip := func() {
					execute(t, c.URL, fmt.Sprintf("UPDATE %s SET %s = set_bit(%[2]s, %d, 1 - get_bit(%[2]s, %[3]d)) WHERE i = 0 AND n = (SELECT n FROM %[1]s WHERE n > 0 ORDER BY n OFFSET 1 LIMIT 1)", table, column, bit))
				}
				flip()
				read := func(string, []byte) error { return nil }
				for what, err := range map[string]error{"Check": shelf.Check(t.Context()), "Each": shelf.Each(t.Context(), 1, "", read), "InOrder": shelf.InOrder(t.Context(), 1, read)} {
					if !errors.Is(err, keep.ErrDamaged) {
						t.Errorf("plain %t: bit %d of %s: %s: %v", plain, bit, column, what, err)
					}
				}
				flip()
			}
		}
		if err := shelf.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		// By an Update a row may go, and otherwise not.
		if err := shelf.Update(t.Context(), func(tx keep.Tx) error { tx.Delete(1, "the first"); return nil }); err != nil {
			t.Fatal(err)
		}
		if err := shelf.Check(t.Context()); err != nil {
			t.Error(err)
		}
		execute(t, c.URL, "DELETE FROM "+table+" WHERE k = 'at last'")
		if err := shelf.Check(t.Context()); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("a row that is gone: %v", err)
		}
		execute(t, c.URL, "DROP TABLE "+table)
		if _, _, err := shelf.Get(t.Context(), 1, "middle"); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("a table that is gone: %v", err)
		}
		again, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Open(t.Context(), "a"); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("a table that is gone, opened: %v", err)
		}
		again.Close()
	}
}

// A bit that flips in any column that says something costs its row and no other, whatever the column: of
// the table's number, of the key, by which it is found no more. What was set aside lies in a table of its own, and
// goes with the shelf. Rows that are not there count too, and a table that is gone is made again.
func TestAnyRotIsSetAside(t *testing.T) {
	s, c := opened(t, Config{Keys: folder(t)})
	shelf := created(t, s, "a")
	const rows = 60
	for i := range rows {
		if _, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: fmt.Sprintf("key %02d", i), Tag: 1, Value: []byte("value")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := shelf.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("confetti_s%d", scalar[int](t, c.URL, "SELECT number FROM confetti_shelves WHERE shelf = 'a'"))
	var flips []string
	for _, column := range []string{"k", "tag", "v", "sum"} {
		for _, bit := range []int{0, 17, 46} {
			flips = append(flips, fmt.Sprintf("%s = set_bit(%[1]s, %d, 1 - get_bit(%[1]s, %[2]d))", column, bit))
		}
	}
	for bit := range 15 {
		flips = append(flips, fmt.Sprintf("t = t # %d::smallint", 1<<bit))
	}
	flips = append(flips, "t = -32767", "tag = NULL")
	read := func() (n int, err error) {
		err = shelf.InOrder(t.Context(), 1, func(string, []byte) error { n++; return nil })
		return n, err
	}
	for lost, flip := range append(flips, "") {
		if flip == "" { // one that is not there any more
			execute(t, c.URL, fmt.Sprintf("DELETE FROM %s WHERE k = 'key %02d'", table, lost))
		} else {
			execute(t, c.URL, fmt.Sprintf("UPDATE %s SET %s WHERE k = 'key %02d'", table, flip, lost))
		}
		if _, err := read(); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%q: InOrder: %v", flip, err)
		}
		if err := shelf.Check(t.Context()); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%q: Check: %v", flip, err)
		}
		if _, err := s.SetAside(t.Context(), "a"); err != nil {
			t.Fatalf("%q: %v", flip, err)
		}
		n, err := read()
		is, failed := s.Lost(t.Context(), "a")
		if err != nil || failed != nil || n != rows-lost-1 || is != uint64(lost+1) {
			t.Fatalf("%q: %d rows are left and %d are lost: %v, %v", flip, n, is, err, failed)
		}
	}
	if n := scalar[int](t, c.URL, "SELECT count(*) FROM "+table+"_aside"); n != len(flips) {
		t.Errorf("%d rows lie aside, and %d were set", n, len(flips))
	}
	execute(t, c.URL, "DROP TABLE "+table)
	if _, err := s.SetAside(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if n, err := read(); n != 0 || err != nil {
		t.Errorf("%d rows of a table that was gone: %v", n, err)
	}
	if is, err := s.Lost(t.Context(), "a"); is != rows || err != nil {
		t.Errorf("%d rows are lost, and all %d are: %v", is, rows, err)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if scalar[bool](t, c.URL, "SELECT to_regclass($1) IS NOT NULL", table+"_aside") {
		t.Error("what was set aside stays behind Drop")
	}
	// A key that is lost is not set aside: the rows of all processes would be.
	created(t, s, "b")
	if err := s.(*store).config.Keys.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetAside(t.Context(), "b"); !errors.Is(err, keep.ErrDamaged) {
		t.Errorf("a lost key: %v", err)
	}
}

// A bit that flips in the row of a shelf is found by whoever reads anything of the shelf: else a sealed one would be
// open, or one with rows would have none.
func TestRotInTheRowOfAShelf(t *testing.T) {
	_, c := opened(t, Config{})
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	shelf := created(t, s, "a")
	if _, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: "key", Value: []byte("value")}); err != nil {
		t.Fatal(err)
	}
	if err := shelf.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	execute(t, c.URL, "ALTER TABLE confetti_shelves ALTER sum DROP EXPRESSION; ALTER TABLE confetti_shelves ALTER number DROP IDENTITY") // a disk asks nobody
	read := func() (sealed bool, errs []error) {
		s, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.List(t.Context())
		errs = append(errs, err)
		shelf, err := s.Open(t.Context(), "a")
		if errs = append(errs, err); err == nil {
			value, there, err := shelf.Get(t.Context(), 1, "key")
			if err == nil && (!there || string(value) != "value") {
				err = errors.New("silence")
			}
			_, again := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: "late", Value: []byte("value")})
			sealed = errors.Is(again, keep.ErrSealed)
			errs = append(errs, err)
		}
		return sealed, errs
	}
	if sealed, errs := read(); !sealed || errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	for _, flip := range []string{"state = state # 1", "state = state # 2", "state = state # 4", "lost = lost # 1", "tabled = NOT tabled", "number = number # 1", "inserted = inserted # 1",
		"inserted = NULL", "key = set_bit(key, 0, 1 - get_bit(key, 0))", "key = set_bit(key, 255, 1 - get_bit(key, 255))", "sum = set_bit(sum, 7, 1 - get_bit(sum, 7))"} {
		execute(t, c.URL, "CREATE TABLE was AS SELECT * FROM confetti_shelves; UPDATE confetti_shelves SET "+flip+" WHERE shelf = 'a'")
		if _, errs := read(); !errors.Is(errs[0], keep.ErrDamaged) || !errors.Is(errs[1], keep.ErrDamaged) {
			t.Errorf("%s: %v", flip, errs)
		}
		// Twin: where the digest follows what the disk has made of the row, it is not seen.
		if flip == "tabled = NOT tabled" || flip == "state = state # 1" {
			execute(t, c.URL, "UPDATE confetti_shelves SET sum = "+digest+" WHERE shelf = 'a'")
			if sealed, errs := read(); sealed && errors.Join(errs...) == nil {
				t.Errorf("%s: the flip changes nothing that a reader sees", flip)
			}
		}
		execute(t, c.URL, "DELETE FROM confetti_shelves; INSERT INTO confetti_shelves SELECT * FROM was; DROP TABLE was")
	}
	if sealed, errs := read(); !sealed || errors.Join(errs...) != nil {
		t.Error(errs)
	}
}

// Keys lie outside of the database: it tells no value and no tag, a lost or rotten key is
// damage, and Drop destroys it.
func TestKeysLieOutside(t *testing.T) {
	dir := t.TempDir()
	keys, err := blob.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, c := opened(t, Config{Keys: keys})
	shelf := created(t, s, "a")
	secretValue := "a value that nobody may read"
	if _, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: "k", Tag: 77, Value: []byte(secretValue)}); err != nil {
		t.Fatal(err)
	}
	if err := shelf.Update(t.Context(), func(tx keep.Tx) error { tx.Put(2, "k", []byte(secretValue)); return nil }); err != nil {
		t.Fatal(err)
	}
	number := scalar[int](t, c.URL, "SELECT number FROM confetti_shelves WHERE shelf = 'a'")
	if dump := scalar[string](t, c.URL, fmt.Sprintf("SELECT string_agg(encode(v, 'escape') || encode(coalesce(tag, ''), 'hex'), '') FROM confetti_s%d", number)); strings.Contains(dump, "nobody") || strings.Contains(dump, "0000004d") {
		t.Errorf("the database tells %q", dump)
	}
	if scalar[bool](t, c.URL, "SELECT bool_or(key IS NOT NULL) FROM confetti_shelves") {
		t.Error("a key is in the database")
	}
	path := filepath.Join(dir, filepath.FromSlash(keyName("a", int64(number))))
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func() error {
		s, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Open(t.Context(), "a")
		return err
	}
	for bit := range 8 * len(key) {
		flipped := bytes.Clone(key)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		if bit%16 == 0 {
			if err := open(); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("bit %d of a key: %v", bit, err)
			}
			if err := shelf.Check(t.Context()); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("bit %d of a key, checked: %v", bit, err)
			}
		}
	}
	os.Remove(path)
	if err := open(); !errors.Is(err, keep.ErrDamaged) {
		t.Errorf("a key that is gone: %v", err)
	}
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the key of a dropped shelf is there")
	}
}

// Shelves have tables of their own, and those that keep no row have none. No shelf waits for how
// many others there are.
func TestManyShelves(t *testing.T) {
	s, c := opened(t, Config{})
	begun := time.Now()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := w; i < *many; i += 4 {
				shelf, err := s.Create(t.Context(), fmt.Sprintf("s%05d", i))
				if err == nil && i%2 == 0 {
					_, err = shelf.Insert(t.Context(), row1("k"))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d shelves made, half of them with a row, in %v", *many, time.Since(begun))
	begun = time.Now()
	names, err := s.List(t.Context())
	if err != nil || len(names) != *many {
		t.Fatalf("%d shelves: %v", len(names), err)
	}
	t.Logf("listed in %v", time.Since(begun))
	begun = time.Now()
	again, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	shelf := found(t, again, "s00000")
	if told, err := shelf.Insert(t.Context(), row1("k")); err != nil || !told {
		t.Errorf("again %t, %v", told, err)
	}
	t.Logf("a start and an insert: %v", time.Since(begun))
	if locks := scalar[int](t, c.URL, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"); locks != 0 {
		t.Errorf("%d advisory locks outlive their transactions", locks)
	}
	if n := scalar[int](t, c.URL, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"); n != *many/2+2 {
		t.Errorf("%d tables", n)
	}
	begun = time.Now()
	for _, name := range names[:20] {
		if err := again.Drop(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a Drop: %v", time.Since(begun)/20)
	used, free, err := s.Usage(t.Context())
	if err != nil || used < 1 || free >= 0 {
		t.Errorf("%d bytes are used, %d free: %v", used, free, err)
	}
	for _, name := range names[20:] { // one DROP SCHEMA would need more locks than a server has
		if *many <= 1000 {
			break
		}
		if err := again.Drop(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}
