package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/storage/store/storetest"
)

func TestMain(m *testing.M) {
	code := storetest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// both runs a test on each kind of database. dsn gives the same empty database
// every time it is called for one name.
func both(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "with space & 100%?.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, storetest.Postgres(t))
	})
}

func open(t testing.TB, dsn string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var now = time.Date(2026, 11, 21, 3, 0, 0, 123456000, time.UTC)

func samplePlan(name string) Plan {
	return Plan{Name: name, Registered: now, Spending: Spending{
		Population: "residents", Publisher: "Research", Epsilon: 0.1 + 0.2, Delta: 1e-300, Adjacency: "replacement", Users: 400, Method: "exact", Note: "é",
		Shift: 0.1 + 0.7, Tail: 1e-12, Dominated: "removal",
	}}
}

func signedOf(p Plan) []byte { return []byte("signed \x00" + p.Name) }

// asked is a price that every budget allows.
func asked(p Plan) func(Before) (Spending, error) {
	return func(Before) (Spending, error) { return p.Spending, nil }
}

func register(t testing.TB, s *Store, p Plan) {
	t.Helper()
	if o, err := s.Register(t.Context(), p, Round{}, signedOf(p), asked(p)); o != New {
		t.Fatal(o, err)
	}
}

func sampleBatch(plan string, instance, crowd int) Batch {
	return Batch{Plan: plan, Instance: instance, Crowd: crowd, SHA256: [32]byte{byte(instance), byte(crowd), 0xff}, Receipts: []byte{1, 0, 2},
		Respondents: 100, Smallest: 99, Dropped: 3, Counted: now.Add(time.Minute)}
}

// counted is the encoding of a tally of several parts.
func counted(seed uint64) []byte {
	b := make([]byte, 2*partLength+17)
	for i := range b {
		b[i] = byte((uint64(i) * seed) >> (i % 60))
	}
	return b
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := open(t, dsn), t.Context()
		p := samplePlan("aa")
		register(t, s, p)
		p.Spending.Plan, p.Spending.Spent = "aa", now
		got, err := s.Plan(ctx, "aa")
		if diff := cmp.Diff(p, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		b, n := sampleBatch("aa", 1, 2), counted(0x9e3779b97f4a7c15)
		if o, err := s.Count(ctx, b, n); o != New {
			t.Fatal(o, err)
		}
		batches, err := s.Batches(ctx, "aa")
		if diff := cmp.Diff([]Batch{b}, batches); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		if tally, err := s.Tally(ctx, b); err != nil || !bytes.Equal(n, tally) {
			t.Fatal("another tally came back", err)
		}
		if o, err := s.CloseCollection(ctx, "aa", "clock", now.Add(time.Hour)); o != New {
			t.Fatal(o, err)
		}
		v := Verdict{Files: map[string][]byte{"json": []byte("{}"), "csv": {0}, "html": []byte("<p>")}, At: now.Add(2 * time.Hour)}
		if o, err := s.Decide(ctx, "aa", v); o != New {
			t.Fatal(o, err)
		}
		p.Closed, p.Closer, p.Decided, p.Released = now.Add(time.Hour), "clock", now.Add(2*time.Hour), true
		if signed, err := s.Signed(ctx, "aa"); string(signed) != string(signedOf(p)) || err != nil {
			t.Errorf("signed: %q, %v", signed, err)
		}
		if _, err := s.Signed(ctx, "bb"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		plans, err := s.Plans(ctx)
		if diff := cmp.Diff([]Plan{p}, plans); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		for format, want := range v.Files {
			if body, _, err := s.Release(ctx, "aa", format); err != nil || string(body) != string(want) {
				t.Errorf("%s: %q, %v", format, body, err)
			}
		}
		if _, _, err := s.Release(ctx, "aa", "pdf"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := s.Plan(ctx, "bb"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	})
}

func TestABatchIsCountedOnce(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := open(t, dsn), t.Context()
		b := sampleBatch("aa", 0, 0)
		if _, err := s.Count(ctx, b, []byte{1}); !errors.Is(err, ErrUnknown) {
			t.Error("a plan that is not registered takes batches:", err)
		}
		register(t, s, samplePlan("aa"))
		if o, err := s.Count(ctx, b, []byte{1}); o != New {
			t.Fatal(o, err)
		}
		if o, err := s.Count(ctx, b, []byte{2}); o != Again || err != nil {
			t.Error(o, err)
		}
		other := b
		other.SHA256[5] ^= 1
		if o, err := s.Count(ctx, other, []byte{2}); o != Failed || !errors.Is(err, ErrTaken) {
			t.Error(o, err)
		}
		if _, err := s.CloseCollection(ctx, "aa", "operator", now); err != nil {
			t.Fatal(err)
		}
		if o, err := s.CloseCollection(ctx, "aa", "clock", now); o != Again || err != nil {
			t.Error(o, err)
		}
		if o, err := s.Count(ctx, b, []byte{2}); o != Again || err != nil {
			t.Error("a retry of what was counted, after closing:", o, err)
		}
		if o, err := s.Taken(ctx, sampleBatch("aa", 1, 0)); o != Failed || !errors.Is(err, ErrClosed) {
			t.Error(o, err)
		}
		if o, err := s.Count(ctx, sampleBatch("aa", 1, 0), []byte{2}); o != Failed || !errors.Is(err, ErrClosed) {
			t.Error(o, err)
		}
		if tally, err := s.Tally(ctx, b); err != nil || !bytes.Equal(tally, []byte{1}) {
			t.Error(tally, err)
		}
	})
}

// Of many that write the same place at once one wins, and all hear the truth.
func TestWritersTakeTurns(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, second := open(t, dsn), open(t, dsn)
		register(t, s, samplePlan("aa"))
		const writers = 12
		type result struct {
			outcome Outcome
			err     error
		}
		results := make(chan result, writers)
		for w := range writers {
			go func() {
				b, db := sampleBatch("aa", 0, 0), s
				b.SHA256[9] = byte(w / 2 % 3) // three different batches, each several times
				if w%2 == 1 {
					db = second
				}
				o, err := db.Count(t.Context(), b, []byte{byte(w / 2 % 3)})
				results <- result{o, err}
			}()
		}
		var fresh, again, taken int
		for range writers {
			switch r := <-results; {
			case r.outcome == New:
				fresh++
			case r.outcome == Again:
				again++
			case errors.Is(r.err, ErrTaken):
				taken++
			default:
				t.Error(r.err)
			}
		}
		if fresh != 1 || again != 3 || taken != 8 {
			t.Errorf("%d new, %d again, %d refused", fresh, again, taken)
		}
	})
}

// Nothing can be spent between the check and the write.
func TestTheLedgerIsNotOverspentByTwoAtOnce(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s := open(t, dsn)
		over := errors.New("over")
		results := make(chan error, 6)
		for i := range cap(results) {
			go func() {
				p := samplePlan(strings.Repeat("a", i+1))
				p.Spending.Epsilon = 1
				_, err := s.Register(t.Context(), p, Round{}, signedOf(p), func(b Before) (Spending, error) {
					if len(b.Spent) >= 2 {
						return Spending{}, over
					}
					return p.Spending, nil
				})
				results <- err
			}()
		}
		refused := 0
		for range cap(results) {
			if err := <-results; errors.Is(err, over) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		spent, err := s.Spendings(t.Context(), "residents")
		if err != nil || len(spent) != 2 || refused != 4 {
			t.Errorf("%d spendings, %d refused, %v", len(spent), refused, err)
		}
		p := samplePlan(spent[0].Plan)
		if o, err := s.Register(t.Context(), p, Round{}, signedOf(p), func(Before) (Spending, error) { return Spending{}, over }); o != Again {
			t.Error("the same plan again:", o, err)
		}
		if o, err := s.Register(t.Context(), p, Round{}, []byte("another"), asked(p)); o != Failed || !errors.Is(err, ErrTaken) {
			t.Error(o, err)
		}
	})
}

func TestTheDatabaseRefusesToChangeWhatIsPublished(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s := filled(t, dsn)
		for _, table := range tables {
			column := table.columns[len(table.columns)-1]
			if _, err := s.writer.Exec("UPDATE " + table.name + " SET " + column + " = " + column); err == nil || !strings.Contains(err.Error(), "never updated") {
				t.Errorf("%s: %v", table.name, err)
			}
		}
		for _, table := range append([]string{"withdrawals", "signatures"}, lasting...) {
			if _, err := s.writer.Exec("DELETE FROM " + table); err == nil || !strings.Contains(err.Error(), "never deleted") {
				t.Errorf("%s: %v", table, err)
			}
			if _, err := s.writer.Exec("TRUNCATE " + table + " CASCADE"); err == nil {
				t.Errorf("%s was truncated", table)
			}
		}
		if _, err := s.writer.Exec("INSERT INTO releases (plan, format, sha256, body) SELECT plan, format, sha256, body FROM releases ON CONFLICT (plan, format) DO UPDATE SET body = 'x'"); err == nil {
			t.Error("a release was written over")
		}
	})
}

// filled is a store with a plan that was released and followed by a round with a
// state, one that was withheld, one that is open, and their batches.
func filled(t testing.TB, dsn string) *Store {
	t.Helper()
	s, ctx := open(t, dsn), t.Context()
	for i, name := range []string{"aa", "bb", "cc"} {
		p := samplePlan(name)
		p.Registered = now.Add(time.Duration(i) * time.Second)
		if o, err := s.Register(ctx, p, Round{"study", i + 1}, signedOf(p), asked(p)); o != New {
			t.Fatal(o, err)
		}
		for crowd := range 2 {
			if o, err := s.Count(ctx, sampleBatch(name, i, crowd), counted(uint64(crowd+1)<<50)); o != New {
				t.Fatal(o, err)
			}
		}
		if name == "cc" {
			break
		}
		if _, err := s.CloseCollection(ctx, name, "clock", now); err != nil {
			t.Fatal(err)
		}
		v := Verdict{Files: map[string][]byte{"json": []byte("{}")}, At: now.Add(time.Duration(i) * time.Hour)}
		if name == "bb" {
			v.Files, v.Reason = nil, "too few"
		}
		if o, err := s.Decide(ctx, name, v); o != New {
			t.Fatal(o, err)
		}
	}
	if err := errors.Join(s.KeepWithdrawal(ctx, "dd_1", []byte("early")), s.Resign(ctx, "cc", []byte("signed anew"))); err != nil {
		t.Fatal(err)
	}
	if o, err := s.Follow(ctx, "aa", Next{Signed: []byte("round 2"), Written: now}, []byte("a state")); o != New {
		t.Fatal(o, err)
	}
	if err := s.Announced(ctx, "aa", now); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecideIsFinal(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s, ctx := filled(t, dsn), t.Context()
		release := Verdict{Files: map[string][]byte{"json": []byte("other")}, At: now}
		if o, err := s.Decide(ctx, "aa", release); o != Again || err != nil {
			t.Error(o, err)
		}
		if o, err := s.Decide(ctx, "bb", release); o != Again || err != nil {
			t.Error(o, err)
		}
		if _, err := s.Decide(ctx, "cc", release); err == nil || !strings.Contains(err.Error(), "closed before") {
			t.Error(err)
		}
		for _, v := range []Verdict{{}, {Reason: "x", Files: release.Files}} {
			if _, err := s.Decide(ctx, "cc", v); err == nil {
				t.Error("neither a release nor a reason, or both")
			}
		}
		if body, _, err := s.Release(ctx, "aa", "json"); err != nil || string(body) != "{}" {
			t.Errorf("%q %v", body, err)
		}
		if _, _, err := s.Release(ctx, "bb", "json"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dsn := range map[string]string{
		"nothing": "", "a folder": t.TempDir(), "a file that is none": file, "a folder that is not there": filepath.Join(t.TempDir(), "x", "y.db"),
		"a bad URL": "postgres://user:hush@[host/db", "no server": "postgres://user:hush@127.0.0.1:1/db?connect_timeout=1",
	} {
		s, err := Open(t.Context(), Config{DSN: dsn})
		if err == nil {
			s.Close()
			t.Errorf("opened %s", name)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error tells the password", name)
		}
	}
}

func TestTheFileIsItsOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := filled(t, path)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// Every migration can be taken back, guards included.
func TestMigrationsGoBothWays(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		s := open(t, dsn)
		p, err := s.provider()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.DownTo(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		register(t, s, samplePlan("aa"))
	})
}
