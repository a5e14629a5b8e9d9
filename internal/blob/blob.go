// Package blob keeps bodies of some megabytes under names, where several processes find
// them, in a folder. What Put has returned for is on disk.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/confetti-dp/confetti/internal/durable"
)

// Store is where blobs are. A name is parts of letters, digits, - and _, with slashes
// between them. All methods are safe for concurrent use, by several processes.
type Store interface {
	// Put keeps a body under a name, over an earlier one, whole or not at all.
	Put(ctx context.Context, name string, body []byte) error
	// Get returns a body, which is the caller's; the error is fs.ErrNotExist where there
	// is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// List are the names that begin with a name and a slash, in no order.
	List(ctx context.Context, under string) ([]string, error)
	// Delete removes every blob whose name begins with a name and a slash.
	Delete(ctx context.Context, under string) error
}

var form = regexp.MustCompile(`^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$`)

// IsName reports whether a text is a name.
func IsName(text string) bool { return form.MatchString(text) }

// check panics where a text is no name: names are made by programs, never by a peer.
func check(name string) {
	if !IsName(name) {
		panic(fmt.Sprintf("blob: %q is no name", name))
	}
}

// fragmentBytes is about how long a fragment is at least: of many small ones the names
// would cost more than the bytes.
const fragmentBytes = 128 << 10

// PartBytes is how long the parts of a total are, bytes, each of which is dealt to as many
// others: at least so long, and longer where fragments, of which there is one for each pair,
// would be small. Of T bytes in parts of P a fragment has P^2/T.
func PartBytes(total int64, least int) int {
	return max(least, int(math.Sqrt(float64(total)*float64(min(fragmentBytes, least)))))
}

// Folder is a Store in a folder, which several machines may share if its file system
// syncs as a disk does.
type Folder struct{ dir string }

// OpenFolder makes the folder if it is not there.
func OpenFolder(dir string) (Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Folder{}, fmt.Errorf("blob: %w", err)
	}
	return Folder{dir}, nil
}

func (f Folder) path(name string) string {
	check(name)
	return filepath.Join(f.dir, filepath.FromSlash(name))
}

func (f Folder) Put(_ context.Context, name string, body []byte) error {
	path := f.path(name)
	for range 3 { // somebody who deletes may take the folder away meanwhile
		_, found := os.Stat(filepath.Dir(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("blob: %w", err)
		}
		err := durable.Replace(path, body, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			if err == nil && found != nil {
				err = f.syncAbove(path)
			}
			return err
		}
	}
	return fmt.Errorf("blob: %s is deleted while it is written", name)
}

// syncAbove makes the folders over a blob last, where it is the first in one.
func (f Folder) syncAbove(path string) error {
	for dir := filepath.Dir(filepath.Dir(path)); len(dir) >= len(f.dir); dir = filepath.Dir(dir) {
		if err := durable.SyncFolder(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("blob: %w", err)
		}
	}
	return nil
}

func (f Folder) Get(_ context.Context, name string) ([]byte, error) {
	body, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return body, nil
}

func (f Folder) List(ctx context.Context, under string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(f.path(under), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile, or never there
			return nil
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), durable.Unfinished) {
			return err
		}
		name, err := filepath.Rel(f.dir, path)
		names = append(names, filepath.ToSlash(name))
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return names, nil
}

func (f Folder) Delete(_ context.Context, under string) error {
	path := f.path(under)
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	if err := durable.SyncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}
