package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"
)

// Locks reports whether Lock keeps other processes out.
const Locks = true

// ErrLocked is the error of Lock for a folder that another process has.
var ErrLocked = errors.New("another process has the folder")

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	failImmediately = 1
	exclusive       = 2

	// lockViolation is ERROR_LOCK_VIOLATION.
	lockViolation = syscall.Errno(33)
)

// Lock keeps other processes that ask for it out of a folder, until the file is closed or the
// process dies: the kernel gives it back.
func Lock(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	var at syscall.Overlapped
	if locked, _, err := lockFileEx.Call(file.Fd(), exclusive|failImmediately, 0, 1, 0, uintptr(unsafe.Pointer(&at))); locked == 0 {
		file.Close()
		if err == lockViolation || err == syscall.ERROR_IO_PENDING {
			err = ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	return file, nil
}
