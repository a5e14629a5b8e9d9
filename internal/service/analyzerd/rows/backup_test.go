package rows

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A backup of either engine is restored into either, while the service goes on.
func TestABackupIsRestoredIntoEitherEngine(t *testing.T) {
	for from, first := range databases {
		for to, second := range databases {
			t.Run(from+" to "+to, func(t *testing.T) {
				c := first(t)
				s := opened(t, c)
				life(t, s)
				path := filepath.Join(t.TempDir(), "backup.rows")
				copied, done, err := OpenCopy(t.Context(), c) // as the command does
				check(t, err)
				check(t, copied.Backup(t.Context(), path))
				check(t, done())
				if err := s.Backup(t.Context(), path); err == nil || !strings.Contains(err.Error(), "never replaces one") {
					t.Errorf("a second backup: %v", err)
				}
				lived(t, s)
				c = second(t)
				check(t, Restore(t.Context(), c, path))
				s = opened(t, c)
				lived(t, s)
				if _, err := s.Count(t.Context(), batch(0, 5), nil); !errors.Is(err, ErrClosed) {
					t.Errorf("a batch came behind the closing: %v", err)
				}
				check(t, s.Close())
				if err := Restore(t.Context(), c, path); err == nil || !strings.Contains(err.Error(), "restore into an empty one") {
					t.Errorf("a second restore: %v", err)
				}
			})
		}
	}
}

// A plan that closes, and is counted, while its analyzer is backed up has all its batches in the
// backup: no result is without what it was made of.
func TestABackupHasWhatItsVerdictsAreMadeOf(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		s := opened(t, c)
		life(t, s)
		path := filepath.Join(t.TempDir(), "backup.rows")
		// The shelf of plan 2 is dumped last of all plans: what comes meanwhile comes to plan 1.
		meanwhile := func() {
			if o, err := s.Count(t.Context(), batch(1, 7), []byte("late")); o != New || err != nil {
				t.Error(o, err)
			}
			if o, err := s.CloseCollection(t.Context(), name(1), "operator", moment); o != New || err != nil {
				t.Error(o, err)
			}
		}
		main := s.main
		s.main = &before{Shelf: main, do: func() { s.main = main; meanwhile() }}
		check(t, s.Backup(t.Context(), path))
		c = databases["folder"](t)
		check(t, Restore(t.Context(), c, path))
		r := opened(t, c)
		all, err := r.Batches(t.Context(), name(1))
		if len(all) != 3 || err != nil {
			t.Errorf("%d batches, %v", len(all), err)
		}
		if p, err := r.Plan(t.Context(), name(1)); err != nil || p.Closed.IsZero() {
			t.Error("the closing is missing", err)
		}
	})
}

// A restore that is not finished is not opened.
func TestAHalfRestoreIsNotOpened(t *testing.T) {
	both(t, func(t *testing.T, c Config) {
		from := databases["folder"](t)
		s := opened(t, from)
		life(t, s)
		path := filepath.Join(t.TempDir(), "backup.rows")
		check(t, s.Backup(t.Context(), path))
		c.Failpoint = func(name string) error {
			if name == "rows/restore" {
				return errors.New("a crash")
			}
			return nil
		}
		if err := Restore(t.Context(), c, path); err == nil {
			t.Fatal("no crash")
		}
		c.Failpoint = nil
		if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "a restore was not finished") {
			t.Errorf("half a restore was opened: %v", err)
		}
	})
}

// A backup of which a bit has flipped, or the end is missing, is refused before anything is made.
func TestASpoiltBackupIsRefused(t *testing.T) {
	s := opened(t, databases["folder"](t))
	register(t, s, 0)
	_, err := s.Count(t.Context(), batch(0, 0), []byte("tally"))
	check(t, err)
	path := filepath.Join(t.TempDir(), "backup.rows")
	check(t, s.Backup(t.Context(), path))
	whole, err := os.ReadFile(path)
	check(t, err)
	spoilt := filepath.Join(t.TempDir(), "spoilt.rows")
	into := databases["folder"](t)
	r := rand.New(rand.NewPCG(1, 1))
	for at := range whole {
		b := append([]byte{}, whole...)
		b[at] ^= 1 << r.IntN(8)
		check(t, os.WriteFile(spoilt, b, 0o600))
		if err := Restore(t.Context(), into, spoilt); err == nil {
			t.Fatalf("byte %d of %d has changed, and nobody noticed", at, len(whole))
		}
		check(t, os.WriteFile(spoilt, whole[:at], 0o600))
		if err := Restore(t.Context(), into, spoilt); err == nil {
			t.Fatalf("%d bytes of %d were restored", at, len(whole))
		}
	}
	if _, err := os.Stat(into.DSN); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	check(t, Restore(t.Context(), into, path))
}

func FuzzRestore(f *testing.F) {
	path := filepath.Join(f.TempDir(), "backup.rows")
	f.Add([]byte(backupTitle + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		check(t, os.WriteFile(path, text, 0o600))
		costlimit.Heap(t, costlimit.Factor, len(text)+1<<20, func() { readBackup(path, row.check) }) // it reads by the MiB
	})
}

// before is a shelf on which something happens before the first Update.
type before struct {
	keep.Shelf
	do func()
}

func (b *before) Update(ctx context.Context, fn func(keep.Tx) error) error {
	b.do()
	return b.Shelf.Update(ctx, fn)
}
