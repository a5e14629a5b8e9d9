//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Locks reports whether Lock keeps other processes out.
const Locks = true

// ErrLocked is the error of Lock for a folder that another process has.
var ErrLocked = errors.New("another process has the folder")

// Lock keeps other processes that ask for it out of a folder, until the file is
// closed or the process dies: the kernel gives it back.
func Lock(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", folder, ErrLocked)
	}
	return file, nil
}
