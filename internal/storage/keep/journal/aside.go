package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// SetAside implements keep.Store: it goes on without groups in the middle or at the end, without the
// check, or without all rows where the file of rows or the key is lost. A shelf on which an Update
// has put or deleted a row is refused, since the row of before would come back.
func (s *Store) SetAside(ctx context.Context, name string) (keep.Shelf, error) {
	if name == keep.Main {
		return nil, fmt.Errorf("%w: %s says what is there, and nothing of it can be set aside", keep.ErrDamaged, name)
	}
	e, err := s.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if err := s.isThere(name); err != nil {
		return nil, err
	}
	if e.shelf != nil {
		e.shelf.close(fmt.Errorf("%w: what was damaged of the shelf %s was set aside", keep.ErrUnavailable, name)) // the check is read again
		e.shelf = nil
	}
	files, err := s.disk.Files()
	if err != nil {
		return nil, explain(err)
	}
	_, rows := files[name+rowsFile]
	_, err = readKey(s.disk, name)
	if !rows || errors.Is(err, keep.ErrDamaged) {
		err = empty(s.disk, name)
	}
	if err != nil {
		return nil, explain(err)
	}
	return s.open(ctx, e, name, true)
}

// Lost implements keep.Store.
func (s *Store) Lost(ctx context.Context, name string) (rows uint64, err error) {
	opened, err := s.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	shelf := opened.(*shelf)
	shelf.mu.RLock()
	defer shelf.mu.RUnlock()
	return max(shelf.known.Lost, uint64(min(len(shelf.known.Aside), 1))), nil
}

// empty makes the files of a shelf anew of which all rows are lost. Its check says how many
// they were, and whether it was sealed, if that can still be read.
func empty(d disk, name string) error {
	c, was, err := openCheck(d, name+checkEnding)
	if c != nil {
		c.close()
	}
	if err != nil && !errors.Is(err, keep.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if was.Updated {
		return errOlderRow
	}
	if err := makeFiles(d, name); err != nil {
		return err
	}
	c, err = makeCheck(d, name, check{Rows: was.Rows, Sealed: was.Sealed, Aside: []hashchain.Gap{{From: 1, To: 0}}})
	if err != nil {
		return err
	}
	return c.close()
}

// makeCheck writes a check over whatever is there.
func makeCheck(d disk, name string, says check) (*checkFile, error) {
	b, err := says.slot()
	if err == nil {
		err = remove(d, name+checkEnding)
	}
	if err == nil {
		err = write(d, name+checkEnding, append(b, b...))
	}
	if err == nil {
		err = d.Sync()
	}
	if err != nil {
		return nil, err
	}
	c, _, err := openCheck(d, name+checkEnding)
	return c, err
}

// aside lets a walk pass over everything, and takes note of it.
func (c *check) aside(g hashchain.Gap) error {
	if c.covers(g) {
		return nil
	}
	if c.Updated {
		return errOlderRow
	}
	c.Aside = append(c.Aside, g)
	return nil
}

var errOlderRow = fmt.Errorf("%w: an Update has changed rows of the shelf, and what they were before would come back: nothing can be set aside", keep.ErrDamaged)

// accepted lets a walk pass over what was set aside, and nothing else.
func (c *check) accepted() func(hashchain.Gap) error {
	if len(c.Aside) == 0 {
		return nil
	}
	known := check{Aside: slices.Clone(c.Aside)}
	return func(g hashchain.Gap) error {
		if known.covers(g) {
			return nil
		}
		return fmt.Errorf("%w: of the groups %d to %d nothing is left", hashchain.ErrDamaged, g.From, g.To)
	}
}
