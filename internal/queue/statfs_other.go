//go:build !linux && !darwin

package queue

// room is not known here: the limit of Config.MaxBytes is all that guards the disk.
func room(string) (int64, bool) { return 0, false }
