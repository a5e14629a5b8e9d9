package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// SyncData puts what was written to a file on disk, and its length. When it was written may come
// later: to note that costs as much again.
func SyncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var synced error
	err = raw.Control(func(fd uintptr) {
		for synced = syscall.EINTR; errors.Is(synced, syscall.EINTR); {
			synced = syscall.Fdatasync(int(fd))
		}
	})
	return errors.Join(err, os.NewSyscallError("fdatasync", synced))
}
