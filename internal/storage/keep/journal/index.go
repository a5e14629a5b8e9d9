package journal

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// index says where each row of a shelf lies. Its keys are whole: two that devices chose to
// look alike stay two. Who calls apply holds the shelf's lock alone, and any other method
// at least shares it.
type index struct {
	tables [16]table
	live   int64 // bytes of rows
}

// table is the rows of a table.
type table struct {
	rows   map[string]place
	counts map[uint32]int // of Insert's rows, by label

	// Keys in order, once somebody has asked for them: sorted runs, each at least twice as
	// long as the next, and behind them what came since. A key may be of a row that is gone.
	mu    sync.Mutex
	asked bool
	runs  [][]string
	fresh []string
}

// apply takes note of a row that lies there.
func (x *index) apply(o op, p place) {
	t := &x.tables[o.t]
	was, there := t.rows[o.key]
	if there {
		x.live -= int64(was.n)
		if was.inserted() {
			if t.counts[was.label]--; t.counts[was.label] == 0 {
				delete(t.counts, was.label)
			}
		}
	}
	if o.kind == deleted {
		delete(t.rows, o.key)
		return
	}
	if t.rows == nil {
		t.rows, t.counts = map[string]place{}, map[uint32]int{}
	}
	t.rows[o.key] = p
	x.live += int64(p.n)
	if p.inserted() {
		t.counts[p.label]++
	}
	if t.asked && !there {
		t.fresh = append(t.fresh, o.key)
	}
}

func (x *index) find(t keep.Table, key string) (place, bool) {
	p, there := x.tables[t].rows[key]
	return p, there
}

func (x *index) count(t keep.Table, label uint32) int { return x.tables[t].counts[label] }

// size returns how many rows there are.
func (x *index) size() (n int) {
	for i := range x.tables {
		n += len(x.tables[i].rows)
	}
	return n
}

// keys returns the keys of a table that begin with the prefix, in order.
func (x *index) keys(t keep.Table, prefix string) []string {
	tab := &x.tables[t]
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.sort()
	var keys []string
	parts := 0
	for _, run := range tab.runs {
		from := sort.SearchStrings(run, prefix)
		before := len(keys)
		for _, key := range run[from:] {
			if !strings.HasPrefix(key, prefix) {
				break
			}
			if _, there := tab.rows[key]; there {
				keys = append(keys, key)
			}
		}
		if len(keys) > before {
			parts++
		}
	}
	if parts > 1 {
		slices.Sort(keys)
		keys = slices.Compact(keys) // one that was deleted and came again may be in two runs
	}
	return keys
}

// sort brings what came since into the runs. Each key is merged as often as a run doubles.
func (t *table) sort() {
	if !t.asked {
		t.asked = true
		for key := range t.rows {
			t.fresh = append(t.fresh, key)
		}
	}
	if len(t.fresh) == 0 {
		return
	}
	slices.Sort(t.fresh)
	t.fresh = slices.Compact(t.fresh) // one may have come twice
	t.runs = append(t.runs, t.fresh)
	t.fresh = nil
	for n := len(t.runs); n > 1 && len(t.runs[n-2]) < 2*len(t.runs[n-1]); n = len(t.runs) {
		t.runs = append(t.runs[:n-2], t.merge(t.runs[n-2], t.runs[n-1]))
	}
}

// merge merges two runs and leaves out keys of rows that are gone.
func (t *table) merge(a, b []string) []string {
	m := make([]string, 0, len(a)+len(b))
	add := func(key string) {
		if _, there := t.rows[key]; there && (len(m) == 0 || m[len(m)-1] != key) {
			m = append(m, key)
		}
	}
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			add(a[0])
			a = a[1:]
		} else {
			add(b[0])
			b = b[1:]
		}
	}
	for _, key := range a {
		add(key)
	}
	for _, key := range b {
		add(key)
	}
	return m
}
