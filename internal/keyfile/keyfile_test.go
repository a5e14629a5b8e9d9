package keyfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestFilesComeBack(t *testing.T) {
	f := File{Suite: "x25519", Purpose: "analyzer", PublicKey: keytext.Encode("x25519", []byte{1, 2, 3}), PrivateKey: []byte{4, 5, 6}}
	dir := t.TempDir()
	path := filepath.Join(dir, "key.json")
	if err := Create(path, f); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || got.Suite != f.Suite || got.Purpose != f.Purpose || got.PublicKey != f.PublicKey || !bytes.Equal(got.PrivateKey, f.PrivateKey) || time.Since(got.Made).Abs() > time.Minute {
		t.Errorf("read something else (%v)", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	made := `,
  "made": "` + got.Made.Format(time.RFC3339) + `"`
	for _, c := range []struct {
		made string
		read bool
	}{{"", true}, {`, "made": "2027-01-31"`, false}, {`, "made": "2027-01-31T12:00:00+01:00"`, false}, {`, "made": "2027-01-31T12:00:00Z"`, true}} {
		other := filepath.Join(t.TempDir(), "key.json")
		if err := os.WriteFile(other, bytes.Replace(text, []byte(made), []byte(c.made), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(other); (err == nil) != c.read || c.made == "" && !again.Made.IsZero() {
			t.Errorf("made %q: %v, %v", c.made, again.Made, err)
		}
	}
	if err := Create(path, f); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left (%v)", len(left), err)
	}
	if raw, err := keytext.Decode("x25519", f.PublicKey); err != nil || !bytes.Equal(raw, []byte{1, 2, 3}) {
		t.Errorf("the public key decodes to %x (%v)", raw, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("a file open to others was read")
	}
	if _, err := Read(dir); err == nil {
		t.Error("a folder was read")
	}
}

// The folder's name would be a pattern, if anybody took it for one.
func TestReadFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[keys]")
	if _, err := ReadFolder(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "b.json", "other"} {
		if err := Create(filepath.Join(dir, name), File{Suite: "x25519", Purpose: name}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := ReadFolder(dir)
	if err != nil || len(files) != 2 || files[filepath.Join(dir, "b.json")].Purpose != "b.json" {
		t.Errorf("%d files, %v; want a.json and b.json", len(files), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := ReadFolder(dir); err == nil || len(files) != 2 {
		t.Errorf("beside a file without a key: %d files, %v; want two and an error", len(files), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":"confetti-private-key/v1","suite":"x25519","purpose":"","id":"` + keytext.ID("") + `","public_key":"","private_key":"AQID"}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			file, err := parse(text)
			if err != nil {
				if strings.Contains(err.Error(), "AQID") {
					t.Error("the error shows the key")
				}
				return
			}
			path := filepath.Join(t.TempDir(), "k")
			if err := Create(path, file); err != nil {
				t.Fatal(err)
			}
			if again, err := Read(path); err != nil || !bytes.Equal(again.PrivateKey, file.PrivateKey) || again.PublicKey != file.PublicKey {
				t.Errorf("accepted, but does not come back: %v", err)
			}
		})
	})
}
