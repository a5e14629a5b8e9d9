// Package journal keeps shelves in a folder of one process, each in a chain of groups of rows with an index in memory.
// Used by internal/service/shelves.
//
// The folder holds, of each shelf,
//
//	NAME.rows     the chain (package hashchain): title, then groups
//	NAME.key      32 bytes, from which all keys of the shelf come; Drop overwrites it
//	NAME.check    how far the chain had come, whether it is sealed, and what was set aside
//	NAME.dropped  rows of a shelf that is being deleted
//	lock          held by the kernel for the one process
//
// What is there is written on the shelf main, each time before its files change: "begun",
// "there" and "dropped". A shelf that is there and has no files is damage.
//
// The chain, the tags of rows and the check are against rot and crashes. Who writes to the
// folder has the keys beside the rows, and can make another chain.
package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Options are what a store is opened with.
type Options struct {
	Log *slog.Logger // nil: nobody is told

	// Prompt puts the check of every shelf on disk before a write returns, as that of main
	// always is. Else it is a second late, and what rots at the end of a shelf meanwhile cannot
	// be told from what a crash has torn.
	Prompt bool

	// Alone says that no other process opens the folder, where the system has no lock by which
	// the store could see to that.
	Alone bool

	leastDead, mostMoved int64
}

func (o *Options) fill() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.leastDead == 0 {
		o.leastDead = leastDead
	}
	if o.mostMoved == 0 {
		o.mostMoved = mostMoved
	}
}

// Store is a folder that is open. It implements keep.Store.
type Store struct {
	disk disk
	o    Options
	lock io.Closer
	main *shelf

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry
}

// entry is a shelf's name. Its lock is held while the shelf is made, opened or dropped.
type entry struct {
	mu    sync.Mutex
	shelf *shelf // that is open
}

// state says of a shelf what becomes of its files. Its row is on main before they change.
type state byte

// These numbers are on disk.
const (
	unknown state = 0 // no such row
	begun   state = 1
	there   state = 2
	dropped state = 3
)

const stateKey = "shelf/"

// Create makes a store in a folder, which it makes too. A folder that holds one is refused.
func Create(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	lock, err := atomicfile.Lock(path)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return errors.Join(create(folder(path)), lock.Close())
}

// create makes the shelf main. Its rows get their name last: a crash before leaves a folder
// without a store.
func create(d disk) error {
	files, err := d.Files()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, there := files[keep.Main+rowsFile]; there {
		return fmt.Errorf("%w: the folder holds a store already", keep.ErrExists)
	}
	if err := mainLost(d, files); err != nil {
		return err
	}
	if err := makeFiles(d, keep.Main); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// makeFiles makes the files of a shelf, the rows last and whole, over what an earlier try
// has left.
func makeFiles(d disk, name string) error {
	for _, ending := range []string{newFile, rowsFile, keyFile, checkEnding, droppedFile} {
		if err := remove(d, name+ending); err != nil {
			return err
		}
	}
	text := drawKey()
	key, _ := parseKey(text)
	title := layoutOf(name, secret{func() []byte { return key }}).Begin(hashchain.Point{})
	if err := write(d, name+keyFile, text); err != nil {
		return err
	}
	if err := write(d, name+checkEnding, newCheck()); err != nil {
		return err
	}
	if err := write(d, name+newFile, title); err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	if err := d.Rename(name+newFile, name+rowsFile); err != nil {
		return err
	}
	return d.Sync()
}

// Open opens the store in a folder, which Create has made, and finishes what a crash has
// left of a Drop.
func Open(path string, o Options) (*Store, error) {
	if err := alone(atomicfile.Locks, o.Alone); err != nil {
		return nil, err
	}
	lock, err := atomicfile.Lock(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s holds no store", keep.ErrMissing, path)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s, err := open(folder(path), o)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Clean(path), err)
	}
	s.lock = lock
	return s, nil
}

// alone refuses a folder that another process could have, too.
func alone(locks, said bool) error {
	if locks || said {
		return nil
	}
	return errors.New("journal: this system has no lock that keeps a second process out of a folder, and two would lose what both are answered for: see to it that there is one, and say --alone")
}

func open(d disk, o Options) (*Store, error) {
	o.fill()
	files, err := d.Files()
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if _, there := files[keep.Main+rowsFile]; !there {
		if err := mainLost(d, files); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the folder holds no store, and a start makes none", keep.ErrMissing)
	}
	s := &Store{disk: d, o: o, entries: map[string]*entry{}}
	if s.main, err = openShelf(context.Background(), d, keep.Main, o, false); err != nil {
		return nil, err
	}
	if err := s.takeUp(files); err != nil {
		s.main.close(errClosed)
		return nil, err
	}
	return s, nil
}

// mainLost says by what is left in a folder without the rows of main that they were there.
func mainLost(d disk, files map[string]int64) error {
	for name := range files {
		if strings.HasSuffix(name, rowsFile) || strings.HasSuffix(name, droppedFile) {
			return fmt.Errorf("%w: %s is there, and %s is missing", keep.ErrDamaged, name, keep.Main+rowsFile)
		}
	}
	c, was, err := openCheck(d, keep.Main+checkEnding)
	if c != nil {
		c.close()
	}
	if err == nil && was.End.Number > 0 {
		return fmt.Errorf("%w: %s is missing", keep.ErrDamaged, keep.Main+rowsFile)
	}
	return nil
}

// takeUp compares the folder with what main says, and finishes each Drop.
func (s *Store) takeUp(files map[string]int64) error {
	keys, err := s.main.keys(own, stateKey)
	if err != nil {
		return err
	}
	states := make(map[string]state, len(keys))
	for _, key := range keys {
		name := strings.TrimPrefix(key, stateKey)
		if states[name], err = s.state(name); err != nil {
			return err
		}
	}
	leftovers := map[string]bool{}
	for file := range files {
		ext := filepath.Ext(file)
		name := strings.TrimSuffix(file, ext)
		switch ext {
		case rowsFile, droppedFile:
			if states[name] == unknown && name != keep.Main {
				return fmt.Errorf("%w: %s knows nothing of %s, and is an older copy: put the folder back as it was", keep.ErrDamaged, keep.Main+rowsFile, file)
			}
			fallthrough
		case keyFile, checkEnding, newFile:
			leftovers[name] = leftovers[name] || states[name] == dropped
		}
	}
	for name, left := range leftovers {
		if left {
			if err := finishDrop(s.disk, name); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
	}
	return nil
}

var errClosed = fmt.Errorf("%w: it is closed", keep.ErrUnavailable)

// Close implements keep.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	entries := s.entries
	s.mu.Unlock()
	var errs []error
	for _, e := range entries {
		e.mu.Lock()
		if e.shelf != nil {
			errs = append(errs, e.shelf.close(errClosed))
		}
		e.mu.Unlock()
	}
	errs = append(errs, s.main.close(errClosed))
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
