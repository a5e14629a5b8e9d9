package chaos

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

var soak = flag.Duration("soak", 2*time.Second, "how long TestSoak runs")

// Services that run on through plan after plan, with lost answers and retries,
// count everybody once, forget what is past its retention, and hold no more
// memory and no more goroutines than after the first few.
func TestSoak(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, minimum: 3, devices: 6, crowds: 1}, "soak")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := seeded.New(6)
	begin, said := time.Now(), time.Now()
	plans, early, routines := 0, int64(0), 0
	for ; time.Since(begin) < *soak && len(w.violations) == 0; plans++ {
		if err := w.next(fmt.Sprint("soak ", plans)); err != nil {
			t.Fatal(err)
		}
		for d := range w.shape.devices {
			if r.IntN(4) == 0 {
				hop, fault := r.IntN(2), faults[r.IntN(len(faults))]
				w.net.fault[hopName(0, hop)] = []string{fault}
			}
			c, err := w.forge(d, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a device that is sure of nothing sends twice
				w.hand(deviceName(d), d, c, "Bearer "+w.ring.bearers[d])
			}
		}
		w.net.arrive()
		w.now = w.signed.Plan.Times.Closes
		for range 4 {
			w.step(hopName(0, 0))
			w.step(hopName(0, 1))
		}
		w.compare()
		w.checkDisks()
		w.now = w.now.Add(2 * time.Hour)
		w.step("analyzer")
		w.checkVerdict()
		w.now = w.now.Add(40 * 24 * time.Hour) // beyond everybody's retention
		for _, name := range w.services() {
			w.step(name)
		}
		if time.Since(said) > *soak/10 {
			said = time.Now()
			held := heap()
			t.Logf("%v: %d plans, %d kB held, %d goroutines", time.Since(begin).Round(time.Second), plans+1, held>>10, runtime.NumGoroutine())
			if early == 0 {
				early, routines = held, runtime.NumGoroutine()
			}
		}
	}
	for _, v := range w.violations {
		t.Error(v)
	}
	if held := heap(); held > early+16<<20 || runtime.NumGoroutine() > routines+20 {
		t.Errorf("%d plans: from %d to %d kB and from %d to %d goroutines", plans, early>>10, held>>10, routines, runtime.NumGoroutine())
	}
}

// next has the services of a world begin another collection.
func (w *world) next(title string) (err error) {
	w.said, w.sent, w.left, w.log = map[[32]byte]*contribution{}, map[string][32]byte{}, map[place]bool{}, nil
	w.net.past, w.net.late, w.net.fault = nil, nil, map[string][]string{}
	if w.signed, err = w.ring.plan(title, w.shape, address, plan.Times{Opens: w.now, Closes: w.now.Add(time.Hour)}); err != nil {
		return err
	}
	if w.proto, err = protocol.New(w.signed.Plan); err != nil {
		return err
	}
	for _, name := range w.services() {
		if err := w.register(name); err != nil {
			return err
		}
	}
	return nil
}

// An entry that is killed when it has emptied an inbox starts again, whatever other plans
// it has.
func TestAnEmptiedInboxBesideOthers(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, minimum: 2, devices: 4, crowds: 1}, "one")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"one", "two", "three"} {
		if title != "one" {
			if err := w.next(title); err != nil {
				t.Fatal(err)
			}
		}
		for d := range w.shape.devices {
			w.report(d)
		}
	}
	entry := w.nodes[hopName(0, 0)]
	w.now = w.signed.Plan.Times.Closes
	for passed, point := range []string{"epoch-mixed", "inbox-purged"} { // of the first plan, and of the third
		entry.armed[point] = passed
		w.step(entry.name)
		if entry.up() {
			t.Fatalf("no crash at %s", point)
		}
		entry.restart()
	}
	for range 3 {
		w.step(hopName(0, 0))
		w.step(hopName(0, 1))
	}
	for _, v := range w.violations {
		t.Error(v)
	}
	if n := len(w.counted()); n != 1 {
		t.Errorf("%d crowds of the last plan were released", n)
	}
}
