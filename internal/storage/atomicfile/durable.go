// Package atomicfile puts files in their place so that a crash or a power cut leaves either all of a file or what
// was there before. Used by client/folder, internal/service, internal/storage and cmd/confetti/internal.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Unfinished begins the names of files that have not got their own yet. After a
// crash one may be left; it belongs to nobody.
const Unfinished = ".new-"

// Replace writes a file whole, over an earlier one, or leaves what was there.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return put(path, data, mode, os.Rename)
}

// Create is Replace for a new file: one that exists already is left as it is,
// and the error is then fs.ErrExist.
func Create(path string, data []byte, mode fs.FileMode) error {
	return put(path, data, mode, os.Link) // which fails where the name is taken; a rename would replace the file
}

func put(path string, data []byte, mode fs.FileMode, name func(from, to string) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, Unfinished+"*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w: choose another place", path, err)
	}
	defer os.Remove(f.Name()) // gone already after a rename
	_, err = f.Write(data)
	// On disk before it has its name, or a crash could leave the name on nothing.
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = name(f.Name(), path)
	}
	if err == nil {
		err = SyncFolder(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// SyncFolder makes the names in a folder survive a power cut.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if runtime.GOOS == "windows" {
		err = nil // it cannot, and renames there are written through
	}
	return errors.Join(err, d.Close())
}
