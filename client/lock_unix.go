//go:build unix

package client

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps other processes out of the folder until unlock is called. The
// kernel gives it back when a process dies.
func (f folder) lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.path(lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("client: lock %s: %w", file.Name(), err), file.Close())
	}
	return func() { file.Close() }, nil // which unlocks
}
