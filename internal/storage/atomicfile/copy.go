package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies what is in a folder into one in the system's temporary folder, so that it can be
// looked at by what mends as it reads. It keeps other processes that Lock out while it copies. done
// overwrites the copy and removes it.
func Copy(folder string) (copied string, done func(), err error) {
	lock, err := Lock(folder)
	if errors.Is(err, ErrLocked) {
		return "", nil, fmt.Errorf("%w: stop the service first", err)
	}
	if err == nil {
		defer lock.Close()
	} // else it cannot be written, as a disk that was taken out
	if copied, err = os.MkdirTemp("", "confetti-verify-"); err != nil {
		return "", nil, err
	}
	done = func() { shred(copied) }
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		to := filepath.Join(copied, rest)
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o700)
		case d.Name() == "lock", !d.Type().IsRegular():
			return nil
		}
		return CopyFile(path, to)
	})
	if err != nil {
		done()
		return "", nil, err
	}
	return copied, done, nil
}

// CopyFile copies a file to a path where none is.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// shred overwrites the files of a folder and removes it: there are secrets among them.
func shred(folder string) {
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if status, err := d.Info(); err == nil && status.Mode().IsRegular() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				zeros := make([]byte, 1<<16)
				for at := int64(0); at < status.Size(); at += int64(len(zeros)) {
					f.WriteAt(zeros[:min(int64(len(zeros)), status.Size()-at)], at)
				}
				f.Sync()
				f.Close()
			}
		}
		return nil
	})
	os.RemoveAll(folder)
}
