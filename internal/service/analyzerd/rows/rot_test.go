package rows

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

var flips = flag.Int("rows.flips", 20, "bits that flip in each file, and in each table of a database")

// little has a row in each table.
func little(t testing.TB, s *Store) {
	t.Helper()
	ctx := t.Context()
	for i := range 3 {
		register(t, s, i)
		_, err := s.Count(ctx, batch(i, 0), fmt.Appendf(nil, "tally %d", i))
		check(t, err)
	}
	round := Round{Study: name(50), Number: 1}
	_, err := s.Register(ctx, Plan{Name: name(3), Registered: moment, Spending: spending(3)}, round, []byte("round"), func(Before) (Spending, error) { return spending(3), nil })
	check(t, err)
	check(t, s.Resign(ctx, name(1), []byte("signed anew")))
	b := batch(1, 1)
	_, err = s.Begin(ctx, b, "attempt", moment, shortly)
	check(t, err)
	check(t, s.Share(ctx, b, "attempt", 2))
	sh, there, err := s.Lease(ctx, moment.AddDate(10, 0, 0), shortly)
	if err != nil || !there {
		t.Fatal(there, err)
	}
	_, err = s.CountShard(ctx, sh, ShardCount{Opened: 1, Tally: []byte("shard")})
	check(t, err)
	_, err = s.CloseCollection(ctx, name(0), "operator", moment)
	check(t, err)
	_, err = s.Decide(ctx, name(0), Verdict{Files: map[string][]byte{"json": []byte("{}")}, At: moment})
	check(t, err)
	_, err = s.Follow(ctx, name(0), Next{Reason: "over", Written: moment}, []byte("state"))
	check(t, err)
	check(t, s.Announced(ctx, name(0), moment))
	check(t, s.Withdraw(ctx, name(2), []byte("statement"), "withdrawn", moment))
}

const shortly = 1e9

// all is everything that a store says, or why it says nothing.
func all(t testing.TB, s *Store) (string, error) {
	ctx := t.Context()
	if err := s.Check(ctx); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := s.dump(ctx, &b); err != nil {
		return "", err
	}
	shared, err := s.Shared(ctx, batch(1, 1))
	if err == nil {
		fmt.Fprintf(&b, "%+v", shared)
		err = s.ShardCounts(ctx, batch(1, 1), "attempt", func(c ShardCount) error { fmt.Fprintf(&b, "%+v", c); return nil })
	}
	if err == nil {
		var attempt string
		attempt, err = s.Attempt(ctx, batch(1, 1))
		b.WriteString(attempt)
	}
	for _, f := range []string{name(0), name(1), name(2), name(3)} {
		var p Plan
		if p, err = s.Plan(ctx, f); err != nil {
			break
		}
		fmt.Fprintf(&b, "%+v", p)
	}
	return b.String(), err
}

// judge fails the test where a store says something else than it was told, and no word of damage.
// It reports whether damage was named.
func judge(t testing.TB, what, want string, s *Store, err error) (named bool) {
	t.Helper()
	got := ""
	if err == nil {
		got, err = all(t, s)
	}
	switch {
	case errors.Is(err, keep.ErrDamaged) || errors.Is(err, ErrLedger):
		return true
	case err != nil:
		t.Errorf("%s: refused, and not by name: %v", what, err)
	case got != want:
		t.Errorf("%s: another state, without a word", what)
	}
	return false
}

// A bit that flips in any file of an analyzer's folder is found and named, or does no harm,
// whether the folder is open or not.
func TestAFlippedBitInAFolder(t *testing.T) {
	c := databases["folder"](t)
	s := opened(t, c)
	little(t, s)
	want, err := all(t, s)
	check(t, err)
	check(t, s.Close())
	whole := map[string][]byte{}
	check(t, filepath.WalkDir(filepath.Dir(c.DSN), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			whole[path], err = os.ReadFile(path)
		}
		return err
	}))
	named := map[string]int{}
	r := rand.New(rand.NewPCG(1, 1))
	for path, text := range whole {
		for range *flips {
			at := r.IntN(len(text))
			spoilt := bytes.Clone(text)
			spoilt[at] ^= 1 << r.IntN(8)
			what := fmt.Sprintf("%s, byte %d of %d", filepath.Base(path), at, len(text))

			s, err := Open(t.Context(), c) // it flips in a file that is open
			check(t, err)
			overwrite(t, path, spoilt)
			if judge(t, what+", open", want, s, nil) {
				named[filepath.Ext(path)+" open"]++
			}
			s.Close()

			restore(t, whole)
			overwrite(t, path, spoilt)
			s, err = Open(t.Context(), c)
			if judge(t, what+", closed", want, s, err) {
				named[filepath.Ext(path)+" closed"]++
			}
			if err == nil {
				s.Close()
			}
			restore(t, whole)
		}
	}
	t.Log(named)
	for _, must := range []string{".rows open", ".rows closed", ".key closed"} {
		if named[must] == 0 {
			t.Errorf("nothing was named of %s", must)
		}
	}
}

// overwrite writes to a file that may be open.
func overwrite(t testing.TB, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt(text, 0)
	check(t, errors.Join(err, f.Truncate(int64(len(text))), f.Close()))
}

func restore(t testing.TB, whole map[string][]byte) {
	t.Helper()
	for path, text := range whole {
		overwrite(t, path, text)
	}
}

// A bit that flips in a row of any table of an analyzer's database is found and named.
func TestAFlippedBitInADatabase(t *testing.T) {
	c := databases["postgres"](t)
	s := opened(t, c)
	little(t, s)
	want, err := all(t, s)
	check(t, err)
	flipped := postgrestest.Flips(t, c.DSN, *flips, rand.New(rand.NewPCG(1, 1)), func(f postgrestest.Flip) {
		if !judge(t, f.What+", open", want, s, nil) {
			t.Errorf("%s: nothing was said", f.What)
		}
	})
	for n := 1; n <= int(numberedTable); n++ {
		if flipped["main"][n]+flipped["others"][n] == 0 {
			t.Errorf("no row of table %d", n)
		}
	}
	judge(t, "mended", want, s, nil)
}
