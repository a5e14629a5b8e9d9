package shufflerd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A mark that is on disk, and of which nobody has heard, as when a database goes away
// behind a commit, is found out: the hop goes on by it, in the same process or in the next one, and
// nothing is lost, doubled or left behind.
func TestAMarkThatNobodyHasHeardOf(t *testing.T) {
	for hop := range 2 {
		for _, at := range []phase{arriving, received, laidOut, mixed, forwarded, withheld} {
			for _, partBytes := range []int{0, 600} {
				if hop == 0 && (at == arriving || at == received) || partBytes == 0 && (at == arriving || at == laidOut) || partBytes > 0 && at == received || hop == 1 && at == withheld {
					continue
				}
				for _, again := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d/%s/%d/%v", hop, at, partBytes, again), func(t *testing.T) {
						w := newWorld(t, 2, nil)
						w.partBytes = partBytes
						for h := range w.hops {
							w.restart(h)
						}
						w.contribute(0, 0, 1, 2, 3, 4)
						want := map[uint32][]string{0: sent(0, 1, 2, 3, 4)}
						if at == withheld {
							w.contribute(1, 5)
						} else {
							w.contribute(1, 5, 6, 7, 8)
							want[1] = sent(5, 6, 7, 8)
						}
						unheard := 0
						w.failpoint = func(h int, name string) error {
							if h == hop && name == "marked "+string(at) && unheard < 2 {
								unheard++
								return keep.ErrUnavailable
							}
							return nil
						}
						w.end()
						for range 8 {
							if err := w.step(); err != nil && again {
								w.restart(hop)
							}
						}
						if unheard == 0 {
							t.Fatal("there was no such mark")
						}
						if err := w.step(); err != nil {
							t.Fatal(err)
						}
						wantCrowds(t, w, want)
						w.settled(0)
						w.settled(1)
					})
				}
			}
		}
	}
}

// A mark that another process has written is not written over.
func TestALateMarkIsRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	post := found(w.hops[0].service, w.plan.Hash()).posts[0]
	marks := w.hops[0].service.rows
	if err := marks.Set(t.Context(), rows.Crowds, post.crowdKey(0), crowd{}.value(), nil); err != nil {
		t.Fatal(err)
	}
	if err := post.mark(t.Context(), 0, crowd{Phase: withheld}); !errors.Is(err, rows.ErrChanged) {
		t.Errorf("a mark came late: %v", err)
	}
	if err := post.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := post.state(0); len(post.unsure) > 0 || state.Phase != "" || state.row == nil {
		t.Error("it is not found out")
	}
	w.contribute(0, 0, 1, 2)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2)})
}
