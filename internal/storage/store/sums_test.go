package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Of a damaged aggregator nobody is told to restore a backup.
func TestARottenAggregatorIsWithdrawnFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums.db")
	s, err := OpenSums(t.Context(), Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := s.Serve(t.Context(), Served{Name: fmt.Sprint(i), Signed: make([]byte, 500), Secret: []byte{}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 2; i < len(text)/2+8192; i++ {
		text[i] ^= 0x55
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = OpenSums(t.Context(), Config{DSN: path})
	if !errors.Is(err, ErrSums) || strings.Contains(err.Error(), "newest backup") || !strings.Contains(err.Error(), "withdraw its plans") {
		t.Errorf("%v", err)
	}
}

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

// What comes together is decided on one by one, and one that is refused takes nothing from the others.
func TestReportsThatComeTogether(t *testing.T) {
	ctx := t.Context()
	s, err := OpenSums(ctx, Config{DSN: filepath.Join(t.TempDir(), "sums.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"open", "closed"} {
		if err := s.Serve(ctx, Served{Name: name, Signed: []byte{1}, Secret: []byte{2}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.End(ctx, "closed"); err != nil {
		t.Fatal(err)
	}
	upload := func(plan string, respondent, id byte) Upload {
		return Upload{Plan: plan, Respondent: [32]byte{respondent}, ID: [16]byte{id}, Body: []byte{respondent, id}}
	}
	all := []Upload{upload("open", 1, 1), upload("closed", 2, 2), upload("open", 1, 3), upload("open", 4, 1), upload("open", 1, 1), upload("unknown", 5, 5), upload("open", 6, 6)}
	want := []error{nil, ErrClosed, ErrTaken, ErrTaken, nil, ErrClosed, nil}
	for range 2 { // and the same once more
		wrong, err := s.Take(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if !errors.Is(wrong[i], want[i]) {
				t.Errorf("report %d: %v, want %v", i, wrong[i], want[i])
			}
		}
		if n, err := s.Reports(ctx, "open", 0); n != 2 || err != nil {
			t.Errorf("%d reports are there, %v", n, err)
		}
	}
}
