package costlimit

import (
	"testing"
	"time"
)

type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

var kept []byte

// What allocates too much is caught, garbage too, and what does not is not.
func TestHeapTellsWhatIsAllocated(t *testing.T) {
	allocates := func(each, times int) func() {
		return func() {
			for range times {
				kept = make([]byte, each)
			}
		}
	}
	for name, c := range map[string]struct {
		do     func()
		caught bool
	}{
		"nothing":               {func() {}, false},
		"the base":              {allocates(Base/2, 1), false},
		"eight times":           {allocates(8<<20, 1), false},
		"ten times":             {allocates(10<<20+Base, 1), true},
		"ten times, in garbage": {allocates(1<<20, 11), true},
	} {
		r := &recorder{TB: t}
		if Heap(r, 9, 1<<20, c.do); r.failed != c.caught {
			t.Errorf("%s: caught is %v", name, r.failed)
		}
	}
}

func TestHeapForgivesWhatIsMadeOnce(t *testing.T) {
	first := true
	r := &recorder{TB: t}
	Heap(r, 1, 0, func() {
		if first {
			kept, first = make([]byte, 2*Base), false
		}
	})
	if r.failed {
		t.Error("what the first call alone allocates was counted")
	}
}

func TestProcessorTellsWork(t *testing.T) {
	work := func() {
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		}
	}
	r := &recorder{TB: t}
	if Processor(r, time.Minute, work); r.failed {
		t.Error("a fifth of a second was taken for a minute")
	}
	busy := &recorder{TB: t}
	if Processor(busy, time.Millisecond, work); !busy.failed {
		t.Error("work was not noticed")
	}
	idle := &recorder{TB: t}
	if Processor(idle, 100*time.Millisecond, func() { time.Sleep(200 * time.Millisecond) }); idle.failed {
		t.Error("sleep was taken for work")
	}
}
