package mixer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
)

// away puts the blobs of an empty store back when it is listed.
type away struct {
	blob.Store
	back func()
}

func (a away) List(ctx context.Context, under string) ([]string, error) {
	a.back()
	return a.Store.List(ctx, under)
}

// A crowd whose store is empty waits, also where somebody writes the result of a step there afterwards, and where all
// comes back between two looks. A part that lacks beside others is lost for good.
func TestAPartIsLostBesideOthers(t *testing.T) {
	*dir, *workers, *worker = t.TempDir(), 1, 0
	lay(t)
	l := laid(t)
	h, s := l.hop(t), store(t)
	scatter := func(s blob.Store, part int) error { return l.Crowd.Do(t.Context(), h, s, mixer.Step{Number: part}) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	under := filepath.Join(*dir, "blobs", filepath.FromSlash(l.Crowd.Under))
	parts, aside := filepath.Join(under, "part"), filepath.Join(*dir, "aside")

	must(os.Rename(parts, aside))
	must(s.Put(t.Context(), l.Crowd.Under+"/fragment/0/0", []byte("a deal")))
	if err := scatter(s, 0); !errors.Is(err, mixer.ErrElsewhere) || errors.Is(err, mixer.ErrLost) {
		t.Errorf("of an empty store: %v", err)
	}
	must(scatter(away{s, func() { must(os.Rename(aside, parts)) }}, 0))
	if _, err := l.Crowd.Steps(t.Context(), s); err != nil {
		t.Errorf("all is there: %v", err)
	}
	must(s.Delete(t.Context(), l.Crowd.Under+"/part/1"))
	if err := scatter(s, 1); !errors.Is(err, mixer.ErrLost) {
		t.Errorf("of a part that lacks: %v", err)
	}
	if _, err := l.Crowd.Steps(t.Context(), s); !errors.Is(err, mixer.ErrLost) {
		t.Errorf("after a part was lost: %v", err)
	}
}
