package planlog_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/planlog"
)

// flips is how many bits of each file are changed, the first and the last among them.
const flips = 20

// A file of the log's folder in which a bit is another one, that is cut or gone is found at the
// start, or does no harm: the log goes on and has all that it had.
func TestEveryFileOfALog(t *testing.T) {
	w := newWorld(t)
	w.options.Witnesses, w.options.Least, w.policy.Witnesses = nil, 0, nil
	w.log.Close()
	alone := w.options
	alone.Folder = t.TempDir()
	s := w.start(alone)
	for i := range 3 {
		w.logged(s, fmt.Sprint("plan ", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(alone.Folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, alone.Folder))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	refused, whole := 0, 0
	for _, file := range files {
		spoils := map[string]func([]byte) []byte{
			"half": func(b []byte) []byte { return b[:len(b)/2] },
			"gone": nil,
		}
		for n := range flips {
			spoils[fmt.Sprintf("bit %d of %d", n, flips)] = func(b []byte) []byte {
				b[n*(len(b)-1)/(flips-1)] ^= 1 << (n % 8)
				return b
			}
		}
		for how, spoil := range spoils {
			o := alone
			o.Folder = t.TempDir()
			if err := os.CopyFS(o.Folder, os.DirFS(alone.Folder)); err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(o.Folder, file)
			text, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case spoil == nil:
				err = os.Remove(at)
			case len(text) > 0:
				err = os.WriteFile(at, spoil(text), 0o600)
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := planlog.New(t.Context(), o)
			if err != nil {
				refused++
				if !strings.Contains(err.Error(), "damaged") {
					t.Errorf("%s, %s: %v", file, how, err)
				}
				continue
			}
			whole++
			e, err := s.Add(t.Context(), w.signed("another"))
			if err != nil || e.Index != 3 {
				t.Errorf("%s, %s: the log takes no entry: %d, %v", file, how, e.Index, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if refused < 2*flips || whole == 0 {
		t.Errorf("of %d files: %d refused, %d passed", len(files), refused, whole)
	}
	t.Logf("%d files: %d refused, %d without harm", len(files), refused, whole)
}

// The folder of an earlier version is refused by name, with the way out, and nothing is written to it.
func TestTheFolderOfAnEarlierVersion(t *testing.T) {
	w := newWorld(t)
	w.options.Folder = t.TempDir()
	state := filepath.Join(w.options.Folder, ".state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := planlog.New(t.Context(), w.options); err == nil || !strings.Contains(err.Error(), state) || !strings.Contains(err.Error(), "begin a new log under a new name") {
		t.Errorf("it is opened: %v", err)
	}
	if files, err := os.ReadDir(w.options.Folder); err != nil || len(files) != 1 {
		t.Errorf("%d files are there: %v", len(files), err)
	}
}
