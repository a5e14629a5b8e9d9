// Package rows keeps what a mixing hop must not forget on shelves: marks on main, and a key for each crowd. Used by
// internal/service/inbox and internal/service/shufflerd.
//
// A row of main is never a secret that must go: only a shelf that is dropped is forgotten. The
// key of a crowd is that of a shelf of its own.
package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/shuffler"
)

// Tables of main.
const (
	Plans     keep.Table = 1 // HASH -> signed plan
	Gone      keep.Table = 2 // HASH -> nothing: it was served, and is not again
	Withdrawn keep.Table = 3 // NAME -> statement
	Crowds    keep.Table = 4 // POST/CROWD -> mark
	Epochs    keep.Table = 5 // POST -> mark
	Rounds    keep.Table = 6 // STUDY/NUMBER -> HASH
	starts    keep.Table = 7 // reached -> nothing
)

// ErrChanged is the error of a Set whose row was changed, or made, by somebody else since it
// was read.
var ErrChanged = errors.New("shuffler: the row has changed meanwhile")

// Store is a hop's store with its main shelf. It is safe for concurrent use.
type Store struct {
	keep.Store
	main  keep.Shelf
	aside bool
	stuck atomic.Bool // the last write was not answered
}

// Open opens the main shelf of a store, and nobody closes the store but who gave it. With aside
// shelves are opened without what is damaged of them, for good.
func Open(ctx context.Context, s keep.Store, aside bool) (*Store, error) {
	main, err := shelves.Main(ctx, s, "hop")
	if err != nil {
		return nil, err
	}
	return &Store{Store: s, main: main, aside: aside}, nil
}

// Get returns a row.
func (s *Store) Get(ctx context.Context, t keep.Table, key string) (value []byte, there bool, err error) {
	return s.main.Get(ctx, t, key)
}

// Each calls fn for the rows whose keys begin with a prefix, by key.
func (s *Store) Each(ctx context.Context, t keep.Table, prefix string, fn func(key string, value []byte) error) error {
	return s.main.Each(ctx, t, prefix, fn)
}

// Set writes a row that still is what it was; nil: it was not there. Where it is what it is to
// be, as after a Set that was not answered, that is no error.
func (s *Store) Set(ctx context.Context, t keep.Table, key string, value, was []byte) error {
	return s.update(ctx, func(tx keep.Tx) error {
		is, there, err := tx.Get(t, key)
		switch {
		case err != nil:
			return err
		case there && bytes.Equal(is, value):
		case there != (was != nil) || !bytes.Equal(is, was):
			return ErrChanged
		}
		tx.Put(t, key, value)
		return nil
	})
}

// Settled returns a row of which a write was not answered. It is written once more, behind
// that write: what it returns holds.
func (s *Store) Settled(ctx context.Context, t keep.Table, key string) (value []byte, there bool, err error) {
	err = s.update(ctx, func(tx keep.Tx) (err error) {
		if value, there, err = tx.Get(t, key); err == nil && there {
			tx.Put(t, key, value)
		}
		return err
	})
	return value, there, err
}

// Delete takes rows away. What they said stays on the disk.
func (s *Store) Delete(ctx context.Context, t keep.Table, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return s.update(ctx, func(tx keep.Tx) error {
		for _, key := range keys {
			tx.Delete(t, key)
		}
		return nil
	})
}

// Reach writes a row of no meaning. What was read before is then wherever a write has to be: on
// a standby too, of which a process may have ended that waited for it.
func (s *Store) Reach(ctx context.Context) error {
	return s.update(ctx, func(tx keep.Tx) error {
		tx.Put(starts, "reached", nil)
		return nil
	})
}

func (s *Store) update(ctx context.Context, fn func(keep.Tx) error) error {
	err := s.main.Update(ctx, fn)
	if err == nil || errors.Is(err, keep.ErrUnavailable) && ctx.Err() == nil {
		s.stuck.Store(err != nil)
	}
	return err
}

// Shelf opens a shelf, or makes it if none of the name was ever made.
func (s *Store) Shelf(ctx context.Context, name string) (keep.Shelf, error) {
	shelf, err := s.Open(ctx, name)
	if errors.Is(err, keep.ErrMissing) {
		if shelf, err = s.Create(ctx, name); errors.Is(err, keep.ErrExists) { // another process was quicker
			shelf, err = s.Open(ctx, name)
		}
	}
	if s.aside && err == nil {
		err = shelf.Check(ctx) // an engine need not read everything to open
	}
	if s.aside && errors.Is(err, keep.ErrDamaged) {
		shelf, err = s.SetAside(ctx, name)
	}
	return shelf, err
}

// Forget drops a shelf; that none was made is no error.
func (s *Store) Forget(ctx context.Context, name string) error {
	if err := s.Drop(ctx, name); err != nil && !errors.Is(err, keep.ErrMissing) {
		return err
	}
	return nil
}

// CrowdShelf returns the name of the shelf that has the key of a crowd, and no rows.
func CrowdShelf(post string, crowd uint32) string {
	return fmt.Sprintf("%s%s-%d", crowdPrefix, post, crowd)
}

const crowdPrefix = "crowd-"

// CrowdOfShelf returns the number of the crowd of a post whose key a shelf has.
func CrowdOfShelf(name, post string) (number string, ours bool) {
	return strings.CutPrefix(name, crowdPrefix+post+"-")
}

// Key returns the key of a crowd for a purpose, and makes its shelf for a crowd of which
// nothing was here. Once the crowd has left it is keep.ErrDropped.
func (s *Store) Key(ctx context.Context, post string, crowd uint32, purpose string) (key shuffler.Key, err error) {
	shelf, err := s.Shelf(ctx, CrowdShelf(post, crowd))
	var secret []byte
	if err == nil {
		secret, err = shelf.Secret(ctx, purpose)
	}
	if err != nil {
		return key, fmt.Errorf("the key of crowd %d: %w", crowd+1, err)
	}
	return shuffler.Key(secret), nil
}

// SpentKey returns the key of tokens that were spent: it outlives the crowds.
func (s *Store) SpentKey(ctx context.Context) (key shuffler.Key, err error) {
	secret, err := s.main.Secret(ctx, "spent")
	if err == nil {
		key = shuffler.Key(secret)
	}
	return key, err
}
