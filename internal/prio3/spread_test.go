package prio3

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// Shares that are spread add up to the sum that is spread: each number has those before it, by the weight of the distance.
// The twin leaves the last weight out.
func TestSpreadSharesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	weights := []int64{1024, 512, 384, 320, 280}
	for _, length := range []int{1, 3, 5, 9} {
		whole, parts := make([]int64, length), [2]Vector{}
		for i := range whole {
			whole[i] = int64(r.IntN(1_000_000))
		}
		var zero Vector
		if err := zero.UnmarshalBinary(make([]byte, 16*length)); err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			if err := parts[i].Add(zero); err != nil {
				t.Fatal(err)
			}
		}
		blind := make([]int64, length)
		for i := range blind {
			blind[i] = r.Int64() >> 1
		}
		for _, add := range []func() error{
			func() error { return parts[0].AddNoise(whole) }, func() error { return parts[0].AddNoise(blind) },
			func() error {
				for i := range blind {
					blind[i] = -blind[i]
				}
				return parts[1].AddNoise(blind)
			},
		} {
			if err := add(); err != nil {
				t.Fatal(err)
			}
		}
		want, twin := make([]int64, length), make([]int64, length)
		for i := range want {
			for d, w := range weights[:min(len(weights), i+1)] {
				want[i] += w * whole[i-d]
				if d < len(weights)-1 {
					twin[i] += w * whole[i-d]
				}
			}
		}
		for i := range parts {
			if err := parts[i].Spread(weights); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Open(parts[0], parts[1])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d numbers: %v, want %v, %v", length, got, want, err)
		}
		if length > 5 && slices.Equal(got, twin) {
			t.Error("a weight is left out, and nobody sees it")
		}
	}
	v := Vector{}
	if err := v.UnmarshalBinary(make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	if err := v.Spread([]int64{1, -1}); err == nil {
		t.Error("a weight below zero is taken")
	}
}

// A share that is added so many times is what it is when it is added one by one. The twin adds it once less.
func TestSharesAreAddedTimes(t *testing.T) {
	whole := []int64{1, 1 << 40, -7, 0}
	parts := [2]Vector{}
	for i, side := range [][]int64{{1 << 61, 5, 9, -3}, {1 - 1<<61, 1<<40 - 5, -16, 3}} {
		if err := errors.Join(parts[i].UnmarshalBinary(make([]byte, 16*len(whole))), parts[i].AddNoise(side)); err != nil {
			t.Fatal(err)
		}
	}
	for _, times := range []uint64{0, 1, 2, 1000, 1 << 21} {
		got := [2]Vector{}
		for i := range got {
			if err := errors.Join(got[i].Add(parts[i]), got[i].AddTimes(parts[i], times)); err != nil {
				t.Fatal(err)
			}
		}
		sums, err := Open(got[0], got[1])
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range whole {
			if sums[i] != x*int64(times+1) || x != 0 && sums[i] == x*int64(times) {
				t.Errorf("%d times %d, and once: %d", times, x, sums[i])
			}
		}
	}
	if err := new(Vector).AddTimes(parts[0], 3); err != nil {
		t.Error(err)
	}
	if short := (Vector{parts[0].elements[:2]}); short.AddTimes(parts[0], 3) == nil {
		t.Error("shares of two lengths add up")
	}
}
