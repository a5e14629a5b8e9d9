// Package costlimit asserts what a service spends on what a stranger sends: bytes allocated and processor time, in
// proportion to the bytes received. Used by internal/service/serve/servetest and by tests of decoders.
package costlimit

import (
	"runtime"
	"testing"
	"time"
)

// Base is what is allowed beside the bytes received: buffers of one length, and
// what is made once and kept.
const Base = 256 << 10

// Factor is how many bytes a decoder may allocate for each byte of its input, where
// nothing closer is stated: docs/operating-roles.md says so.
const Factor = 64

// Allocated returns how many bytes of heap were allocated while do ran, by whatever
// goroutine: nothing else may be going on.
func Allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Heap checks that do, which is given so many bytes by a stranger, allocates at
// most factor times as many, and Base. It runs do up to three times and takes the
// least: what is made once, at the first call, and what something else in the
// process allocates now and then, does not count.
func Heap(t testing.TB, factor, received int, do func()) {
	t.Helper()
	most := uint64(Base) + uint64(factor)*uint64(received)
	took := Allocated(do)
	for again := 0; again < 2 && took > most; again++ {
		took = min(took, Allocated(do))
	}
	if took > most {
		t.Errorf("%d bytes allocated for %d received: at most %d times as many, and %d, are allowed", took, received, factor, Base)
	}
}

// Processor checks that do takes at most so much processor time of the process,
// all threads together; ten times as much under the race detector.
func Processor(t testing.TB, most time.Duration, do func()) {
	t.Helper()
	before := Used(t)
	do()
	if took := Used(t) - before; took > slower*most {
		t.Errorf("%v of processor time: at most %v is allowed", took, slower*most)
	}
}
