//go:build unix

package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lock keeps other processes out of the folder until unlock is called. The
// kernel gives it back when a process dies.
func (f Folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("folder: lock %s: %w", file.Name(), err), file.Close())
	}
	return func() { file.Close() }, nil // which unlocks
}

// number tells a file from others of its disk that had its name before it.
func number(status fs.FileInfo) uint64 {
	if system, ok := status.Sys().(*syscall.Stat_t); ok {
		return uint64(system.Ino)
	}
	return 0
}
