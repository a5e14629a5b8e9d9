//go:build !unix

package issuer

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockFolder only opens the file where the kernel has no lock that ends with its
// process: there the operator sees to it that one issuer runs.
func lockFolder(folder string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	return file, nil
}
