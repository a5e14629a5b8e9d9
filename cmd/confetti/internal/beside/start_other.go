//go:build !unix

package beside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// start runs the program until it ends, and returns its exit code. An interrupt from the keyboard
// reaches it by itself, and ends it and not this one.
func start(path string, args []string) (int, error) {
	signal.Ignore(os.Interrupt)
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return ended.ExitCode(), nil
	}
	if err != nil {
		return 1, fmt.Errorf("%s does not start: %w", path, err)
	}
	return 0, nil
}
