package shelves

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

// What an earlier version kept, or nobody of ours, is refused by name, with the way out.
func TestWhatIsNoFolderOfShelvesIsRefused(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"leader.db": {"SQLite format 3\x00 and pages", "let that version end its plans"},
		"notes.txt": {"text", "name a folder"},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := Place{Database: serve.Path(path)}
		_, err := p.Open(t.Context(), serve.Common{})
		_, _, copyErr := p.Copy()
		for how, err := range map[string]error{"check": p.Check(), "open": err, "copy": copyErr} {
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %s: %v", how, name, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	connect := func(context.Context, string, blob.Store) (keep.Store, error) { return nil, nil }
	url := "postgres://confetti@localhost/confetti"
	folder := serve.Path(t.TempDir())
	for _, c := range []struct {
		Place
		want string // "" where nothing is wrong
	}{
		{Place{Database: folder}, ""},
		{Place{Server: Server{URL: url, Connect: connect}}, ""},
		{Place{Server: Server{URL: url, ShelfKeys: folder, Connect: connect}}, ""},
		{Place{Server: Server{URL: url}}, "-postgres"},
		{Place{}, "either database"},
		{Place{Database: folder, Server: Server{URL: url, Connect: connect}}, "either database"},
		{Place{Database: folder, Server: Server{ShelfKeys: folder}}, "shelf_keys"},
	} {
		if err := c.Place.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.Place, err, c.want)
		}
	}
}

// A folder is made once, is opened again, and is nobody's else's meanwhile; a copy is another one.
func TestAFolder(t *testing.T) {
	common := serve.Common{Keys: keys(t, time.Minute)}
	p := Place{Database: serve.Path(filepath.Join(t.TempDir(), "a", "shelves"))}
	for range 2 {
		store, err := p.Open(t.Context(), common)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Create(t.Context(), "plan"); err != nil && !errors.Is(err, keep.ErrExists) {
			t.Error(err)
		}
		if _, err := p.Open(t.Context(), common); err == nil {
			t.Error("two have it open")
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		copied, done, err := p.Copy()
		if err != nil {
			t.Fatal(err)
		}
		if store, err = copied.Open(t.Context(), common); err != nil || copied.Database == p.Database {
			t.Fatal(err)
		}
		if names, err := store.List(t.Context()); err != nil || len(names) != 1 {
			t.Errorf("a copy has %q: %v", names, err)
		}
		store.Close()
		done()
	}
}
