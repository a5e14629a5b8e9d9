package shelves

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

var madeField = regexp.MustCompile(`(?s),\s*"made": "[^"]*"`)

// keys makes a folder of two keys, one of which says that it was made so long ago; 0: says
// nothing.
func keys(t *testing.T, ago time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a.json", "b.json"} {
		if err := keyfile.Create(filepath.Join(dir, name), keyfile.File{Suite: "x25519"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "b.json"))
	if err != nil {
		t.Fatal(err)
	}
	made := ""
	if ago != 0 {
		made = `, "made": "` + time.Now().Add(-ago).UTC().Format(time.RFC3339) + `"`
	}
	if err := os.WriteFile(filepath.Join(dir, "b.json"), madeField.ReplaceAll(text, []byte(made)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A folder without a store is the first of young keys, and of nobody else: what was in it is
// lost, and people could count twice.
func TestAnEmptyFolder(t *testing.T) {
	for name, c := range map[string]struct {
		keys string
		made bool
	}{
		"young keys":          {keys(t, time.Minute), true},
		"of yesterday":        {keys(t, 25*time.Hour), false},
		"of tomorrow":         {keys(t, -25*time.Hour), false},
		"that say nothing":    {keys(t, 0), false},
		"none":                {t.TempDir(), false},
		"a folder that is no": {filepath.Join(t.TempDir(), "none"), false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "shelves")
			common := serve.Common{Keys: c.keys}
			s, err := Folder(folder, common, true)
			if c.made {
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			} else if !errors.Is(err, keep.ErrMissing) || !strings.Contains(err.Error(), "--new") {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, "main.rows")); (err == nil) != c.made {
				t.Errorf("made: %v", err)
			}
			common.Begin.New = true
			s, err = Folder(folder, common, true)
			if c.made {
				if !errors.Is(err, keep.ErrExists) {
					t.Errorf("a store over a store: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			common.Begin.New = false
			if s, err = Folder(folder, common, true); err != nil {
				t.Fatal("the next start: ", err)
			}
			s.Close()
		})
	}
}

// A folder that is lost within a day of its keys is not made anew: a note beside them says that it was there. Without
// the note it is, as it is where keys take none.
func TestAFolderIsLostOnItsFirstDay(t *testing.T) {
	common := serve.Common{Keys: keys(t, time.Minute)}
	folder := filepath.Join(t.TempDir(), "shelves")
	start := func() error {
		s, err := Folder(folder, common, true)
		if err != nil {
			return err
		}
		return s.Close()
	}
	lose := func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	common.Begin.Copy = true
	if err := start(); !errors.Is(err, keep.ErrMissing) {
		t.Errorf("a copy without a store: %v", err)
	}
	if err := Make(folder); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("a copy: %v", err)
	}
	if _, err := os.Stat(note(common.Keys, folder)); err == nil {
		t.Error("a copy leaves a note")
	}
	common.Begin.Copy = false
	for range 2 {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	lose()
	err := start()
	if !errors.Is(err, keep.ErrMissing) || !strings.Contains(err.Error(), "--new") || !strings.Contains(err.Error(), note(common.Keys, folder)) {
		t.Errorf("lost: %v", err)
	}
	common.Begin.New = true
	if err := start(); err != nil {
		t.Errorf("--new: %v", err)
	}
	common.Begin.New = false
	lose()
	if err := os.Remove(note(common.Keys, folder)); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("without the note: %v", err)
	}
	other := filepath.Join(t.TempDir(), "shelves")
	if err := begun(common.Keys, other); err != nil {
		t.Errorf("a note is of one folder: %v", err)
	}
}
