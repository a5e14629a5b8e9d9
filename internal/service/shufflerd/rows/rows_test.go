package rows

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/shuffler"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	m.Run()
}

func open(t *testing.T) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := OpenFolder(dir, serve.Common{Begin: serve.Begin{New: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	store, err := Open(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	return store, dir
}

// The shelves of a hop are no other role's, nor another role's a hop's.
func TestShelvesAreOfOneRole(t *testing.T) {
	s, _ := open(t)
	if _, err := shelves.Main(t.Context(), s, "leader"); err == nil || !strings.Contains(err.Error(), "is that of a hop") {
		t.Errorf("a leader on a hop's: %v", err)
	}
	other, err := OpenFolder(t.TempDir(), serve.Common{Begin: serve.Begin{New: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := shelves.Main(t.Context(), other, "leader"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), other, false); err == nil || !strings.Contains(err.Error(), "is that of a leader") {
		t.Errorf("a hop on a leader's: %v", err)
	}
}

// A row is written by whoever knows what it was, and once more by whoever was not answered.
func TestSet(t *testing.T) {
	s, _ := open(t)
	for _, c := range []struct {
		was, value string
		err        error
	}{{"", "one", nil}, {"", "one", nil}, {"", "two", ErrChanged}, {"other", "two", ErrChanged}, {"one", "two", nil}, {"one", "two", nil}, {"one", "three", ErrChanged}} {
		var was []byte
		if c.was != "" {
			was = []byte(c.was)
		}
		if err := s.Set(t.Context(), Crowds, "key", []byte(c.value), was); !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%q over %q: %v", c.value, c.was, err)
		}
	}
	if value, there, err := s.Settled(t.Context(), Crowds, "key"); string(value) != "two" || !there || err != nil {
		t.Errorf("%q, %v, %v", value, there, err)
	}
	if _, there, err := s.Settled(t.Context(), Crowds, "none"); there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
}

// A crowd has one key until it is forgotten, and never one again.
func TestACrowdsKey(t *testing.T) {
	s, dir := open(t)
	one, err := s.Key(t.Context(), "post", 0, "bodies")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.Key(t.Context(), "post", 0, "bodies")
	order, _ := s.Key(t.Context(), "post", 0, "parts")
	other, _ := s.Key(t.Context(), "post", 1, "bodies")
	if one != again || one == order || one == other || order == other {
		t.Error("keys are not what their crowds and purposes say")
	}
	files, err := filepath.Glob(filepath.Join(dir, shelves.InFolder, "crowd-post-0.key"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Forget(t.Context(), CrowdShelf("post", 0)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Key(t.Context(), "post", 0, "bodies"); !errors.Is(err, keep.ErrDropped) {
		t.Errorf("there is a key again: %v", err)
	}
	if err := s.Forget(t.Context(), CrowdShelf("post", 7)); err != nil {
		t.Errorf("of a crowd of which nothing was here: %v", err)
	}
	secret := bytes.TrimSpace(text)[len("confetti-shelf-key/v1 ") : len("confetti-shelf-key/v1 ")+20]
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, secret) {
				t.Errorf("the key is in %s, %v", path, err)
			}
		}
		return nil
	})
}

// A box gives back what was written, or says that it is damaged.
func TestBox(t *testing.T) {
	dir := t.TempDir()
	blobs, err := blob.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := Box{Blobs: blobs, Key: shuffler.NewKey(), Under: "post/in/0/" + Attempt()}
	body := bytes.Repeat([]byte("0123456789abcdef"), (2*ChunkBody+320)/16)
	w := b.Chunks(t.Context())
	for rest := body; len(rest) > 0; {
		n := min(len(rest), 700_001)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Flush(); err != nil || w.Size() != int64(len(body)) {
		t.Fatal(w.Size(), err)
	}
	read := func() ([]byte, error) {
		var all []byte
		err := b.Each(t.Context(), int64(len(body)), func(part []byte) error { all = append(all, part...); return nil })
		return all, err
	}
	if all, err := read(); err != nil || !bytes.Equal(all, body) {
		t.Fatalf("%d bytes came back: %v", len(all), err)
	}
	for _, c := range [][2]int64{{0, 1}, {ChunkBody - 3, 10}, {5, int64(len(body)) - 5}} {
		if got, err := b.Stretch(t.Context(), c[0], c[1]); err != nil || !bytes.Equal(got, body[c[0]:c[0]+c[1]]) {
			t.Errorf("from %d %d bytes: %v", c[0], c[1], err)
		}
	}
	if _, err := b.Stretch(t.Context(), int64(len(body))-5, 6); !errors.Is(err, keep.ErrDamaged) {
		t.Errorf("more than there is: %v", err)
	}
	path := func(n int) string { return filepath.Join(dir, filepath.FromSlash(b.Under), fmt.Sprint(n)) }
	for name, spoil := range map[string]func() error{
		"a bit":       func() error { return flip(path(1)) },
		"exchanged":   func() error { return os.Rename(path(0), path(1)) },
		"gone":        func() error { return os.Remove(path(2)) },
		"another key": func() error { b.Key = shuffler.NewKey(); return nil },
	} {
		whole, key := t.TempDir(), b.Key
		if err := os.CopyFS(whole, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := read(); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		b.Key = key
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(whole))); err != nil {
			t.Fatal(err)
		}
	}
}

func flip(path string) error {
	text, err := os.ReadFile(path)
	if err == nil {
		text[len(text)/2] ^= 1
		err = os.WriteFile(path, text, 0o600)
	}
	return err
}

// What an earlier version kept is refused by name, with the way out.
func TestEarlierFolders(t *testing.T) {
	for _, name := range []string{"jetstream", "inboxes", "parts"} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := OpenFolder(dir, serve.Common{Begin: serve.Begin{New: true}})
		if err == nil || !strings.Contains(err.Error(), name+" was kept by an earlier version") || !strings.Contains(err.Error(), "end its plans") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, dir := open(t)
	blobs, err := blob.OpenFolder(filepath.Join(dir, BlobsFolder))
	if err != nil {
		t.Fatal(err)
	}
	hash := strings.Repeat("ab", 32)
	if err := blobs.Put(t.Context(), hash+"_0_0/0/attempt/part/0", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckBlobs(t.Context(), blobs); err == nil || !strings.Contains(err.Error(), hash) {
		t.Errorf("of a plan that was never here: %v", err)
	}
	if err := s.Set(t.Context(), Gone, hash, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckBlobs(t.Context(), blobs); err != nil {
		t.Errorf("of a plan that was: %v", err)
	}
}

// Room is for what came and for what is made of it.
func TestRoom(t *testing.T) {
	s, _ := open(t)
	beside := int64(1000)
	used, _, err := s.Store.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := NewQuota(s, 2*(used+5000), func() int64 { return beside })
	for _, parts := range [][]int64{{4000}, {1000, 3000}, {1, 1, 1, 3997}} {
		var all []func()
		for _, n := range parts {
			done, err := r.Reserve(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, done)
		}
		// Callers that come together get no more than one: what is coming counts, and what has come since the measure.
		for i := range 2 {
			if _, err := r.Reserve(t.Context(), 1); !errors.Is(err, keep.ErrFull) {
				t.Errorf("%v: %d bytes more: %v", parts, i, err)
			}
			for _, done := range all {
				done()
			}
			all = nil
		}
		r.at = time.Time{} // measured again, and nothing was written
		if err := r.Healthy(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Reserve(t.Context(), 4001); !errors.Is(err, keep.ErrFull) {
		t.Errorf("%v", err)
	}
	if n, err := r.Bytes(t.Context()); n != used+1000 || err != nil {
		t.Errorf("%d bytes are kept: %v", n, err)
	}
	s.stuck.Store(true)
	if err := r.Healthy(t.Context()); !errors.Is(err, keep.ErrUnavailable) {
		t.Errorf("a write was not answered: %v", err)
	}
}
