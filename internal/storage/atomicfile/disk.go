package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Disk looks now and then whether the disk of a folder still takes what is written.
// It is safe for concurrent use, and may be asked by anybody as often as they like.
type Disk struct {
	folder string
	least  int64         // bytes that are to be free
	every  time.Duration // how often it looks

	mu     sync.Mutex
	looked time.Time
	err    error
}

const (
	leastFree = 64 << 20 // bytes
	lookEvery = 10 * time.Second
)

// WatchDisk looks at the disk of a folder, which exists.
func WatchDisk(folder string) *Disk { return &Disk{folder: folder, least: leastFree, every: lookEvery} }

// Err says that the disk is full, nearly, or fails.
func (d *Disk) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if since := time.Since(d.looked); d.looked.IsZero() || since >= d.every {
		d.err, d.looked = d.look(), time.Now()
	}
	return d.err
}

func (d *Disk) look() error {
	if free, known := Free(d.folder); known && free < d.least {
		return fmt.Errorf("the disk of %s is full: %d MiB are free, and %d are needed: make room", d.folder, free>>20, d.least>>20)
	}
	if err := Writable(d.folder); err != nil {
		return fmt.Errorf("the disk of %s fails: %w", d.folder, err)
	}
	return nil
}

// Writable writes a byte through to the disk of a folder and takes it away again.
func Writable(folder string) error {
	f, err := os.CreateTemp(folder, Unfinished+"probe-")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte{0})
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
