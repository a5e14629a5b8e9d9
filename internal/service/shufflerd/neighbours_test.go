package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copied keeps a copy of a stopped hop's folder, and putBack puts it there again.
func (w *world) copied(hop int, as string) {
	w.t.Helper()
	w.stop(hop)
	if err := os.CopyFS(filepath.Join(w.dir, as), os.DirFS(w.folder(hop))); err != nil {
		w.t.Fatal(err)
	}
	w.start(hop)
}

func (w *world) putBack(hop int, from string) {
	w.t.Helper()
	w.stop(hop)
	if err := errors.Join(os.RemoveAll(w.folder(hop)), os.CopyFS(w.folder(hop), os.DirFS(filepath.Join(w.dir, from)))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) folder(hop int) string { return filepath.Join(w.dir, fmt.Sprint("queue", hop)) }

// A hop whose folder is an older copy learns from its neighbours that a crowd has
// left, or has come, that the folder does not know of, and does not start. The newest
// copy is fine.
func TestAnOlderFolderDoesNotStart(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.contribute(0, 0, 1, 2, 3)
	w.copied(0, "entry, collecting")
	w.copied(1, "last, waiting")
	w.end()
	second := w.hops[1]
	w.hops[1] = nil // out of reach
	if w.hops[0].service.Step(t.Context()) == nil {
		t.Fatal("nobody was there")
	}
	w.hops[1] = second
	w.copied(0, "entry, mixed")
	if err := w.hops[0].service.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.copied(1, "last, received")
	w.copied(0, "entry, forwarded")
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.copied(1, "last, forwarded")
	if len(w.batches) != 1 {
		t.Fatal("nothing came to the analyzer")
	}
	for _, c := range []struct {
		hop   int
		copy  string
		older bool
	}{
		{0, "entry, collecting", true},
		{0, "entry, mixed", false}, // it sends what it sent, and is told that it was there
		{0, "entry, forwarded", false},
		{1, "last, waiting", true},
		{1, "last, received", true},
		{1, "last, forwarded", false},
	} {
		w.putBack(c.hop, c.copy)
		if err := w.tryStart(c.hop, false); errors.Is(err, errOlder) != c.older {
			t.Errorf("%s: %v", c.copy, err)
		}
		if c.older {
			w.putBack(c.hop, []string{"entry, forwarded", "last, forwarded"}[c.hop])
			w.start(c.hop)
			continue
		}
		for range 3 {
			if err := w.step(); err != nil {
				t.Errorf("%s: %v", c.copy, err)
			}
		}
		if alarms := w.alarms(c.hop); alarms != "" {
			t.Errorf("%s: %s", c.copy, alarms)
		}
	}

	// A neighbour that has forgotten is an alarm of the one that remembers.
	w.stop(0)
	w.putBack(1, "last, waiting")
	if err := w.tryStart(1, false); err != nil { // nobody is there to tell, and the analyzer's answer comes
		if !errors.Is(err, errOlder) {
			t.Fatal(err)
		}
		w.cut = true
		w.start(1)
	}
	w.start(0)
	if alarms := w.alarms(0); !strings.Contains(alarms, "operator 1 acknowledged the batch of crowd 1, and does not know it any more") {
		t.Errorf("alarms: %s", alarms)
	}
}

// A neighbour that was out of reach at the start is asked again before anything is
// mixed: a crowd that has left is not mixed a second time.
func TestAnOlderFolderMixesNothing(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 0, 1, 2, 3)
	w.copied(0, "collecting")
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.putBack(0, "collecting")
	w.cut = true
	w.start(0)
	w.cut = false
	found(w.hops[0].service, w.plan.Hash()).posts[0].meet() // as if a minute later: nobody was silent
	for range 3 {
		if err := w.hops[0].service.Step(context.Background()); !errors.Is(err, errOlder) {
			t.Errorf("mixed again: %v", err)
		}
	}
}
