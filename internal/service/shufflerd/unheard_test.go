package shufflerd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/queue"
)

// A mark that is on disk, and of which nobody has heard, as when a queue's cluster elects a
// leader, is found out: the hop goes on by it, in the same process or in the next one, and
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
								return queue.ErrUnavailable
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

// What was written before a mark was found out cannot come late.
func TestALateMarkIsRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	post := found(w.hops[0].service, w.plan.Hash()).posts[0]
	late := post.state(0).revision
	post.unsure[0] = true
	if err := post.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(post.unsure) > 0 {
		t.Error("it is not found out")
	}
	if _, err := w.hops[0].service.records.Set(t.Context(), post.crowdKey(0), crowd{Phase: withheld}.value(), late); !errors.Is(err, queue.ErrChanged) {
		t.Errorf("a mark came late: %v", err)
	}
	w.contribute(0, 0, 1, 2)
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2)})
}
