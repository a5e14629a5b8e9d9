package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
)

// Config says where the data rest.
type Config struct {
	// DSN is the path of a folder, which one process opens, or the URL of a PostgreSQL
	// database: postgres://user@host/database. In a database the store is made where there is none.
	DSN string
	// Ledger is a file on this machine's disk that says how far the budget ledger has
	// come; "": beside a folder its name and ".ledger", and none with PostgreSQL.
	Ledger string
	// Failpoint is called at named steps in tests of crashes. Its error ends what is being
	// done as a crash would. nil: none.
	Failpoint func(name string) error
	Log       *slog.Logger // nil: nobody is told

	// Keys and Begin are those of the service whose folder it is: shelves.Folder refuses one that
	// may have been lost. Without Keys the store is made in any folder that has none.
	Keys  string
	Begin serve.Begin
}

func (c Config) database() bool {
	return strings.HasPrefix(c.DSN, "postgres://") || strings.HasPrefix(c.DSN, "postgresql://")
}

// Open opens the store, and makes it where there is none, unless the ledger is known to have
// come further.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c, false)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open opens the store; filling lets one be filled that a restore, or an import, has left half
// full.
func open(ctx context.Context, c Config, fill bool) (s *Store, err error) {
	s = &Store{failpoint: c.Failpoint, end: c.Ledger, shelves: map[string]keep.Shelf{}, gone: map[string]bool{}, decided: map[string]Plan{}}
	if s.failpoint == nil {
		s.failpoint = func(string) error { return nil }
	}
	if c.database() {
		s.store, err = openDatabase(ctx, c.DSN)
	} else {
		s.end = cmp.Or(s.end, filepath.Clean(c.DSN)+".ledger")
		if fill {
			c.Keys = "" // a command fills what is empty
		}
		s.store, err = openFolder(c, !fill && s.known().Number > 0)
	}
	if err != nil {
		return nil, err
	}
	if !c.database() {
		s.disk = atomicfile.WatchDisk(c.DSN)
	}
	if s.main, err = shelves.Main(ctx, s.store, "analyzer"); err == nil {
		err = s.takeUp(ctx, fill)
	}
	if err != nil {
		s.store.Close()
		return nil, err
	}
	return s, nil
}

// takeUp finishes what a crash left, and refuses what was not filled to its end.
func (s *Store) takeUp(ctx context.Context, fill bool) error {
	what, filling, err := s.main.Get(ctx, ownTable, fillingKey)
	if err == nil && filling && !fill {
		err = fmt.Errorf("analyzer: %s was not finished: begin again with an empty folder, or database", what)
	}
	if err != nil {
		return err
	}
	if err := s.finishDrops(ctx); err != nil {
		return err
	}
	return s.mendEnd(ctx)
}

// openFolder opens the shelves in a folder, or makes them. Where a ledger was there they are never
// made.
func openFolder(c Config, spent bool) (s keep.Store, err error) {
	if c.DSN == "" {
		return nil, errors.New("analyzer: no database: give the path of a folder, or a postgres:// URL")
	}
	if err := shelves.Earlier(c.DSN); err != nil {
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	if c.Begin.Copy = c.Begin.Copy || spent; c.Keys == "" && !c.Begin.Copy {
		if err = journal.Create(c.DSN); errors.Is(err, keep.ErrExists) {
			err = nil
		}
	}
	if err == nil {
		// The check of each shelf is written with each write: a mark that goes with the last second
		// is a batch that is counted twice.
		s, err = shelves.Folder(c.DSN, serve.Common{Keys: c.Keys, Begin: c.Begin, Log: c.Log}, true)
	}
	switch {
	case spent && errors.Is(err, keep.ErrMissing):
		return nil, fmt.Errorf("%w: %s is empty", ErrLedger, c.DSN)
	case errors.Is(err, atomicfile.ErrLocked):
		return nil, fmt.Errorf("analyzer: %w: a folder is one process's: stop the other, or let several share a PostgreSQL database", err)
	case err != nil:
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	return s, nil
}

// openDatabase opens the shelves in a database, and makes them in one that has none. Values lie
// in the clear: an analyzer's are what it releases.
func openDatabase(ctx context.Context, url string) (keep.Store, error) {
	c := postgres.Config{URL: url, Plain: true}
	if err := postgres.Make(ctx, c); err != nil && !errors.Is(err, keep.ErrExists) {
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	s, err := postgres.Open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	return s, nil
}

// OpenCopy opens a copy of a folder, while its service may run, or the database itself, for who
// reads it as a start does. done closes it and removes the copy.
func OpenCopy(ctx context.Context, c Config) (s *Store, done func() error, err error) {
	if c.database() {
		s, err = open(ctx, c, false)
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	if err := shelves.Earlier(c.DSN); err != nil {
		return nil, nil, fmt.Errorf("analyzer: %w", err)
	}
	if _, err := os.Stat(c.DSN); err != nil {
		return nil, nil, err // or an empty one would be made, which is whole
	}
	copied, remove, err := journal.Copy(c.DSN)
	if err != nil {
		return nil, nil, fmt.Errorf("analyzer: %w", err)
	}
	ledger := cmp.Or(c.Ledger, filepath.Clean(c.DSN)+".ledger")
	c.DSN, c.Ledger, c.Begin.Copy = copied, copied+".ledger", true
	if text, failed := os.ReadFile(ledger); failed == nil {
		err = os.WriteFile(c.Ledger, text, 0o600)
	} else if !errors.Is(failed, fs.ErrNotExist) {
		err = failed
	}
	if err == nil {
		s, err = open(ctx, c, false)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return s, func() error { return errors.Join(s.Close(), remove()) }, nil
}
