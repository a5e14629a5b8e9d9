package shufflerd

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFromDevicesToAnalyzer(t *testing.T) {
	for _, hops := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(hops), func(t *testing.T) {
			w := newWorld(t, hops, nil)
			w.contribute(0, 1, 2, 3, 4)
			w.contribute(1, 5, 6) // one short of n_min
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			if len(w.batches) > 0 {
				t.Fatal("something left before the epoch's end")
			}
			w.end()
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3, 4)})
			for h := range hops {
				w.settled(h)
				r := w.receipts[0][h]
				if r.In != 8 || r.Out != 8 || r.Respondents != 4 || int(r.Hop) != h {
					t.Errorf("receipt of hop %d: %+v", h, r.Receipt)
				}
			}
			st := w.hops[0].service.Statuses(t.Context())[0]
			if st.Crowds[0].Phase != "forwarded" || st.Crowds[0].Respondents != 4 || st.Crowds[1].Phase != "withheld" || st.Crowds[1].Respondents != 0 {
				t.Errorf("status %+v", st)
			}
			// Afterwards: nothing comes in, and nothing happens again.
			status, code := w.do(0, w.request("device9", w.contribution(0, 9)))
			if status != http.StatusGone || code != wire.EpochOver {
				t.Errorf("after the end: %d %s", status, code)
			}
			for h := range hops {
				w.restart(h)
			}
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3, 4)})
		})
	}
}

// A crash at every failpoint, and at each of its first occurrences, with or
// without the contribution being sent again, loses and doubles nothing.
func TestCrashAnywhere(t *testing.T) {
	for hop := range 2 {
		for _, name := range Failpoints {
			if (name[:3] == "bat") == (hop == 0) && (name[:3] == "bat" || name[:3] == "con" || name[:3] == "epo") {
				continue // steps of the other role
			}
			for occurrence := range 2 {
				t.Run(fmt.Sprintf("%d/%s/%d", hop, name, occurrence), func(t *testing.T) {
					w := newWorld(t, 2, nil)
					seen, crashed := 0, false
					w.failpoint = func(h int, n string) error {
						if h != hop || n != name || crashed {
							return nil
						}
						if seen++; seen <= occurrence {
							return nil
						}
						crashed = true
						return errCrash
					}
					bodies := map[int][]byte{}
					for d := range 8 {
						crowd := uint32(d % 2)
						bodies[d] = w.contribution(crowd, d)
						if status, _ := w.do(0, w.request(fmt.Sprint("device", d), bodies[d])); status != http.StatusCreated {
							w.restart(0)
							// It was kept, though nobody heard; the device tries again.
							if status, code := w.do(0, w.request(fmt.Sprint("device", d), bodies[d])); status != http.StatusOK {
								t.Fatalf("again: %d %s", status, code)
							}
						}
					}
					w.end()
					for range 4 {
						if err := w.step(); err != nil {
							w.restart(hop)
						}
					}
					if !crashed && occurrence == 0 {
						t.Fatal("the failpoint was not reached")
					}
					if err := w.step(); err != nil {
						t.Fatal(err)
					}
					wantCrowds(t, w, map[uint32][]string{0: sent(0, 2, 4, 6), 1: sent(1, 3, 5, 7)})
					w.settled(0)
					w.settled(1)
				})
			}
		}
	}
}

// Crowds that do not go into memory together are read one after the other.
func TestPasses(t *testing.T) {
	for _, together := range []int{1, 2 * 3 * 400, 1 << 20} { // one crowd a pass, two, all
		w := newWorld(t, 1, func(p *plan.Plan) { p.Crowd.Names = []string{"a", "b", "c", "d"} })
		w.hops[0].service.together = together
		for d := range 12 {
			w.contribute([]uint32{0, 2, 3, 0}[d%4], d)
		}
		w.end()
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
		wantCrowds(t, w, map[uint32][]string{0: sent(0, 3, 4, 7, 8, 11), 2: sent(1, 5, 9), 3: sent(2, 6, 10)})
	}
}

func TestNextOutOfReach(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 1, 2, 3)
	w.end()
	w.cut = true
	if err := w.step(); err == nil {
		t.Fatal("the analyzer is out of reach and nobody says so")
	}
	if st := w.hops[0].service.Statuses(t.Context())[0]; st.Failing != "analyzer is out of reach" {
		t.Errorf("the operator is told %q", st.Failing)
	}
	w.restart(0)
	w.cut, w.elsewhere = false, true
	if err := w.step(); err == nil {
		t.Fatal("a redirection was taken for an acknowledgement")
	}
	w.elsewhere, w.unheard = false, true // it gets through, the answer does not
	if err := w.step(); err == nil {
		t.Fatal("an answer that nobody heard was taken for one")
	}
	w.unheard = false
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
	w.settled(0)
}

func TestCloseBeforeTime(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.contribute(0, 1, 2, 3)
	if err := w.hops[0].service.Close(context.Background(), w.plan.Hash()); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	if status, code := w.do(0, w.request("device4", w.contribution(0, 4))); code != wire.EpochOver {
		t.Errorf("after the close: %d %s", status, code)
	}
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(1, 2, 3)})
}
