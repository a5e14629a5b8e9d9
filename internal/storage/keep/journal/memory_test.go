package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// memory is a disk that can lose its power, run full and fail. What is written lies in a cache
// until it is synced; at a power cut any sectors of it may be on the disk, and any number of
// the latest changes of names may be undone. A sync that fails forgets what it had to write: the
// cache holds it still and takes it for written, as kernels do.
type memory struct {
	mu    sync.Mutex
	names map[string]*inode // as processes see them
	kept  map[string]*inode // as of the last Sync
	since []func(map[string]*inode)
	room  int64 // bytes of all files; 0: no bound

	ops   int
	fault func(op, name string, n int) error // asked before each operation that changes anything

	// Faults of a disk, by which a test that finds nothing is found out.
	noSync, noNames, idle bool   // syncs nothing; no names; nothing that reads as if it were written already
	deaf                  string // writes nothing to files with this ending that are there
}

const sector = 512

var errPower = errors.New("the power is off")

type inode struct {
	cache, disk []byte
	pending     []change
}

// change is a write, or a cut to a size.
type change struct {
	at  int64
	b   []byte
	cut bool
}

func (c change) apply(b []byte) []byte {
	if c.cut {
		if int64(len(b)) > c.at {
			return b[:c.at]
		}
		return append(b, make([]byte, c.at-int64(len(b)))...)
	}
	if end := c.at + int64(len(c.b)); int64(len(b)) < end {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	copy(b[c.at:], c.b)
	return b
}

func newMemory() *memory { return &memory{names: map[string]*inode{}, kept: map[string]*inode{}} }

// cut returns the disk as it is found after a power cut: with nothing that was not synced,
// with all of it, or with any of it.
func (m *memory) cut(r *rand.Rand, mode string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	names, done := maps.Clone(m.kept), 0
	switch mode {
	case "all":
		done = len(m.since)
	case "any":
		done = r.IntN(len(m.since) + 1)
	}
	for _, change := range m.since[:done] {
		change(names)
	}
	n := newMemory()
	for name, old := range names {
		b := bytes.Clone(old.disk)
		for _, c := range old.pending {
			switch {
			case mode == "none", mode == "any" && c.cut && r.IntN(2) == 0:
			case mode == "all", c.cut:
				b = c.apply(b)
			default: // sectors of it
				for len(c.b) > 0 {
					l := min(len(c.b), sector-int(c.at%sector))
					if r.IntN(2) == 0 {
						b = change{at: c.at, b: c.b[:l]}.apply(b)
					}
					c.at, c.b = c.at+int64(l), c.b[l:]
				}
			}
		}
		n.names[name] = &inode{cache: b, disk: bytes.Clone(b)}
	}
	n.kept = maps.Clone(n.names)
	n.noSync, n.noNames, n.idle, n.deaf, n.room = m.noSync, m.noNames, m.idle, m.deaf, m.room
	return n
}

// ask counts an operation and has it fail. The caller holds the lock.
func (m *memory) ask(op, name string) error {
	m.ops++
	if m.fault == nil {
		return nil
	}
	return m.fault(op, name, m.ops)
}

func (m *memory) rename(change func(map[string]*inode)) {
	change(m.names)
	m.since = append(m.since, change)
}

func (m *memory) Open(name string) (hashchain.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[name]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memFile{m, n, name}, nil
}

func (m *memory) Create(name string) (hashchain.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask("create", name); err != nil {
		return nil, err
	}
	if m.names[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &inode{}
	m.rename(func(names map[string]*inode) { names[name] = n })
	return &memFile{m, n, name}, nil
}

func (m *memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask("rename", from); err != nil {
		return err
	}
	n := m.names[from]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	m.rename(func(names map[string]*inode) {
		delete(names, from)
		names[to] = n
	})
	return nil
}

func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask("remove", name); err != nil {
		return err
	}
	if m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	m.rename(func(names map[string]*inode) { delete(names, name) })
	return nil
}

func (m *memory) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask("sync names", ""); err != nil {
		return err
	}
	if !m.noNames {
		m.kept, m.since = maps.Clone(m.names), nil
	}
	return nil
}

func (m *memory) Files() (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := map[string]int64{}
	for name, n := range m.names {
		files[name] = int64(len(n.cache))
	}
	return files, nil
}

func (m *memory) Free() (int64, bool) { return 0, false }

func (m *memory) used() (n int64) {
	for _, f := range m.names {
		n += int64(len(f.cache))
	}
	return n
}

// files lists what is there, in order.
func (m *memory) files() []string { return slices.Sorted(maps.Keys(m.names)) }

// clone returns the disk as a process sees it that starts now.
func (m *memory) clone() *memory { return m.cut(nil, "all") }

type memFile struct {
	m    *memory
	n    *inode
	name string
}

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if at >= int64(len(f.n.cache)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.cache[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) change(c change) {
	f.n.cache = c.apply(f.n.cache)
	f.n.pending = append(f.n.pending, c)
}

func (f *memFile) WriteAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.ask("write", f.name); err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			f.change(change{at: at, b: bytes.Clone(b[:len(b)/2])}) // as much as fits
		}
		return 0, err
	}
	if f.m.deaf != "" && strings.HasSuffix(f.name, f.m.deaf) && len(f.n.cache) > 0 {
		return len(b), nil
	}
	if more := at + int64(len(b)) - int64(len(f.n.cache)); f.m.room > 0 && more > 0 && f.m.used()+more > f.m.room {
		fits := max(0, int64(len(b))-(f.m.used()+more-f.m.room))
		f.change(change{at: at, b: bytes.Clone(b[:fits])})
		return int(fits), &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	if f.m.idle && at+int64(len(b)) <= int64(len(f.n.cache)) && bytes.Equal(f.n.cache[at:at+int64(len(b))], b) {
		return len(b), nil
	}
	f.change(change{at: at, b: bytes.Clone(b)})
	return len(b), nil
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.ask("truncate", f.name); err != nil {
		return err
	}
	f.change(change{at: size, cut: true})
	return nil
}

func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.ask("sync", f.name); err != nil {
		f.n.pending = nil // taken for written, and not on the disk
		return err
	}
	if !f.m.noSync {
		for _, c := range f.n.pending {
			f.n.disk = c.apply(f.n.disk)
		}
		f.n.pending = nil
	}
	return nil
}

func (f *memFile) Close() error               { return nil }
func (f *memFile) Name() string               { return f.name }
func (f *memFile) Stat() (fs.FileInfo, error) { return f, nil }

func (f *memFile) Size() int64 {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.n.cache))
}
func (f *memFile) Mode() fs.FileMode  { return 0o600 }
func (f *memFile) ModTime() time.Time { return time.Time{} }
func (f *memFile) IsDir() bool        { return false }
func (f *memFile) Sys() any           { return nil }
