package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// spend registers a plan of that name.
func spend(s *Store, name string) error {
	at := time.Unix(1_800_000_000, 0)
	p := Plan{Name: name, Registered: at, Spending: Spending{Plan: name, Population: "all", Publisher: "p", Epsilon: 0.5, Delta: 1e-6, Adjacency: "replacement", Users: 10, Method: "m", Shift: 0.25, Tail: 1e-8, Dominated: "replacement"}}
	_, err := s.Register(context.Background(), p, Round{}, []byte("signed "+name), asked(p))
	return err
}

// spent is a closed database that has spent three times, and its path.
func spent(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := spend(s, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A ledger that lost something, in the middle or at its end, refuses to spend: what
// was spent could be spent again. One whose end is only not known goes on.
func TestALedgerThatLostSomethingSpendsNothing(t *testing.T) {
	run := func(statements ...string) func(*testing.T, *Store, string) {
		return func(t *testing.T, s *Store, _ string) {
			for _, statement := range statements {
				if _, err := s.writer.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write := func(text string) func(*testing.T, *Store, string) {
		return func(t *testing.T, _ *Store, path string) {
			if err := os.WriteFile(path+".ledger", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(t *testing.T, _ *Store, path string) {
		if err := os.Remove(path + ".ledger"); err != nil {
			t.Fatal(err)
		}
	}
	off := []string{"DROP TRIGGER spendings_no_delete", "DROP TRIGGER links_no_delete", "DROP TRIGGER spendings_no_update", "DROP TRIGGER plans_no_delete", "PRAGMA foreign_keys(0)"}
	for name, c := range map[string]struct {
		spoil func(*testing.T, *Store, string)
		goes  bool
	}{
		"nothing":                 {run(), true},
		"the last is gone":        {run(append(off, "DELETE FROM links WHERE plan = 'three'", "DELETE FROM spendings WHERE plan = 'three'")...), false},
		"all are gone":            {run(append(off, "DELETE FROM links", "DELETE FROM spendings", "DELETE FROM plans")...), false},
		"one is gone":             {run(append(off, "DELETE FROM links WHERE plan = 'two'", "DELETE FROM spendings WHERE plan = 'two'")...), false},
		"one is cheaper":          {run(append(off, "UPDATE spendings SET epsilon = 0.25 WHERE plan = 'two'")...), false},
		"one's shift is smaller":  {run(append(off, "UPDATE spendings SET shift = 0.125 WHERE plan = 'two'")...), false},
		"one's tail is smaller":   {run(append(off, "UPDATE spendings SET tail = 1e-9 WHERE plan = 'three'")...), false},
		"one's Gaussian is gone":  {run(append(off, "UPDATE spendings SET shift = 0, tail = 0, dominated = '' WHERE plan = 'one'")...), false},
		"one's neighbours differ": {run(append(off, "UPDATE spendings SET dominated = 'removal' WHERE plan = 'one'")...), false},
		"one has no link":         {run(append(off, "DELETE FROM links WHERE plan = 'three'")...), false},
		"its end is not known":    {remove, true},
		"its end cannot be read":  {write("3 junk"), true},
		"its end is another":      {write(otherEnd(3)), false},
		"it had more (rollback)":  {write(otherEnd(4)), false},
		"its end is an older one": {write(otherEnd(2)), false}, // of another ledger
	} {
		t.Run(name, func(t *testing.T) {
			path := spent(t)
			s, err := Open(t.Context(), Config{DSN: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c.spoil(t, s, path)
			for name, err := range map[string]error{"check": s.CheckLedger(t.Context()), "spend": spend(s, "four")} {
				if c.goes && err != nil || !c.goes && !errors.Is(err, ErrLedger) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if !c.goes {
				return
			}
			if s.known().Number != 4 || s.CheckLedger(t.Context()) != nil {
				t.Errorf("how far it has come is not written down: %d", s.known().Number)
			}
		})
	}
}

// otherEnd is how far another ledger had come.
func otherEnd(number uint64) string {
	p, err := link(hashchain.Begin("another"), Spending{Plan: "another"})
	if err != nil {
		panic(err)
	}
	p.Number = number
	text, err := p.MarshalText()
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The write-ahead log, lost with a kill, took a plan and what it had spent with it:
// they are in the database's own file when Register returns.
func TestSpentWithoutTheWriteAheadLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := spend(s, "one"); err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(dir, "killed.db") // without its write-ahead log
	for _, name := range []string{"", ".ledger"} {
		text, err := os.ReadFile(path + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(t.Context(), Config{DSN: killed})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if all, err := again.Spendings(t.Context(), "all"); err != nil || len(all) != 1 || again.CheckLedger(t.Context()) != nil {
		t.Errorf("%d spendings, %v", len(all), err)
	}
}

// A file with a bad page is refused when it is opened, by name, and not found out
// by whoever needs the page.
func TestADamagedDatabaseIsRefused(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"a page":  func(b []byte) []byte { copy(b[4096*3:], make([]byte, 64)); return b },
		"the end": func(b []byte) []byte { return b[:len(b)/2] },
		"header":  func(b []byte) []byte { b[3] ^= 0xff; return b },
	} {
		t.Run(name, func(t *testing.T) {
			path := spent(t)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoil(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Config{DSN: path})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A byte that changes within a tally is not seen by SQLite, and made another result.
func TestAChangedTallyIsRefused(t *testing.T) {
	path := spent(t)
	s, err := Open(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := Batch{Plan: "one", Respondents: 3, Smallest: 3, Receipts: []byte("r")}
	if _, err := s.Count(t.Context(), b, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tally(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"DROP TRIGGER counts_no_update", "UPDATE counts SET body = x'010303'"} {
		if _, err := s.writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if tally, err := s.Tally(t.Context(), b); !errors.Is(err, ErrDamaged) {
		t.Errorf("read as %v: %v", tally, err)
	}
}

// The end of a PostgreSQL database's ledger is known elsewhere, where a file is named.
func TestAPostgresLedgerThatLostItsEndSpendsNothing(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		ctx, end := t.Context(), filepath.Join(t.TempDir(), "ledger")
		s, err := Open(ctx, Config{DSN: dsn, Ledger: end})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, name := range []string{"one", "two"} {
			if err := spend(s, name); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"links", "spendings"} {
			drop := "DROP TRIGGER " + table + "_no_delete"
			if s.kind == postgres {
				drop += " ON " + table
			}
			for _, statement := range []string{drop, "DELETE FROM " + table + " WHERE plan = 'two'"} {
				if _, err := s.writer.ExecContext(ctx, statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := spend(s, "three"); !errors.Is(err, ErrLedger) {
			t.Errorf("it spends: %v", err)
		}
		again, err := Open(ctx, Config{DSN: dsn, Ledger: end})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if err := again.CheckLedger(ctx); !errors.Is(err, ErrLedger) {
			t.Errorf("after a restart: %v", err)
		}
		if err := os.Remove(end); err != nil { // the operator's statement
			t.Fatal(err)
		}
		if err := spend(again, "three"); err != nil {
			t.Errorf("without what says how far it had come: %v", err)
		}
	})
}
