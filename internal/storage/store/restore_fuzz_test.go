package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A file that is no backup, or a spoilt one, leaves the database empty and usable;
// what is restored can be read.
func FuzzRestore(f *testing.F) {
	dir := f.TempDir()
	from, err := Open(f.Context(), Config{DSN: filepath.Join(dir, "a.db")})
	if err != nil {
		f.Fatal(err)
	}
	register(f, from, samplePlan("aa"))
	good := filepath.Join(dir, "backup.db")
	if err := from.Backup(f.Context(), good); err != nil {
		f.Fatal(err)
	}
	from.Close()
	text, err := os.ReadFile(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, n := range []int{0, 16, 100, 4096, len(text) - 1} {
		f.Add(text[:n])
	}
	for at := 0; at < len(text); at += 19997 {
		b := append([]byte(nil), text...)
		b[at] ^= 0xff
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "foreign.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{DSN: filepath.Join(dir, "to.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		// The database's own memory is not Go's, and is bounded by its cache.
		costlimit.Heap(t, costlimit.Factor, len(text)+1<<14, func() { err = s.Restore(t.Context(), path) })
		plans, unread := s.Plans(t.Context())
		if err != nil && len(plans) > 0 && unread == nil {
			// Restored by the first of several runs; a later one found it in use.
			return
		}
		if err != nil && unread != nil {
			t.Errorf("refused with %v, and the database cannot be read: %v", err, unread)
		}
	})
}

// A file that has a view in the place of a table is refused before it is asked
// anything: the view may never end.
func TestRestoreRefusesWhatComputes(t *testing.T) {
	dir := t.TempDir()
	from, err := Open(t.Context(), Config{DSN: filepath.Join(dir, "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	register(t, from, samplePlan("aa"))
	path := filepath.Join(dir, "hostile.db")
	if err := from.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	from.Close()
	db, err := sql.Open("sqlite", sqliteURI(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DROP TABLE releases",
		"CREATE VIEW releases(plan, format, sha256, body) AS WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x+1 FROM n) SELECT 'aa', x, x, x FROM n",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	to, err := Open(t.Context(), Config{DSN: filepath.Join(dir, "b.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := to.Restore(ctx, path); err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "no table releases") {
		t.Errorf("%v", err)
	}
}
