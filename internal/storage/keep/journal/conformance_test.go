package journal

import (
	"context"
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
		}
	}})
}
