package postgres

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
)

// A store that is closed leaves nothing running: no writer of a shelf, no caller that gave up.
func TestCloseLeavesNothing(t *testing.T) {
	d, _ := disk(t, Config{URL: postgrestest.Postgres(t)})
	none := goleak.IgnoreCurrent()
	s, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shelf := created(t, s, "a")
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		shelf.Insert(ctx, row1(string(rune('a'+i))))
		shelf.Update(ctx, func(tx keep.Tx) error { tx.Put(2, "k", nil); return nil })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, none)
}
