//go:build linux || darwin

package atomicfile

import "syscall"

// Free returns what is free on the disk of a folder, in bytes; false where it cannot be
// known.
func Free(folder string) (int64, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
