//go:build linux || darwin

package queue

import "syscall"

// room is what is free on the disk of a folder, in bytes.
func room(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
