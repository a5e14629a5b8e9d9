package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Folder is a Store in a folder, which several machines may share if its file system
// syncs as a disk does.
type Folder struct {
	dir   string
	known *known
}

// known are folders that this process has made last: another one may have made a folder
// and not have synced it yet.
type known struct {
	mu      sync.Mutex
	folders map[string]fs.FileInfo
	sync    func(dir string) error // atomicfile.SyncFolder, but for tests
}

// mostKnown bounds what is remembered of folders that others delete.
const mostKnown = 1 << 14

// OpenFolder makes the folder if it is not there.
func OpenFolder(dir string) (Folder, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = atomicfile.SyncFolder(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) { // of a folder above, which need not be ours to read
		return Folder{}, fmt.Errorf("blob: %w", err)
	}
	return Folder{dir, &known{folders: map[string]fs.FileInfo{}, sync: atomicfile.SyncFolder}}, nil
}

func (f Folder) path(name string) string {
	Check(name)
	return filepath.Join(f.dir, filepath.FromSlash(name))
}

func (f Folder) Put(_ context.Context, name string, body []byte) error {
	path := f.path(name)
	for range 3 { // somebody who deletes may take the folder away meanwhile
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		err := atomicfile.Replace(path, body, 0o600)
		if err == nil {
			err = f.syncAbove(path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("blob: %s is deleted while it is written", name)
}

// syncAbove makes the folders over a blob last, but those that this process knows to.
func (f Folder) syncAbove(path string) error {
	for dir := filepath.Dir(path); len(dir) > len(f.dir); dir = filepath.Dir(dir) {
		is, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		if f.known.has(dir, is) {
			continue
		}
		if err := f.known.sync(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		f.known.add(dir, is)
	}
	return nil
}

func (k *known) has(dir string, is fs.FileInfo) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.folders[dir]
	return was != nil && os.SameFile(was, is)
}

func (k *known) add(dir string, is fs.FileInfo) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.folders) >= mostKnown {
		clear(k.folders)
	}
	k.folders[dir] = is
}

// forget is for a folder that goes, with those below.
func (k *known) forget(dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for one := range k.folders {
		if one == dir || strings.HasPrefix(one, dir+string(filepath.Separator)) {
			delete(k.folders, one)
		}
	}
}

func (f Folder) Get(_ context.Context, name string) ([]byte, error) {
	body, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return body, nil
}

func (f Folder) Part(_ context.Context, name string, from int64, length int) ([]byte, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	defer file.Close()
	body := make([]byte, length)
	if _, err := file.ReadAt(body, from); errors.Is(err, io.EOF) {
		return nil, ErrShort
	} else if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return body, nil
}

func (f Folder) Has(_ context.Context, name string) (bool, error) {
	is, err := os.Stat(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("blob: %w", err)
	}
	return !is.IsDir(), nil
}

// each walks over the blobs under a name.
func (f Folder) each(ctx context.Context, under string, do func(name string, d fs.DirEntry) error) error {
	root := f.dir
	if under != "" {
		root = f.path(under)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile, or never there
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.dir, path)
		if name = filepath.ToSlash(name); err == nil && IsName(name) && name != under {
			err = do(name, d)
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

func (f Folder) List(ctx context.Context, under string) (names []string, err error) {
	err = f.each(ctx, under, func(name string, _ fs.DirEntry) error {
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

func (f Folder) Bytes(ctx context.Context, under string) (total int64, err error) {
	err = f.each(ctx, under, func(_ string, d fs.DirEntry) error {
		is, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += is.Size()
		}
		return err
	})
	return total, err
}

func (f Folder) Delete(_ context.Context, under string) error {
	path := f.path(under)
	f.known.forget(path)
	if err := errors.Join(destroyKeys(path), os.RemoveAll(path)); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	if err := atomicfile.SyncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// mostKey is more than any key has, bytes.
const mostKey = 4 << 10

// destroyKeys overwrites and removes what is short enough to be a key, which opens what other
// bodies hold. Who reads one meanwhile may read zeros.
func destroyKeys(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		var status fs.FileInfo
		if err == nil && d.Type().IsRegular() {
			status, err = d.Info()
		}
		if err == nil && status != nil && status.Size() <= mostKey {
			err = errors.Join(overwrite(path, status.Size()), os.Remove(path))
		}
		if errors.Is(err, fs.ErrNotExist) { // somebody else deletes too
			return nil
		}
		return err
	})
}

// overwrite writes zeros over a file, on disk.
func overwrite(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, size), 0)
	return errors.Join(err, f.Sync(), f.Close())
}
