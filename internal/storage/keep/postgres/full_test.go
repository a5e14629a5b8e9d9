package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A server whose disk is full says so (SQLSTATE 53100, here by a trigger): nothing of the write is kept, what was kept
// reads as before, and with room again the same write is taken.
func TestAFullDiskOfTheServer(t *testing.T) {
	s, c := opened(t, Config{})
	shelf := created(t, s, "a")
	row := func(key string) error {
		_, err := shelf.Insert(t.Context(), keep.Row{Table: 1, Key: key, Value: []byte("value")})
		return err
	}
	if err := row("before"); err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("confetti_s%d", scalar[int](t, c.URL, "SELECT number FROM confetti_shelves WHERE shelf = 'a'"))
	execute(t, c.URL, "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$")
	execute(t, c.URL, "CREATE TRIGGER full_disk BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION no_room()")
	if err := row("meanwhile"); !errors.Is(err, keep.ErrFull) {
		t.Errorf("a row on a full disk: %v", err)
	}
	put := func(tx keep.Tx) error { tx.Put(1, "put", []byte("value")); return nil }
	if err := shelf.Update(t.Context(), put); !errors.Is(err, keep.ErrFull) {
		t.Errorf("an update on a full disk: %v", err)
	}
	for key, want := range map[string]bool{"before": true, "meanwhile": false, "put": false} {
		if _, got, err := shelf.Get(t.Context(), 1, key); err != nil || got != want {
			t.Errorf("%s on a full disk: %t, %v", key, got, err)
		}
	}
	execute(t, c.URL, "DROP TRIGGER full_disk ON "+table)
	if err := errors.Join(row("meanwhile"), shelf.Update(t.Context(), put), shelf.Check(t.Context())); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
