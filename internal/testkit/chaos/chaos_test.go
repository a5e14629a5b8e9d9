package chaos

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/wire"
)

var (
	schedules = flag.Int("chaos.schedules", 100, "seeded schedules of TestSchedules")
	firstSeed = flag.Uint64("chaos.first", 1, "seed of the first one")
	processes = flag.Int("chaos.processes", 10, "seeded schedules of TestKilledProcesses")
	oneSeed   = flag.Uint64("chaos.seed", 0, "run the schedule of this seed alone and tell what happens")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		beChild(text)
	}
	atomicfiletest.InMemory()                              // processes are killed here and no machine is: a disk would keep the same
	if err := flag.Set("test.parallel", "4"); err != nil { // processes of others are waited for, by disks and clocks
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(rings().dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Whatever happens, every acknowledged report is counted once when its crowd is
// released, none is that nobody may have sent, and nothing leaves below n_min. A
// schedule that shows otherwise is made as short as it gets.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		tell(t, *oneSeed)
		return
	}
	if testing.Short() { // under the race detector
		*schedules = min(*schedules, 24)
	}
	var next atomic.Uint64
	var wg sync.WaitGroup
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) + 1 { // one waits for the disk now and then
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(*schedules) || t.Failed() {
					return
				}
				check(t, *firstSeed+i)
			}
		})
	}
	wg.Wait()
	t.Logf("%d schedules in %.1f s", min(uint64(*schedules), next.Load()), time.Since(begin).Seconds())
	t.Log(seen)
	if *schedules < 100 || *firstSeed != 1 {
		return
	}
	want := []string{"crowd released", "contribution acknowledged"}
	for _, f := range faults {
		want = append(want, "link "+f)
	}
	for _, crash := range everyCrash() {
		want = append(want, "crash of "+crash)
	}
	for _, code := range []wire.Code{wire.StorageFull, wire.AlreadyContributed, wire.Unauthenticated, wire.TokenRefused, wire.EpochOver, wire.NotOpen} {
		want = append(want, "answer "+string(code))
	}
	for _, w := range want {
		if seen.count(w) == 0 {
			t.Errorf("no schedule has seen: %s", w)
		}
	}
}

func check(t *testing.T, seed uint64) { checkDrawn(t, seed, draw(seed)) }

func checkDrawn(t *testing.T, seed uint64, s schedule) {
	w, err := s.run(fmt.Sprint("seed ", seed), nil)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	if len(w.violations) == 0 {
		return
	}
	small, tries := shrink(s, func(c schedule) bool { return c.fails(nil) })
	t.Errorf("seed %d: %s\nAfter %d tries to make it shorter:\n%v\n(go test ./internal/testkit/chaos -run %s -chaos.seed %d -v tells the whole of it)",
		seed, strings.Join(w.violations, "; "), tries, small, t.Name(), seed)
}

// fails reports that a schedule shows a violation.
func (s schedule) fails(twin func(*world)) bool {
	w, err := s.run("shrinking", twin)
	return err == nil && len(w.violations) > 0
}

func tell(t *testing.T, seed uint64) { tellDrawn(t, seed, draw(seed)) }

func tellDrawn(t *testing.T, seed uint64, s schedule) {
	t.Log(s)
	w, err := s.run(fmt.Sprint("seed ", seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + strings.Join(w.log, "\n"))
	for _, v := range w.violations {
		t.Error(v)
	}
}

// tally counts what schedules have come by: a proof that nothing went wrong is
// worth what was tried.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

var seen = &tally{n: map[string]int{}}

func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what]++
}

func (t *tally) count(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[what]
}

// with adds up what begins and goes on so.
func (t *tally) with(begin, part string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for what, times := range t.n {
		if strings.HasPrefix(what, begin) && strings.Contains(what, part) {
			n += times
		}
	}
	return n
}

// String is a list for people.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.n)) {
		fmt.Fprintf(&b, "\n%6d %s", t.n[what], what)
	}
	return b.String()
}
