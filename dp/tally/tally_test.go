package tally

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Counting parts apart and merging them is counting the whole.
func TestMergeIsCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		channels, symbols := rapid.IntRange(1, 5).Draw(t, "channels"), rapid.IntRange(1, 4).Draw(t, "symbols")
		whole, a, b := New(channels, symbols), New(channels, symbols), New(channels, symbols)
		for range rapid.IntRange(0, 50).Draw(t, "messages") {
			channel, symbol := rapid.IntRange(0, channels-1).Draw(t, "channel"), rapid.IntRange(0, symbols-1).Draw(t, "symbol")
			whole.Add(channel, symbol)
			part := a
			if rapid.Bool().Draw(t, "part") {
				part = b
			}
			part.Add(channel, symbol)
		}
		a.Respondents, b.Respondents, whole.Respondents = 3, 4, 7
		if err := a.Merge(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, a); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTableIsChannelMajor(t *testing.T) {
	c := New(2, 3)
	c.Add(1, 2)
	c.Add(1, 2)
	c.Add(0, 1)
	if c.At(1, 2) != 2 || c.At(0, 1) != 1 || !slices.Equal(c.Channel(1), []uint64{0, 0, 2}) || c.N[5] != 2 {
		t.Fatalf("counts are %v", c.N)
	}
}

func TestAddRefusesWhatHasDoesNotHave(t *testing.T) {
	c := New(2, 3)
	for _, at := range [][2]int{{-1, 0}, {0, -1}, {2, 0}, {0, 3}, {1, 3}, {math.MinInt, 0}, {math.MaxInt, math.MaxInt}} {
		if c.Has(at[0], at[1]) {
			t.Errorf("a tally of 2 by 3 has %v", at)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Add%v did not panic", at)
				}
			}()
			c.Add(at[0], at[1])
		}()
	}
}

func TestMergeRefuses(t *testing.T) {
	full := New(2, 2)
	full.N[3] = math.MaxUint64
	crowded := New(2, 2)
	crowded.Respondents = math.MaxInt
	damaged := New(2, 2)
	damaged.Respondents = -1
	for name, other := range map[string]*Counts{
		"another shape of equal size": New(1, 4), "more channels": New(3, 2), "a count that overflows": full,
		"too many respondents": crowded, "negative respondents": damaged,
	} {
		c := New(2, 2)
		c.Respondents = 1
		c.Add(1, 1)
		c.Add(0, 0)
		want := slices.Clone(c.N)
		if c.Merge(other) == nil {
			t.Errorf("merged %s", name)
		}
		if !slices.Equal(c.N, want) || c.Respondents != 1 {
			t.Errorf("%s changed the tally", name)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	c := New(1024, 2)
	for i := 0; b.Loop(); i++ {
		c.Add(i*619&1023, i&1)
	}
}

// A batch that nobody measured leaves the smallest one unknown.
func TestMergeKeepsTheSmallestBatch(t *testing.T) {
	batch := func(respondents, smallest int) *Counts {
		c := New(1, 2)
		c.Respondents, c.Smallest = respondents, smallest
		return c
	}
	for want, batches := range map[int][]*Counts{
		7: {batch(0, 0), batch(9, 9), batch(7, 7), batch(0, 0), batch(8, 8)},
		0: {batch(9, 9), batch(7, 0), batch(8, 8)},
	} {
		all := New(1, 2)
		for _, b := range batches {
			if err := all.Merge(b); err != nil {
				t.Fatal(err)
			}
		}
		if all.Smallest != want {
			t.Errorf("smallest of %d batches: %d, want %d", len(batches), all.Smallest, want)
		}
	}
}
