package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// A byte that changes within a row, which SQLite does not see, is found.
func TestAChangedRowIsFound(t *testing.T) {
	ctx := context.Background()
	for _, change := range []string{
		"UPDATE batches SET respondents = respondents + 1",
		"UPDATE batches SET receipts = x'00'",
		"UPDATE counts SET body = x'05'",
	} {
		s, err := Open(ctx, Config{DSN: filepath.Join(t.TempDir(), "a.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p := Plan{Name: "plan", Registered: time.Unix(1, 0), Spending: Spending{Plan: "plan", Population: "all", Publisher: "p", Adjacency: "removal"}}
		if _, err := s.Register(ctx, p, Round{}, []byte("signed"), asked(p)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Count(ctx, Batch{Plan: "plan", Receipts: []byte("receipts"), Respondents: 3, Counted: time.Unix(2, 0)}, []byte{7}); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckPlan(ctx, "plan"); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"batches", "counts"} {
			if _, err := s.writer.Exec("DROP TRIGGER " + table + "_no_update"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.writer.Exec(change); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckPlan(ctx, "plan"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", change, err)
		}
	}
}
