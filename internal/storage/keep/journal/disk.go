package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// disk is the folder of a store, as far as a store needs one. The error of a name that is
// not there is fs.ErrNotExist.
type disk interface {
	Open(name string) (hashchain.File, error)
	Create(name string) (hashchain.File, error) // fs.ErrExist where there is one
	Rename(from, to string) error
	Remove(name string) error
	Sync() error // names
	Files() (map[string]int64, error)
	Free() (int64, bool)
}

// folder is a disk of the operating system.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) Open(name string) (hashchain.File, error) {
	return f.open(name, os.O_RDWR)
}

func (f folder) Create(name string) (hashchain.File, error) {
	return f.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (f folder) open(name string, how int) (hashchain.File, error) {
	opened, err := os.OpenFile(f.path(name), how, 0o600)
	if err != nil {
		return nil, err // not a nil file in an interface
	}
	return file{opened}, nil
}

// file is a file whose Sync leaves out when it was written.
type file struct{ *os.File }

func (f file) Sync() error { return atomicfile.SyncData(f.File) }

func (f folder) Rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }
func (f folder) Remove(name string) error     { return os.Remove(f.path(name)) }
func (f folder) Sync() error                  { return atomicfile.SyncFolder(string(f)) }
func (f folder) Free() (int64, bool)          { return atomicfile.Free(string(f)) }

func (f folder) Files() (map[string]int64, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	files := make(map[string]int64, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it just went away
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files[e.Name()] = info.Size()
		}
	}
	return files, nil
}

// write makes a file of those bytes, on disk before it returns; its name needs Sync.
func write(d disk, name string, b []byte) error {
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// read returns the bytes of a small file, and no more of a large one than show that it is
// none of ours.
func read(d disk, name string, most int) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size(), int64(most)+1))
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	return b[:n], err
}

// remove removes a file that may be gone already.
func remove(d disk, name string) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// explain turns an error of a disk into one of package keep.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, keep.ErrDamaged), errors.Is(err, keep.ErrUnavailable):
		return err
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", keep.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
}
