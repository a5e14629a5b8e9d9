package chaos

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// twins are services with a bug planted at their door. Each must be caught, and
// shrunk to little more than what the bug needs.
var twins = map[string]struct {
	plant func(*world)
	most  int    // events that a shrunk schedule may have
	from  uint64 // seed to begin with: an earlier search has shown that the ones before it do not catch it
}{
	// The entry acknowledges what it holds in memory, and writes it down one event
	// later. n_min reports and a crash show it.
	"acknowledged before it is on disk": {func(w *world) {
		type held struct {
			x         *parcel
			run, ages int
		}
		var memory []held
		w.twin = func(x *parcel) *http.Response {
			if _, _, ok := contributionOf(x); !ok || x.from == "outside" {
				return nil
			}
			memory = append(memory, held{x: x, run: w.nodes[x.to].runs})
			return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody, Header: http.Header{}}
		}
		w.tick = func() {
			var young []held
			for _, m := range memory {
				switch m.ages++; {
				case m.run != w.nodes[m.x.to].runs: // gone with the process
				case m.ages > 1:
					w.net.handIn(m.x)
				default:
					young = append(young, m)
				}
			}
			memory = young
		}
	}, 6, 4},
	// What was written to the entry's disk last is not there after a crash, as of a
	// disk that says it is and keeps it in a cache. A report is lost, or a crowd
	// leaves again with another permutation.
	"a disk that forgets": {forgets(hopName(0, 0)), 8, 30},
	// A retry is not recognized: every one comes as somebody else's.
	"a retry is counted again": {func(w *world) {
		seen := map[[32]byte]bool{}
		w.twin = func(x *parcel) *http.Response {
			id, c, ok := contributionOf(x)
			if !ok || x.from == "outside" || w.shape.tokens {
				return nil
			}
			if seen[id] {
				again, err := w.forge(w.deviceCell(x.from), int(c.Instance), int(c.Crowd))
				if err != nil {
					return nil
				}
				copied := *x
				copied.body = again.Body
				copied.header = x.header.Clone()
				copied.header.Set("Authorization", "Bearer "+w.ring.bearers[maxDevices-1])
				w.net.handIn(&copied)
			}
			seen[id] = true
			return nil
		}
	}, 7, 8},
	// Whoever knocks is let in.
	"nobody is asked who they are": {func(w *world) {
		w.twin = func(x *parcel) *http.Response {
			if !w.shape.tokens && strings.Contains(x.path, "/contributions/") && x.header.Get("Authorization") == "" {
				x.header.Set("Authorization", "Bearer "+w.ring.bearers[maxDevices-1])
			}
			return nil
		}
	}, 2, 4},
}

// forgets is the twin of a disk that does not have what was written to it last.
func forgets(name string) func(*world) {
	return func(w *world) {
		n := w.nodes[name]
		var before, now string // the disk as it was after the last event but one, and after the last
		copies := 0
		w.tick = func() {
			if !n.up() {
				if before != "" {
					n.lost, before = before, ""
				}
				return
			}
			copies++
			before, now = now, filepath.Join(w.dir, fmt.Sprint("copy-", copies))
			if err := copyDisk(n.dir, now); err != nil {
				w.broken = errors.Join(w.broken, err)
			}
		}
	}
}

func TestPlantedBugsAreCaughtAndShrunk(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs many schedules")
	}
	for name, twin := range twins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := twin.from; seed < twin.from+60; seed++ {
				s := draw(seed)
				if !s.fails(twin.plant) {
					continue
				}
				small, tries := shrink(s, func(c schedule) bool { return c.fails(twin.plant) })
				t.Logf("seed %d: from %d events to %d in %d tries\n%v", seed, len(s.events), len(small.events), tries, small)
				if len(small.events) > twin.most {
					t.Errorf("%d events are left, want at most %d", len(small.events), twin.most)
				}
				if small.fails(nil) {
					t.Error("what is left fails without the bug")
				}
				return
			}
			t.Error("no schedule has caught it")
		})
	}
}

// The shrinker finds what matters among what does not, wherever it stands.
func TestShrink(t *testing.T) {
	r := seeded.New(5)
	for range 50 {
		s := schedule{}
		for i := range 40 {
			s.events = append(s.events, event{n: i})
		}
		a, b, c := r.IntN(40), r.IntN(40), r.IntN(40)
		small, _ := shrink(s, func(s schedule) bool {
			found := map[int]bool{}
			for _, e := range s.events {
				found[e.n] = true
			}
			return found[a] && found[b] && found[c]
		})
		distinct := map[int]bool{a: true, b: true, c: true}
		if len(small.events) != len(distinct) {
			t.Errorf("%d events are left, want %d", len(small.events), len(distinct))
		}
	}
}
