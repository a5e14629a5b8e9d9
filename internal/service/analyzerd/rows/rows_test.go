package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(postgrestest.Main(m, "fsync=on", "max_connections=300"))
}

var databases = map[string]func(testing.TB) Config{
	"folder":   func(t testing.TB) Config { return Config{DSN: filepath.Join(t.TempDir(), "shelves")} },
	"postgres": func(t testing.TB) Config { return Config{DSN: postgrestest.Postgres(t)} },
}

// both runs a test on either engine.
func both(t *testing.T, do func(t *testing.T, c Config)) {
	for kind, fresh := range databases {
		t.Run(kind, func(t *testing.T) { do(t, fresh(t)) })
	}
}

func opened(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var moment = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func name(i int) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, i))) }

func spending(i int) Spending {
	return Spending{Plan: name(i), Population: "all", Publisher: "Research", Epsilon: 0.1, Delta: 1e-7, Adjacency: "replacement", Users: 100, Method: "m", Shift: 0.01, Tail: 1e-9, Dominated: "replacement"}
}

// register charges the plan of that number.
func register(t testing.TB, s *Store, i int) Outcome {
	t.Helper()
	outcome, err := s.Register(t.Context(), Plan{Name: name(i), Registered: moment.Add(time.Duration(i) * time.Second), Spending: spending(i)}, Round{}, fmt.Appendf(nil, "plan %d", i),
		func(Before) (Spending, error) { return spending(i), nil })
	check(t, err)
	return outcome
}

func batch(i, crowd int) Batch {
	return Batch{Plan: name(i), Crowd: crowd, SHA256: sha256.Sum256(fmt.Append(nil, i, crowd)), Receipts: []byte("receipts"), Respondents: 10, Smallest: 9, Dropped: 1, Counted: moment}
}

// large is a tally of many parts, more than one Update writes.
func large(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "tally %8d ", i), 600_000) }

// life takes a plan from its registration to its release, and another one to its batches.
func life(t testing.TB, s *Store) {
	t.Helper()
	for i := range 3 {
		if outcome := register(t, s, i); outcome != New {
			t.Fatalf("plan %d: %v", i, outcome)
		}
	}
	for i := range 2 {
		for crowd := range 2 {
			tally := fmt.Appendf(nil, "tally %d %d", i, crowd)
			if crowd == 1 {
				tally = large(i)
			}
			if outcome, err := s.Count(t.Context(), batch(i, crowd), tally); outcome != New || err != nil {
				t.Fatal(outcome, err)
			}
		}
	}
	if outcome, err := s.CloseCollection(t.Context(), name(0), "operator", moment); outcome != New || err != nil {
		t.Fatal(outcome, err)
	}
	if outcome, err := s.Decide(t.Context(), name(0), Verdict{Files: map[string][]byte{"json": []byte("{}"), "csv": large(9)}, At: moment}); outcome != New || err != nil {
		t.Fatal(outcome, err)
	}
	check(t, s.KeepState(t.Context(), []byte("state")))
	check(t, s.KeepWithdrawal(t.Context(), "key", []byte("statement")))
	check(t, s.Resign(t.Context(), name(1), []byte("signed anew")))
	if outcome, err := s.Follow(t.Context(), name(0), Next{Reason: "over", Written: moment}, []byte("next")); outcome != New || err != nil {
		t.Fatal(outcome, err)
	}
}

// lived says what is other than life left it.
func lived(t testing.TB, s *Store) {
	t.Helper()
	ctx := t.Context()
	check(t, s.Check(ctx))
	plans, err := s.Plans(ctx)
	check(t, err)
	if len(plans) != 3 || plans[0].Name != name(0) || !plans[0].Released || plans[0].Closer != "operator" || !plans[1].Closed.IsZero() || plans[2].Spending.Epsilon != 0.1 {
		t.Errorf("plans: %+v", plans)
	}
	for i := range 2 {
		batches, err := s.Batches(ctx, name(i))
		check(t, err)
		if len(batches) != 2 || batches[0].Respondents != 10 || batches[1].SHA256 != batch(i, 1).SHA256 {
			t.Fatalf("batches of %d: %+v", i, batches)
		}
		tally, err := s.Tally(ctx, batches[1])
		check(t, err)
		if !bytes.Equal(tally, large(i)) {
			t.Errorf("the tally of %d is another one", i)
		}
	}
	file, digest, err := s.Release(ctx, name(0), "csv")
	check(t, err)
	if !bytes.Equal(file, large(9)) || digest != sha256.Sum256(file) {
		t.Error("the release is another one")
	}
	if signed, err := s.Signed(ctx, name(1)); string(signed) != "signed anew" || err != nil {
		t.Errorf("%q, %v", signed, err)
	}
	if spent, err := s.Spendings(ctx, "all"); len(spent) != 3 || err != nil || spent[2].Plan != name(2) {
		t.Errorf("%d spendings, %v", len(spent), err)
	}
	next, err := s.Following(ctx, name(0))
	if err != nil || next.Reason != "over" {
		t.Errorf("%+v, %v", next, err)
	}
	if state, err := s.State(ctx, fmt.Sprintf("%x", sha256.Sum256([]byte("next")))); string(state) != "next" || err != nil {
		t.Errorf("%q, %v", state, err)
	}
}

// What was written is there after a restart, and what was taken is taken again.
func TestWhatWasWrittenStays(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		s := opened(t, c)
		life(t, s)
		lived(t, s)
		check(t, s.Close())
		s = opened(t, c)
		lived(t, s)
		if outcome := register(t, s, 2); outcome != Again {
			t.Error("a plan was registered twice")
		}
	})
}

// Where nobody knows whether a spending was written, who asks again finds it: it is charged once.
func TestASpendingIsNeverAppendedTwice(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		point := ""
		lost := fmt.Errorf("%w: lost", keep.ErrUnavailable)
		c.Failpoint = func(name string) error {
			if name == point {
				return lost
			}
			return nil
		}
		s := opened(t, c)
		for i, at := range []string{"rows/register", "rows/register/committed"} {
			point = at
			p := Plan{Name: name(i), Registered: moment, Spending: spending(i)}
			charge := func(Before) (Spending, error) { return spending(i), nil }
			if _, err := s.Register(t.Context(), p, Round{}, []byte("plan"), charge); !errors.Is(err, keep.ErrUnavailable) {
				t.Fatal(err)
			}
			point = ""
			// A context that ends while the write is under way says no more.
			ctx, cancel := context.WithCancel(t.Context())
			s.Register(ctx, p, Round{}, []byte("plan"), func(Before) (Spending, error) { cancel(); return spending(i), nil })
			for range 3 {
				if _, err := s.Register(t.Context(), p, Round{}, []byte("plan"), charge); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if spent, err := s.Spendings(t.Context(), "all"); len(spent) != i+1 || err != nil {
				t.Errorf("%s: %d spendings, %v", at, len(spent), err)
			}
		}
		check(t, s.CheckLedger(t.Context()))
	})
}

// No batch comes behind a closing, from whatever process, and none twice.
func TestBatchesAreCountedOnceAndBeforeTheClosing(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		s := opened(t, c)
		ctx := t.Context()
		if _, err := s.Count(ctx, batch(7, 0), nil); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		register(t, s, 0)
		if o, err := s.Count(ctx, batch(0, 0), []byte("t")); o != New || err != nil {
			t.Error(o, err)
		}
		if o, err := s.Count(ctx, batch(0, 0), []byte("t")); o != Again || err != nil {
			t.Error(o, err)
		}
		other := batch(0, 0)
		other.SHA256[0]++
		if _, err := s.Count(ctx, other, []byte("t")); !errors.Is(err, ErrTaken) {
			t.Error(err)
		}
		// The shelf is sealed, and main does not know it yet.
		check(t, s.seal(ctx, name(0)))
		if _, err := s.Count(ctx, batch(0, 1), []byte("t")); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if o, err := s.CloseCollection(ctx, name(0), "operator", moment); o != New || err != nil {
			t.Error(o, err)
		}
		if o, err := s.Decide(ctx, name(0), Verdict{Reason: "too few", At: moment}); o != New || err != nil {
			t.Error(o, err)
		}
		if o, err := s.Decide(ctx, name(0), Verdict{Files: map[string][]byte{"json": nil}, At: moment}); o != Again || err != nil {
			t.Error(o, err)
		}
	})
}

// What has expired is dropped with its shelf, also where a crash came between the row that says so
// and the drop.
func TestWhatExpiresIsDropped(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		point := ""
		c.Failpoint = func(name string) error {
			if name == point {
				return errors.New("a crash")
			}
			return nil
		}
		s := opened(t, c)
		life(t, s)
		if n, err := s.Expire(t.Context(), moment); n != 0 || err != nil {
			t.Error(n, err)
		}
		point = "rows/expire/committed"
		if _, err := s.Expire(t.Context(), moment.Add(time.Second)); err == nil {
			t.Error("no crash")
		}
		point = ""
		check(t, s.Close())
		s = opened(t, c)
		names, err := s.store.List(t.Context())
		check(t, err)
		if len(names) != 1 || names[0] != shelfPrefix+name(1) {
			t.Errorf("shelves: %q", names)
		}
		if all, err := s.Batches(t.Context(), name(0)); len(all) != 0 || err != nil {
			t.Error(all, err)
		}
		if _, _, err := s.Release(t.Context(), name(0), "csv"); err != nil {
			t.Error(err)
		}
		if _, err := s.Count(t.Context(), batch(0, 5), nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		check(t, s.Check(t.Context()))
	})
}

// A withdrawn plan leaves nothing that was counted, and no verdict but its own.
func TestAWithdrawnPlanIsDropped(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		s := opened(t, c)
		life(t, s)
		for range 2 {
			check(t, s.Withdraw(t.Context(), name(1), []byte("statement"), "withdrawn", moment))
		}
		p, err := s.Plan(t.Context(), name(1))
		if err != nil || !p.Withdrawn || p.Released || p.Reason != "withdrawn" || p.Closed.IsZero() {
			t.Errorf("%+v, %v", p, err)
		}
		if _, there, err := s.Digest(t.Context(), name(1), 0, 0); there || err != nil {
			t.Error("a batch is left", err)
		}
		if _, err := s.Count(t.Context(), batch(1, 5), nil); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		check(t, s.Withdraw(t.Context(), name(77), []byte("statement"), "withdrawn", moment))
		check(t, s.Withdraw(t.Context(), name(0), []byte("statement"), "withdrawn", moment))
		if p, err := s.Plan(t.Context(), name(0)); err != nil || !p.Released || !p.Withdrawn {
			t.Errorf("a release that is out was taken back: %+v, %v", p, err)
		}
	})
}

// A folder without a store is the first of a service whose keys are young, or of one that says so; never of one whose
// ledger is known.
func TestAFolderIsBegunOnce(t *testing.T) {
	keys := t.TempDir()
	check(t, keyfile.Create(filepath.Join(keys, "a.json"), keyfile.File{Suite: "x25519"}))
	c := Config{DSN: filepath.Join(t.TempDir(), "shelves"), Keys: keys}
	begin := func(fresh bool) error {
		c.Begin.New = fresh
		s, err := Open(t.Context(), c)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	check(t, begin(false))
	if err := begin(true); !errors.Is(err, keep.ErrExists) {
		t.Errorf("--new over a store: %v", err)
	}
	check(t, os.RemoveAll(c.DSN))
	if err := begin(false); !errors.Is(err, keep.ErrMissing) {
		t.Errorf("lost: %v", err)
	}
	check(t, begin(true))
	c.Begin.New = false
	s := opened(t, c)
	register(t, s, 1)
	check(t, s.Close())
	check(t, os.RemoveAll(c.DSN))
	for _, fresh := range []bool{false, true} {
		if err := begin(fresh); !errors.Is(err, ErrLedger) {
			t.Errorf("lost with a ledger that is known, --new %t: %v", fresh, err)
		}
	}
	if _, err := os.Stat(filepath.Join(c.DSN, "main.rows")); err == nil {
		t.Error("a store was made")
	}
}

// What an earlier version kept is refused by name, with the way out.
func TestEarlierDatabasesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backup.db")
	check(t, os.WriteFile(path, []byte("SQLite format 3\x00and what follows"), 0o600))
	if _, err := Open(t.Context(), Config{DSN: path}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "earlier version") {
		t.Error(err)
	}
	if err := Restore(t.Context(), Config{DSN: filepath.Join(t.TempDir(), "shelves")}, path); err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "text")
	check(t, os.WriteFile(other, []byte("text"), 0o600))
	if _, err := Open(t.Context(), Config{DSN: other}); err == nil || !strings.Contains(err.Error(), "name a folder") {
		t.Error(err)
	}
}

// What a spending is written as, and the chain behind it, is the same for ever.
func TestTheFormOfTheLedger(t *testing.T) {
	b := spending(0)
	b.Spent = moment
	row, end, err := b.next(hashchain.Begin(ledgerTitle))
	check(t, err)
	const want = `{"plan":"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9","population":"all","publisher":"Research","epsilon":0.1,"delta":1e-7,"adjacency":"replacement","shift":0.01,"tail":1e-9,"dominated":"replacement","users":100,"method":"m","spent":"2026-11-24T12:00:00Z"}`
	if string(row[hashchain.Head:]) != want || end.Digest != sha256.Sum256(row) {
		t.Errorf("%s", row[hashchain.Head:])
	}
}
