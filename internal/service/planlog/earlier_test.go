package planlog_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// carried is a copy of testdata/earlier, which the version before this one wrote: two plans, a release of the first, a
// round of a study and a withdrawal of the first.
func carried(t *testing.T) planlog.Options {
	t.Helper()
	seeded := func(b byte) ed25519.PrivateKey {
		return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
	}
	o := planlog.Options{
		Folder: t.TempDir(), Name: "log.example/plans", Key: relay.NewSignKey(seeded(3)), Interval: 100 * time.Millisecond,
		Publishers: serve.Trust(plan.Publisher(seeded(7).Public().(ed25519.PublicKey))),
	}
	if err := os.CopyFS(o.Folder, os.DirFS("testdata/earlier")); err != nil {
		t.Fatal(err)
	}
	return o
}

// What an earlier version has kept is carried over, whatever crash comes between, and everybody is shown the same
// bytes as before. A log that is begun anew beside it is refused.
func TestALogOfAnEarlierVersion(t *testing.T) {
	o := carried(t)
	w := &world{t: t, publisher: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))}
	checkpoint, err := os.ReadFile("testdata/earlier/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{"", "carried twice, as after a crash", "as after any other start"} {
		if strings.HasPrefix(again, "carried") {
			if err := os.Rename(filepath.Join(o.Folder, ".carried"), filepath.Join(o.Folder, ".state")); err != nil {
				t.Fatal(err)
			}
		}
		s, err := planlog.New(t.Context(), o)
		if err != nil {
			t.Fatal(again, err)
		}
		server, err := serve.New(serve.Config{Name: "log", Routes: s.Routes(), Ready: s.Ready, Status: s.Status})
		if err != nil {
			t.Fatal(err)
		}
		at := httptest.NewServer(server)
		for _, path := range []string{"checkpoint", "tile/entries/000.p/5", "tile/0/000.p/5", "tile/0/000.p/3"} {
			want, err := os.ReadFile(filepath.Join("testdata/earlier", path))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := serve.GetText(t.Context(), at.Client(), at.URL+"/"+path, 1<<16); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s%s: %q, want %q, %v", again, path, got, want, err)
			}
		}
		var policy plan.Log
		verifier, err := o.Key.Public().Note(o.Name)
		policy.Key = note(t, verifier, err)
		kinds := ""
		if _, err := planlog.Audit(t.Context(), at.URL, policy, at.Client(), func(l planlog.Logged) error {
			kinds += l.Entry.Kind + " "
			return nil
		}); err != nil || kinds != "  release  withdrawal " {
			t.Errorf("%san auditor sees %q: %v", again, kinds, err)
		}
		e, err := s.Add(t.Context(), w.signed("two"))
		if err != nil || e.Index != 1 || e.Checkpoint != string(checkpoint) {
			t.Errorf("%sa plan that it had: %+v, %v", again, e, err)
		}
		at.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	other := carried(t)
	made(t, other.Folder)
	aside := filepath.Join(other.Folder, ".aside")
	if err := os.Rename(filepath.Join(other.Folder, ".state"), aside); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(other.Folder, "checkpoint")); err != nil {
		t.Fatal(err)
	}
	s, err := planlog.New(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), w.signed("another")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Rename(aside, filepath.Join(other.Folder, ".state")), os.WriteFile(filepath.Join(other.Folder, "checkpoint"), checkpoint, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := planlog.New(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another log than that of") {
		t.Errorf("beside another log: %v", err)
	}
}

// A file of an earlier version that is changed or gone is refused by name before anything of it is kept, or was not
// needed.
func TestEveryFileOfAnEarlierVersion(t *testing.T) {
	refused, whole := map[string]bool{}, map[string]bool{}
	err := fs.WalkDir(os.DirFS("testdata/earlier"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for n := range 8 {
			o := carried(t)
			at := filepath.Join(o.Folder, path)
			text, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			if n == 0 {
				err = os.Remove(at)
			} else {
				text[n*(len(text)-1)/7] ^= 1 << n
				err = os.WriteFile(at, text, 0o600)
			}
			if err != nil {
				return err
			}
			s, err := planlog.New(t.Context(), o)
			if err == nil {
				whole[path] = true
				if err := s.Close(); err != nil {
					return err
				}
				continue
			}
			refused[path] = true
			if !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s, %d: %v", path, n, err)
			}
			if _, err := os.Stat(filepath.Join(o.Folder, "shelves")); err == nil {
				t.Errorf("%s, %d: a store was made", path, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range refused {
		if whole[path] {
			t.Errorf("%s passes with some of its changes", path)
		}
	}
	// Tiles of hashes, and bundles of earlier sizes, follow from the last bundle; a mark of a round can be lost, not changed.
	if len(refused) < 9 {
		t.Errorf("refused: %v", refused)
	}
}
