package serve

import (
	"os"
	"sync"
	"time"
)

// watched is what was read from files, read again when they change: an operator
// adds a token or renews a certificate without a restart. Files that cannot be
// read leave what was read before.
type watched[T any] struct {
	paths []string
	load  func() (T, error)

	mu      sync.Mutex
	looked  time.Time // when the files were last looked at
	version []fileVersion
	value   T
	err     error // of the last reading
}

type fileVersion struct {
	modified time.Time
	size     int64
}

// lookEvery bounds how often the files are looked at.
const lookEvery = time.Second

// watch reads the files and fails if they cannot be read at first.
func watch[T any](load func() (T, error), paths ...string) (*watched[T], error) {
	w := &watched[T]{paths: paths, load: load}
	w.version, w.looked = w.look(), time.Now()
	w.value, w.err = load()
	return w, w.err
}

func (w *watched[T]) look() []fileVersion {
	v := make([]fileVersion, len(w.paths))
	for i, path := range w.paths {
		if status, err := os.Stat(path); err == nil {
			v[i] = fileVersion{status.ModTime(), status.Size()}
		}
	}
	return v
}

// get returns the value of the files, and why it is an older one, if it is.
func (w *watched[T]) get() (T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := time.Since(w.looked); since >= lookEvery || since < 0 {
		w.looked = time.Now()
		version := w.look()
		changed := false
		for i := range version {
			changed = changed || version[i] != w.version[i]
		}
		if changed || w.err != nil {
			w.version = version
			var value T
			if value, w.err = w.load(); w.err == nil {
				w.value = value
			}
		}
	}
	return w.value, w.err
}
