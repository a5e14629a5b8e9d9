package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// kept are the names of the withdrawals that are kept.
func kept(t *testing.T, s *Store) (names []string) {
	t.Helper()
	if err := s.Withdrawals(t.Context(), func(name string, text []byte) error {
		names = append(names, name+"="+string(text))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

// A withdrawal ends a plan in whatever state it is, deletes what was counted, never
// releases it, and leaves its spending, and a release that is out.
func TestAWithdrawalEndsAPlan(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for _, name := range []string{"aa", "bb", "cc", "nowhere"} {
			for _, text := range []string{"first", "second"} { // again changes nothing
				if err := s.Withdraw(ctx, name, []byte(text), "withdrawn: "+text, now.Add(time.Hour)); err != nil {
					t.Fatal(name, err)
				}
			}
		}
		want := []string{"aa=first", "bb=first", "cc=first", "dd_1=early", "nowhere=first"}
		if got := kept(t, s); !slices.Equal(got, want) {
			t.Errorf("kept %v", got)
		}
		for name, reason := range map[string]string{"aa": "", "bb": "too few", "cc": "withdrawn: first"} {
			p, err := s.Plan(ctx, name)
			if err != nil || !p.Withdrawn || p.Closed.IsZero() || p.Decided.IsZero() || p.Released != (name == "aa") || p.Reason != reason {
				t.Errorf("%s: %+v %v", name, p, err)
			}
			if batches, err := s.Batches(ctx, name); err != nil || len(batches) > 0 {
				t.Errorf("%s: %d batches are left, %v", name, len(batches), err)
			}
			if o, err := s.Count(ctx, sampleBatch(name, 7, 0), counted(1)); o != Failed || !errors.Is(err, ErrClosed) {
				t.Errorf("%s takes a batch: %v %v", name, o, err)
			}
			if o, err := s.Decide(ctx, name, Verdict{Files: map[string][]byte{"json": []byte("other")}, At: now}); o != Again || err != nil {
				t.Errorf("%s is decided on again: %v %v", name, o, err)
			}
			if _, _, err := s.Release(ctx, name, "json"); (err == nil) != (name == "aa") {
				t.Errorf("%s: a release: %v", name, err)
			}
		}
		spent, err := s.Spendings(ctx, "residents")
		if err != nil || len(spent) != 3 || s.CheckLedger(ctx) != nil {
			t.Errorf("%d spendings, %v", len(spent), err)
		}
		var counts int
		if err := s.reader.QueryRow("SELECT count(*) FROM counts").Scan(&counts); err != nil || counts > 0 {
			t.Errorf("%d parts of tallies are left, %v", counts, err)
		}
	})
}

// A crash between the steps of a withdrawal leaves none of them.
func TestAWithdrawalIsWholeOrNot(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		crash := errors.New("crash")
		s.failpoint = func(name string) error {
			if name == "store/withdraw" {
				return crash
			}
			return nil
		}
		if err := s.Withdraw(ctx, "cc", []byte("x"), "withdrawn", now); !errors.Is(err, crash) {
			t.Fatal(err)
		}
		p, err := s.Plan(ctx, "cc")
		if err != nil || p.Withdrawn || !p.Closed.IsZero() || !p.Decided.IsZero() {
			t.Errorf("%+v %v", p, err)
		}
		if batches, err := s.Batches(ctx, "cc"); err != nil || len(batches) != 2 {
			t.Errorf("%d batches, %v", len(batches), err)
		}
	})
}

// A plan has its newest signatures, and its row stays as it was.
func TestAPlanIsSignedAnew(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		for i := range 3 {
			want := fmt.Sprint("signed by ", i)
			if err := s.Resign(ctx, "aa", []byte(want)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Signed(ctx, "aa"); err != nil || string(got) != want {
				t.Errorf("%q %v", got, err)
			}
		}
		if got, err := s.Signed(ctx, "bb"); err != nil || string(got) != string(signedOf(samplePlan("bb"))) {
			t.Errorf("another plan: %q %v", got, err)
		}
		if err := s.Resign(ctx, "nowhere", []byte("x")); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	})
}
