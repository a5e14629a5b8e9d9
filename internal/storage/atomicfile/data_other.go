//go:build !linux

package atomicfile

import "os"

// SyncData puts what was written to a file on disk, and its length.
func SyncData(f *os.File) error { return f.Sync() }
