package journal

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// index says where each row of a shelf lies. Its keys are whole: two that devices chose to
// look alike stay two. Who calls apply holds the shelf's lock alone, and any other method
// at least shares it.
type index struct {
	tables [16]table
	groups []int64 // where the bodies of groups begin, in order: of a row's the last before it
	live   int64   // bytes of rows
}

// packed is a place but for its group, in 16 bytes: with a place whole a million rows take a sixth more memory.
type packed struct{ where, what uint64 }

// Bits of a packed place: a file may have 2^44 bytes, 16 TiB, and a group so many rows and bytes.
const (
	rowBits = 20
	_       = uint(1<<rowBits - mostBody/rowHead)
	_       = uint(1<<31 - mostBody)
)

func (p place) pack() packed {
	c := packed{uint64(p.at)<<rowBits | uint64(p.i), uint64(p.n)<<33 | uint64(p.tag)}
	if p.inserted {
		c.what |= 1 << 32
	}
	return c
}

func (c packed) at() int64      { return int64(c.where >> rowBits) }
func (c packed) n() int64       { return int64(c.what >> 33) }
func (c packed) inserted() bool { return c.what>>32&1 > 0 }
func (c packed) tag() uint32    { return uint32(c.what) }

// table is the rows of a table.
type table struct {
	rows   map[string]packed
	counts map[uint32]int // of Insert's rows, by tag

	// Keys in order, once somebody has asked for them, and those that came since. A key may be of
	// a row that is gone.
	mu    sync.Mutex
	asked bool
	keys  []string
	fresh []string
}

// apply takes note of a row that lies there.
func (x *index) apply(o op, p place) {
	t := &x.tables[o.t]
	was, there := t.rows[o.key]
	if there {
		x.live -= was.n()
		if was.inserted() {
			if t.counts[was.tag()]--; t.counts[was.tag()] == 0 {
				delete(t.counts, was.tag())
			}
		}
	}
	if o.kind == deleted {
		delete(t.rows, o.key)
		return
	}
	if t.rows == nil {
		t.rows, t.counts = map[string]packed{}, map[uint32]int{}
	}
	if begin := p.at - int64(p.back); len(x.groups) == 0 || x.groups[len(x.groups)-1] < begin {
		x.groups = append(x.groups, begin)
	}
	t.rows[o.key] = p.pack()
	x.live += int64(p.n)
	if p.inserted {
		t.counts[p.tag]++
	}
	if t.asked && !there {
		t.fresh = append(t.fresh, o.key)
	}
}

// at returns where a row begins; 0: it is not there.
func (x *index) at(t keep.Table, key string) int64 { return x.tables[t].rows[key].at() }

func (x *index) find(t keep.Table, key string) (p place, there bool) {
	c, there := x.tables[t].rows[key]
	if !there {
		return p, false
	}
	n, _ := slices.BinarySearch(x.groups, c.at())
	return place{c.at(), uint32(c.n()), uint32(c.at() - x.groups[n-1]), uint32(c.where & (1<<rowBits - 1)), c.inserted(), c.tag()}, true
}

func (x *index) count(t keep.Table, tag uint32) int { return x.tables[t].counts[tag] }

// size returns how many rows there are.
func (x *index) size() (n int) {
	for i := range x.tables {
		n += len(x.tables[i].rows)
	}
	return n
}

// keys returns the keys of a table that begin with the prefix, in order.
func (x *index) keys(t keep.Table, prefix string) (keys []string) {
	tab := &x.tables[t]
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.sort()
	from, _ := slices.BinarySearch(tab.keys, prefix)
	for _, key := range tab.keys[from:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		if _, there := tab.rows[key]; there {
			keys = append(keys, key)
		}
	}
	return keys
}

// sort brings what came since into the order, and leaves out keys of rows that are gone.
func (t *table) sort() {
	if !t.asked {
		t.asked, t.fresh = true, slices.Collect(maps.Keys(t.rows))
	}
	if len(t.fresh) == 0 {
		return
	}
	slices.Sort(t.fresh)
	a, b := t.keys, t.fresh
	more := len(a)+len(b) > len(t.rows) // some are gone, or came twice
	t.keys, t.fresh = make([]string, 0, len(t.rows)), nil
	for len(a)+len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
			a, b = b, a
		}
		key := a[0]
		a = a[1:]
		if more {
			if _, there := t.rows[key]; !there || len(t.keys) > 0 && t.keys[len(t.keys)-1] == key {
				continue
			}
		}
		t.keys = append(t.keys, key)
	}
}
