//go:build unix

package issuer

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps other processes out of the folder: two issuers with a log
// each would give a respondent two tokens. The kernel gives it back when the
// process dies.
func lockFolder(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("issuer: another process issues from the folder %s: stop it, or use another folder and other keys", folder)
	}
	return file, nil
}
