package tally

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSumsReadBackAndAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "numbers")
		draw := func(name string) *Sums {
			return &Sums{rapid.SliceOfN(rapid.Int64Range(-1<<40, 1<<40), n, n).Draw(t, name)}
		}
		a, b := draw("a"), draw("b")
		text, err := a.MarshalBinary()
		back := NewSums(n)
		if err != nil || back.UnmarshalBinary(text) != nil || !slices.Equal(back.N, a.N) {
			t.Fatalf("%v reads back as %v (%v)", a.N, back.N, err)
		}
		if back.UnmarshalBinary(append(text, 0)) == nil || back.UnmarshalBinary(text[:len(text)-1]) == nil {
			t.Fatal("another length was read")
		}
		whole := &Sums{slices.Clone(a.N)}
		if err := whole.Merge(b); err != nil {
			t.Fatal(err)
		}
		for i := range whole.N {
			if whole.N[i] != a.N[i]+b.N[i] {
				t.Fatalf("%v and %v merge to %v", a.N, b.N, whole.N)
			}
		}
	})
}

func TestSumsRefuse(t *testing.T) {
	s := &Sums{[]int64{1, math.MaxInt64, math.MinInt64}}
	for name, other := range map[string]Tally{
		"another length": NewSums(2), "counts": NewCounts(3, 1), "one too large": &Sums{[]int64{1, 1, 0}}, "one too small": &Sums{[]int64{1, 0, -1}},
	} {
		if s.Merge(other) == nil || s.N[0] != 1 {
			t.Errorf("merged %s: %v", name, s.N)
		}
	}
	if s.Add(make([]byte, MessageBytes)) == nil {
		t.Error("a message was counted")
	}
	if NewSums(1).UnmarshalBinary([]byte{0x80, 0}) == nil {
		t.Error("a number in a longer form was read")
	}
}
