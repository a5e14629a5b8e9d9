package bands

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// placed writes a declaration and its key to a folder.
func placed(t *testing.T, text []byte) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	file = filepath.Join(folder, "bands.toml")
	key, err := relay.GenerateSignKey()
	if err == nil {
		err = partykey.CreateSigning(filepath.Join(folder, "hook.json"), key, "test")
	}
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder, file
}

// A declaration that is taken has an address over TLS or on this machine, and bands of shares.
func FuzzBands(f *testing.F) {
	good := fmt.Appendf(nil, declared, "https://hooks.example/confetti")
	f.Add(good)
	f.Add(good[:len(good)-5])
	f.Add([]byte("url = 'http://user:word@127.0.0.1/'\n[[band]]\nlow = nan\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, file := placed(t, text)
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			c, _, err := read(file)
			if err != nil {
				return
			}
			if c.address() != nil || len(c.Bands) == 0 || len(c.Bands) > mostBands {
				t.Errorf("%+v is taken", c)
			}
			for _, b := range c.Bands {
				if !(b.Low >= 0 && b.Low <= b.High && b.High <= 1) || b.Title == "" || b.Metric == "" || b.Value == "" {
					t.Errorf("%+v is taken", b)
				}
			}
		})
	})
}

// What is kept of messages is refused or carried on: a step of it can be read again.
func FuzzOutbox(f *testing.F) {
	f.Add([]byte(`[{"id":"a","plan":"p","body":"e30=","tries":3,"next":"2026-12-01T00:00:00Z"},{"id":"b","plan":"p","done":"told"}]`))
	f.Add([]byte(`[{"id":"a","plan":"p","tries":-9223372036854775808}]`))
	f.Add([]byte(`[null]`))
	folder, file := "", ""
	f.Fuzz(func(t *testing.T, text []byte) {
		folder, file = placed(t, fmt.Appendf(nil, declared, "https://hooks.example/confetti"))
		if err := os.WriteFile(filepath.Join(folder, fileName), text, 0o600); err != nil {
			t.Fatal(err)
		}
		open := func() (*Outbox, error) {
			return Open(file, folder, slog.New(slog.DiscardHandler), func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) })
		}
		none := func(string) bool { return false } // nothing stands, and nothing is sent
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			o, err := open()
			if err != nil {
				return
			}
			if err := o.Step(t.Context(), []trend.Told{told(t, "p", 6000)}, none); err != nil {
				t.Fatal(err)
			}
			if _, err := open(); err != nil {
				t.Error(err)
			}
		})
	})
}
