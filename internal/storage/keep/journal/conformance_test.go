package journal

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/keeptest"
)

func TestConformance(t *testing.T) {
	keeptest.Run(t, keeptest.Engine{New: func(tb testing.TB) keeptest.Disk {
		path := tb.TempDir()
		if err := Create(path); err != nil {
			tb.Fatal(err)
		}
		var last *Store
		return keeptest.Disk{
			Open: func(context.Context) (keep.Store, error) {
				s, err := Open(path, Options{})
				if err != nil {
					return nil, err
				}
				last = s
				return s, nil
			},
			Kill: func() { last.kill() },
			Spoil: func(tb testing.TB, name string, t keep.Table, key string) {
				s := last.entries[name].shelf
				p, there := s.index.find(t, key)
				f, err := os.OpenFile(filepath.Join(path, name+rowsFile), os.O_RDWR, 0)
				if !there || err != nil {
					tb.Fatal(there, err)
				}
				defer f.Close()
				b := make([]byte, 1)
				if _, err := f.ReadAt(b, p.at+rowHead); err != nil {
					tb.Fatal(err)
				}
				b[0] ^= 1
				if _, err := f.WriteAt(b, p.at+rowHead); err != nil {
					tb.Fatal(err)
				}
			},
		}
	}})
}
