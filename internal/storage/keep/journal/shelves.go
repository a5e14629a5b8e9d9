package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// entry locks a name and returns its entry.
func (s *Store) entry(ctx context.Context, name string) (*entry, error) {
	if err := keep.CheckName(name); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, unavailable(ctx)
	}
	s.mu.Lock()
	e := s.entries[name]
	if e == nil && !s.closed {
		e = &entry{}
		s.entries[name] = e
	}
	s.mu.Unlock()
	if e == nil {
		return nil, errClosed
	}
	e.mu.Lock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	return e, nil
}

// state returns what main says of a shelf.
func (s *Store) state(name string) (state, error) {
	o, found, err := s.main.read(own, stateKey+name)
	if err != nil || !found {
		return unknown, err
	}
	if len(o.value) != 1 || o.value[0] < byte(begun) || o.value[0] > byte(dropped) {
		return unknown, fmt.Errorf("%w: %s says of %s what no version wrote", keep.ErrDamaged, keep.Main+rowsFile, name)
	}
	return state(o.value[0]), nil
}

// mark writes on main what becomes of a shelf's files.
func (s *Store) mark(name string, st state) error {
	return s.main.update(context.Background(), func(t *tx) error {
		t.set(op{t: own, kind: put, key: stateKey + name, value: []byte{byte(st)}})
		return nil
	})
}

// Create implements keep.Store.
func (s *Store) Create(ctx context.Context, name string) (keep.Shelf, error) {
	if name == keep.Main {
		return nil, fmt.Errorf("%w: %s is made with the store", keep.ErrExists, name)
	}
	e, err := s.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	st, err := s.state(name)
	switch {
	case err != nil:
		return nil, err
	case st == there:
		return nil, fmt.Errorf("%w: %s", keep.ErrExists, name)
	case st == dropped:
		return nil, fmt.Errorf("%w: %s", keep.ErrDropped, name)
	case st == unknown:
		if err := s.mark(name, begun); err != nil {
			return nil, err
		}
	}
	if err := makeFiles(s.disk, name); err != nil {
		return nil, explain(err)
	}
	if err := s.mark(name, there); err != nil {
		return nil, err
	}
	return s.open(ctx, e, name, false)
}

func (s *Store) open(ctx context.Context, e *entry, name string, aside bool) (keep.Shelf, error) {
	shelf, err := openShelf(ctx, s.disk, name, s.o, aside)
	if err != nil {
		return nil, err
	}
	e.shelf = shelf
	return shelf, nil
}

// Open implements keep.Store.
func (s *Store) Open(ctx context.Context, name string) (keep.Shelf, error) {
	e, err := s.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if name == keep.Main {
		return s.main, nil
	}
	if err := s.isThere(name); err != nil {
		return nil, err
	}
	if e.shelf != nil {
		return e.shelf, nil
	}
	return s.open(ctx, e, name, false)
}

// isThere says why a shelf cannot be opened.
func (s *Store) isThere(name string) error {
	switch st, err := s.state(name); {
	case err != nil:
		return err
	case st == unknown || st == begun:
		return fmt.Errorf("%w: %s", keep.ErrMissing, name)
	case st == dropped:
		return fmt.Errorf("%w: %s", keep.ErrDropped, name)
	}
	return nil
}

// List implements keep.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	if err := s.main.ready(ctx); err != nil {
		return nil, err
	}
	keys, err := s.main.keys(own, stateKey)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range keys {
		name := strings.TrimPrefix(key, stateKey)
		st, err := s.state(name)
		if err != nil {
			return nil, err
		}
		if st == there {
			names = append(names, name)
		}
	}
	return names, nil
}

// Drop implements keep.Store.
func (s *Store) Drop(ctx context.Context, name string) error {
	if name == keep.Main {
		return fmt.Errorf("keep: the shelf %s is the store's, and not dropped", name)
	}
	e, err := s.entry(ctx, name)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	st, err := s.state(name)
	switch {
	case err != nil:
		return err
	case st == unknown || st == begun:
		return fmt.Errorf("%w: %s", keep.ErrMissing, name)
	case st == there:
		if err := s.mark(name, dropped); err != nil {
			return err
		}
	}
	if e.shelf != nil {
		e.shelf.close(keep.ErrDropped) // what it says of its files, nobody needs
		e.shelf = nil
	}
	return explain(finishDrop(s.disk, name))
}

// finishDrop deletes the files of a shelf. A crash between any two steps leaves what the next
// call finishes. When the key is gone nothing can be read any more.
func finishDrop(d disk, name string) error {
	if err := d.Rename(name+rowsFile, name+droppedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	if err := destroy(d, name+keyFile); err != nil {
		return err
	}
	for _, ending := range []string{checkEnding, newFile, droppedFile} {
		if err := remove(d, name+ending); err != nil {
			return err
		}
	}
	return d.Sync()
}

// destroy overwrites a small file and removes it.
func destroy(d disk, name string) error {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, info.Size()), 0)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return remove(d, name)
}

// Usage implements keep.Store.
func (s *Store) Usage(ctx context.Context) (used, free int64, err error) {
	if err := s.main.ready(ctx); err != nil {
		return 0, 0, err
	}
	files, err := s.disk.Files()
	if err != nil {
		return 0, 0, explain(err)
	}
	for _, size := range files {
		used += size
	}
	free, known := s.disk.Free()
	if !known {
		free = -1
	}
	return used, free, nil
}
