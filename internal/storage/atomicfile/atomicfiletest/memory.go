// Package atomicfiletest puts the folders of tests in memory, since tests that end processes learn nothing from
// waiting for a disk. Used by tests of internal/service, client and cmd/confetti.
package atomicfiletest

import (
	"os"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// room is the least that must be free there.
const room = 4 << 30

// Memory is a folder whose disk is memory, if this machine has one that is large enough;
// otherwise "", which stands for the system's folder of temporary files.
var Memory = sync.OnceValue(func() string {
	const shared = "/dev/shm"
	if free, known := atomicfile.Free(shared); known && free > room {
		return shared
	}
	return ""
})

// InMemory has testing.T.TempDir make its folders there. It is for
// TestMain.
func InMemory() {
	if dir := Memory(); dir != "" {
		os.Setenv("TMPDIR", dir)
	}
}
