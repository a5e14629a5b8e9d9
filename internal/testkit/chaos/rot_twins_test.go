package chaos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
)

// rottenTwins are services that pass over what has rotted, as these did once.
var rottenTwins = map[string]struct {
	plant func(*world)
	from  uint64 // seed to begin with: an earlier search has shown that the ones before it do not catch it
}{
	// A hop sends what its disk gives, without walking the digest of the batch first.
	"no digest walk": {func(w *world) {
		rotten := map[string]bool{}
		w.hide = func(n *node, path, whole string) error {
			if kindOf(path) != "blob of out" {
				return nil
			}
			rotten[n.name] = true // and what the real one would find is hidden from it
			return errors.Join(os.RemoveAll(n.dir), copyDisk(whole, n.dir))
		}
		w.twin = func(x *parcel) *http.Response {
			if rotten[x.from] && x.method == http.MethodPut && strings.Contains(x.path, "/batches/") {
				x.body = bytes.Clone(x.body)
				x.body[len(x.body)-1] ^= 1
			}
			return nil
		}
	}, 1},
	// The issuer's shelves have no frames, and nobody knows how far they had come: what does
	// not fit is a torn end, and is cut off with every mark behind it.
	"no framing": {func(w *world) {
		w.hide = func(n *node, path, _ string) error {
			if n.name != "issuer" || filepath.Ext(path) != ".rows" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil // it is gone: that, the old one saw
			}
			return errors.Join(os.WriteFile(path, text[:framed(text)], 0o600), os.WriteFile(strings.TrimSuffix(path, ".rows")+".check", freshCheck(), 0o600))
		}
	}, 340},
	// The issuer draws a new secret where it finds none, and knows nobody again.
	"a silent new secret": {func(w *world) {
		w.hide = func(n *node, path, _ string) error {
			if filepath.Base(path) != "main.key" {
				return nil
			}
			files, err := filepath.Glob(filepath.Join(n.dir, "*"))
			if err != nil {
				return err
			}
			for _, file := range files {
				if filepath.Base(file) != "lock" {
					err = errors.Join(err, os.RemoveAll(file))
				}
			}
			return err
		}
		w.twinned = func(n *node) error { return w.register(n.name) }
	}, 1},
}

// freshCheck returns what a shelf says that is new: nothing of how far it has come.
var freshCheck = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "confetti-chaos-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = journal.Create(dir)
	}
	text, readErr := os.ReadFile(filepath.Join(dir, "main.check"))
	if err = errors.Join(err, readErr); err != nil {
		panic(err)
	}
	return text
})

// framed is how many bytes of a log are whole frames.
func framed(text []byte) int {
	at := bytes.IndexByte(text, '\n') + 1
	for at+8 <= len(text) {
		end := at + 8 + int(binary.BigEndian.Uint32(text[at:]))
		if end > len(text) {
			break
		}
		table := crc32.MakeTable(crc32.Castagnoli)
		if crc32.Update(crc32.Checksum(text[at:at+4], table), table, text[at+8:end]) != binary.BigEndian.Uint32(text[at+4:]) {
			break
		}
		at = end
	}
	return at
}

func TestServicesThatPassOverRotAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs many schedules")
	}
	for name, twin := range rottenTwins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := twin.from; seed < twin.from+400; seed++ {
				s := drawRotten(seed)
				if !s.fails(twin.plant) {
					continue
				}
				t.Logf("seed %d", seed)
				if s.fails(nil) {
					t.Error("it fails without the bug")
				}
				return
			}
			t.Error("no schedule has caught it")
		})
	}
}
