//go:build !unix

package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// lock keeps other processes out of the folder until unlock is called. Where the
// kernel does not do it a file's existence must; one that a dead process left is
// taken over after a minute, since no holder keeps it that long.
func (f Folder) lock() (unlock func(), err error) {
	path := f.path(lockFile)
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			file.Close()
			return func() { os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("folder: %w", err)
		}
		if s, err := os.Stat(path); err == nil && time.Since(s.ModTime()).Abs() > time.Minute {
			os.Remove(path)
			continue
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// number would tell a file from others that had its name before it: here its length and
// time must do.
func number(fs.FileInfo) uint64 { return 0 }
