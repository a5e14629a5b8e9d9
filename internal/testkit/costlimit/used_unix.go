//go:build unix

package costlimit

import (
	"syscall"
	"testing"
	"time"
)

// Used returns the processor time that the process has taken, in user mode and system.
func Used(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
