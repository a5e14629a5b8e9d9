package blob

import "github.com/confetti-dp/confetti/internal/storage/atomicfile"

// Known are the folders that the store knows to last.
func Known(f Folder) (n int) { return len(f.known.folders) }

// CountSyncs counts the folders that a store makes last.
func CountSyncs(f Folder) *int {
	n := new(int)
	f.known.sync = func(dir string) error {
		*n++
		return atomicfile.SyncFolder(dir)
	}
	return n
}
