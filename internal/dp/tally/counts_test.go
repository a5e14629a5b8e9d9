package tally

import (
	"math"
	"slices"
	"testing"
)

func TestTableIsChannelMajor(t *testing.T) {
	c := NewCounts(2, 3)
	for _, m := range [][]byte{{0, 0, 0, 1, 2}, {0, 0, 0, 1, 2}, {0, 0, 0, 0, 1}} {
		if err := c.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(c.Channel(1), []uint64{0, 0, 2}) || !slices.Equal(c.N, []uint64{0, 1, 0, 0, 0, 2}) {
		t.Fatalf("counts are %v", c.N)
	}
}

func TestAddRefusesWhatIsNotInTheTable(t *testing.T) {
	c := NewCounts(2, 3)
	for _, m := range [][]byte{
		nil, {0}, {0, 0, 0, 1}, {0, 0, 0, 1, 1, 7}, {0, 0, 0, 1, 1, 0, 1}, {0, 0, 0, 2, 0}, {0, 0, 0, 0, 3}, {0, 0, 0, 1, 3},
		{0x80, 0, 0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if c.Add(m) == nil {
			t.Errorf("a table of 2 by 3 took %x", m)
		}
	}
	if !slices.Equal(c.N, make([]uint64, 6)) {
		t.Errorf("what was refused was counted: %v", c.N)
	}
}

func TestMergeRefuses(t *testing.T) {
	full := NewCounts(2, 2)
	full.N[3] = math.MaxUint64
	for name, other := range map[string]*Counts{
		"another shape of equal size": NewCounts(1, 4), "more channels": NewCounts(3, 2), "a count that overflows": full,
	} {
		c := NewCounts(2, 2)
		c.N[3], c.N[0] = 1, 1
		if c.Merge(other) == nil {
			t.Errorf("merged %s", name)
		}
		if !slices.Equal(c.N, []uint64{1, 0, 0, 1}) {
			t.Errorf("%s changed the tally", name)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	c := NewCounts(1024, 2)
	said := NewMessages(1 << 16)
	for i := range 1 << 16 {
		said.Say(uint32(i*619&1023), uint8(i&1))
	}
	for i := 0; b.Loop(); i++ {
		c.Add(said.Bodies[i&(1<<16-1)])
	}
}
