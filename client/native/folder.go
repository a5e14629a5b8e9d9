// Package native gives a device's program its disk and its sockets: Folder is a client.Store, and Transport a
// client.Transport. Used by apps, and by cmd/confetti/internal/device.
package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Names that the folder itself knows.
const (
	secretFile  = "secret"
	lockFile    = "lock"
	spoolFolder = "spool" // the one folder in it
)

// maxFile bounds what is read into memory, in bytes: far above what a ledger is
// compacted to.
const maxFile = 1 << 30

// Folder is a device's folder, one respondent's and private to it. Every file is written
// whole beside its place, down to the disk, and then renamed; only those that are
// appended to grow in place.
type Folder struct {
	Path string
	// Secret is the file that the secret of the ledger's keys is in, outside Path, so that
	// Path by itself tells no value; "": in Path.
	Secret string
}

// String returns the path.
func (f Folder) String() string { return f.Path }

func (f Folder) path(name string) string {
	if name == secretFile && f.Secret != "" {
		return f.Secret
	}
	return filepath.Join(f.Path, filepath.FromSlash(name))
}

// Lock makes the folder if need be, and keeps other processes out of it until unlock is
// called. The folder holds what a person's device has said, so that others must not be
// able to look in: one that is open to them is refused.
func (f Folder) Lock() (unlock func(), err error) {
	if f.Path == "" {
		return nil, errors.New("folder: no folder to keep the ledger in: name one that outlives the program")
	}
	if err := os.MkdirAll(f.path(spoolFolder), 0o700); err != nil {
		return nil, fmt.Errorf("folder: make the device's folder: %w", err)
	}
	status, err := os.Stat(f.Path)
	if err != nil {
		return nil, fmt.Errorf("folder: look at the device's folder: %w", err)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("folder: %s is open to others (mode %04o): make it private with chmod 700", f.Path, mode)
	}
	return f.lock()
}

// Load reads what is kept under a name; fs.ErrNotExist where nothing is.
func (f Folder) Load(name string) ([]byte, error) {
	path := f.path(name)
	status, err := os.Stat(path)
	if name == secretFile {
		if err := f.checkSecret(status, err); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if status.Size() > maxFile {
		return nil, fmt.Errorf("folder: %s has more than %d bytes", path, maxFile)
	}
	return os.ReadFile(path)
}

// checkSecret refuses a secret that is in two places, or open to others.
func (f Folder) checkSecret(status fs.FileInfo, err error) error {
	if inside := filepath.Join(f.Path, secretFile); f.Secret != "" {
		if _, err := os.Lstat(inside); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("folder: the device's secret is in its folder, %s, and is to be in %s: move it there", inside, f.Secret)
		}
	}
	if err == nil && status.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("folder: %s is open to others: make it private with chmod 600", f.path(secretFile))
	}
	return nil
}

// Append puts data on the disk behind the first so many bytes of what is kept under a
// name, and cuts off what was there. If it cannot, it takes back what it wrote.
func (f Folder) Append(name string, at int, data []byte) error {
	file, err := os.OpenFile(f.path(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = file.Truncate(int64(at))
	if err == nil {
		_, err = file.WriteAt(data, int64(at))
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		err = errors.Join(err, file.Truncate(int64(at)), file.Sync())
	}
	return errors.Join(err, file.Close())
}

// Replace puts data in the place of what is kept under a name, whole or not at all.
func (f Folder) Replace(name string, data []byte) error {
	return atomicfile.Replace(f.path(name), data, 0o600)
}

// Remove takes away for good what is kept under a name; nothing is no error.
func (f Folder) Remove(name string) error {
	path := f.path(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

// List says how many bytes are kept under each name. What a crash has left unfinished is
// removed: the caller holds the lock, so that it is nobody's.
func (f Folder) List() (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, under := range []string{"", spoolFolder + "/"} {
		files, err := os.ReadDir(f.path(under))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if file.IsDir() {
				continue
			}
			if strings.HasPrefix(file.Name(), atomicfile.Unfinished) {
				if err := f.Remove(under + file.Name()); err != nil {
					return nil, err
				}
				continue
			}
			status, err := file.Info()
			if err != nil {
				return nil, err
			}
			sizes[under+file.Name()] = status.Size()
		}
	}
	return sizes, nil
}

// stamp tells one content of a file from the next.
type stamp struct {
	number uint64
	bytes  int64
	time   int64 // of its last change, Unix nanoseconds
}

// Stamp returns a value that is another one after each change of what is kept under a name.
func (f Folder) Stamp(name string) (any, error) {
	status, err := os.Stat(f.path(name))
	if err != nil {
		return nil, err
	}
	return stamp{number(status), status.Size(), status.ModTime().UnixNano()}, nil
}
