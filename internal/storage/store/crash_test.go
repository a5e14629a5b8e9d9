package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestExpiryTakesOldTalliesOnly(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		if n, err := s.Expire(ctx, now); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := s.Expire(ctx, now.Add(time.Minute)); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		for name, want := range map[string]int{"aa": 0, "bb": 2, "cc": 2} {
			if b, err := s.Batches(ctx, name); len(b) != want || err != nil {
				t.Errorf("%s has %d batches, %v", name, len(b), err)
			}
		}
		if body, _, err := s.Release(ctx, "aa", "json"); err != nil || string(body) != "{}" {
			t.Errorf("the release: %q, %v", body, err)
		}
		if spent, err := s.Spendings(ctx, "residents"); len(spent) != 3 || err != nil {
			t.Errorf("the ledger has %d entries, %v", len(spent), err)
		}
		if o, err := s.Taken(ctx, sampleBatch("aa", 0, 0)); o != Failed || !errors.Is(err, ErrClosed) {
			t.Error("a batch whose mark expired:", o, err)
		}
	})
}

// What expired is in none of the database's files any more.
func TestExpiredBytesAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := filled(t, path)
	b := sampleBatch("cc", 5, 0)
	b.Receipts = []byte("a receipt that is easy to find")
	if o, err := s.Count(t.Context(), b, counted(5)); o != New {
		t.Fatal(o, err)
	}
	found := func() (n int) {
		for _, name := range []string{path, path + "-wal"} {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += bytes.Count(body, b.Receipts)
		}
		return n
	}
	if found() == 0 {
		t.Fatal("the receipt is not even there before it expires: this test looks in the wrong place")
	}
	if _, err := s.CloseCollection(t.Context(), "cc", "clock", now); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Decide(t.Context(), "cc", Verdict{Reason: "too few", At: now}); o != New {
		t.Fatal(o, err)
	}
	if n, err := s.Expire(t.Context(), now.Add(time.Minute)); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if n := found(); n != 0 {
		t.Errorf("the receipt is still there %d times", n)
	}
}

// A full disk is told apart, leaves nothing half, and is over when there is room.
func TestAFullDisk(t *testing.T) {
	s, ctx := filled(t, filepath.Join(t.TempDir(), "a.db")), t.Context()
	before := rows(t, s)
	limit := func(pages int) {
		if _, err := s.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // that is, what there is
	b := sampleBatch("cc", 7, 0)
	if o, err := s.Count(ctx, b, counted(3)); o != Failed || !errors.Is(err, ErrFull) {
		t.Fatal(o, err)
	}
	if diff := cmp.Diff(before, rows(t, s)); diff != "" {
		t.Errorf("a full disk left something: %s", diff)
	}
	limit(1 << 30)
	if o, err := s.Count(ctx, b, counted(3)); o != New {
		t.Fatal(o, err)
	}
}

// A machine that is killed loses nothing that was acknowledged with the write-ahead log:
// a batch was counted into the file itself before anybody was told.
func TestALostWriteAheadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := filled(t, path)
	b := sampleBatch("cc", 5, 0)
	if o, err := s.Count(t.Context(), b, counted(5)); o != New {
		t.Fatal(o, err)
	}
	killed := filepath.Join(t.TempDir(), "a.db")
	for _, name := range []string{"", ".ledger"} {
		body, err := os.ReadFile(path + name)
		if err == nil {
			err = os.WriteFile(killed+name, body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, killed)
	if o, err := again.Taken(t.Context(), b); o != Again || err != nil {
		t.Error("the batch is not known:", o, err)
	}
	if err := errors.Join(again.CheckPlan(t.Context(), "cc"), again.Check(t.Context())); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(rows(t, s), rows(t, again)); diff != "" {
		t.Errorf("something is missing: %s", diff)
	}
}

// A crash at any point leaves all of a write or nothing, and the write can be
// made again.
func TestACrashLeavesNothingHalf(t *testing.T) {
	crash := errors.New("crash")
	steps := []struct {
		name string
		do   func(ctx context.Context, s *Store) (Outcome, error)
	}{
		{"register", func(ctx context.Context, s *Store) (Outcome, error) {
			return s.Register(ctx, samplePlan("dd"), Round{"study", 4}, signedOf(samplePlan("dd")), asked(samplePlan("dd")))
		}},
		{"count", func(ctx context.Context, s *Store) (Outcome, error) {
			return s.Count(ctx, sampleBatch("cc", 7, 0), counted(3))
		}},
		{"close", func(ctx context.Context, s *Store) (Outcome, error) {
			return s.CloseCollection(ctx, "cc", "clock", now)
		}},
		{"decide", func(ctx context.Context, s *Store) (Outcome, error) {
			return s.Decide(ctx, "cc", Verdict{Files: map[string][]byte{"json": {1}, "csv": {2}}, At: now.Add(time.Hour)})
		}},
		{"expire", func(ctx context.Context, s *Store) (Outcome, error) {
			n, err := s.Expire(ctx, now.Add(time.Minute))
			if n == 0 {
				return Again, err
			}
			return New, err
		}},
	}
	both(t, func(t *testing.T, dsn string) {
		s := filled(t, dsn)
		for _, step := range steps {
			before := rows(t, s)
			for _, point := range []string{"store/" + step.name, "store/" + step.name + "/committed"} {
				if !slices.Contains(Failpoints, point) {
					t.Errorf("%s is not among the failpoints", point)
				}
				crashing, err := Open(t.Context(), Config{DSN: dsn, Failpoint: func(p string) error {
					if p == point {
						return crash
					}
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := step.do(t.Context(), crashing); !errors.Is(err, crash) {
					t.Errorf("%s was not reached: %v", point, err)
				}
				crashing.Close()
				if !strings.HasSuffix(point, "committed") {
					if diff := cmp.Diff(before, rows(t, s)); diff != "" {
						t.Errorf("a crash at %s left something: %s", point, diff)
					}
				}
			}
			if o, err := step.do(t.Context(), s); o != Again || err != nil {
				t.Errorf("%s again after it was committed: %v, %v", step.name, o, err)
			}
		}
	})
}

func rows(t *testing.T, s *Store) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, table := range tables {
		var k int
		if err := s.reader.QueryRow("SELECT count(*) FROM " + table.name).Scan(&k); err != nil {
			t.Fatal(err)
		}
		n[table.name] = k
	}
	return n
}
