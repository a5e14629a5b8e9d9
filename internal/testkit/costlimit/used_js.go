package costlimit

import (
	"testing"
	"time"
)

var began = time.Now()

// Used returns the time since the process began: a module has one thread, which waits for nothing while it computes.
func Used(testing.TB) time.Duration { return time.Since(began) }
