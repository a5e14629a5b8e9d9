// Package atomicfiletest puts the folders of tests in memory. Services write through to the
// disk before they answer; a test that ends processes, and never the machine, learns
// nothing from waiting for that.
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
