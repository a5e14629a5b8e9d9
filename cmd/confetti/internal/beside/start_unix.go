//go:build unix

package beside

import (
	"fmt"
	"os"
	"syscall"
)

// start becomes the program: signals and exit codes are its own.
func start(path string, args []string) (int, error) {
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return 1, fmt.Errorf("%s does not start: %w", path, err)
}
