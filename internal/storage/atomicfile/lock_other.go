//go:build !unix && !windows

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Locks reports whether Lock keeps other processes out.
const Locks = false

// ErrLocked is the error of Lock for a folder that another process has.
var ErrLocked = errors.New("another process has the folder")

// Lock only opens the file where the kernel has no lock that ends with its
// process: there the operator sees to it that one process uses the folder.
func Lock(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", folder, err)
	}
	return file, nil
}
