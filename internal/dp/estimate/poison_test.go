package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestShiftOfOneCell(t *testing.T) {
	c := Cell{N: 1000, Keep: 0.75, Flip: 0.25}
	for _, x := range []struct {
		p        Poison
		down, up float64
	}{
		{Poison{Devices: 10, Messages: 1, PerCell: 1, Holds: 1}, 15, 15}, // 0.75/0.5 each
		{Poison{Devices: 10, Messages: 8, PerCell: 8, Holds: 1}, 15, 155},
		{Poison{Devices: 10, Messages: 8, PerCell: 1, Holds: 3}, 15, 15},
		{Poison{Devices: 10, Messages: 0, PerCell: 1, Holds: 1}, 15, 0},
		{Poison{Devices: 0, Messages: 8, PerCell: 8, Holds: 1}, 0, 0},
	} {
		if down, up := x.p.Shift(c); !near(down, x.down, 1e-12) || !near(up, x.up, 1e-12) {
			t.Errorf("%+v: down %v and up %v, want %v and %v", x.p, down, up, x.down, x.up)
		}
	}
	// Without noise, and with one message, a device can but lie.
	if down, up := (Poison{Devices: 7, Messages: 1, PerCell: 1, Holds: 1}).Shift(Cell{N: 10, Keep: 1}); down != 7 || up != 7 {
		t.Errorf("lying moves by %v and %v", down, up)
	}
}

// Every way to send the messages, and everything that an honest device may hold.
func TestShiftOfSumsByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(-2, 2), 1, 4).Draw(t, "weights")
		p := Poison{
			Devices: 3, Messages: rapid.IntRange(0, 4).Draw(t, "messages"),
			PerCell: rapid.IntRange(0, 3).Draw(t, "per cell"), Holds: rapid.IntRange(1, 2).Draw(t, "holds"),
		}
		c := Cell{N: 100, Keep: 0.9, Flip: rapid.Float64Range(0, 0.5).Draw(t, "flip")}
		most, least := math.Inf(-1), math.Inf(1)
		each(len(weights), p.PerCell, p.Messages, func(sent []int) {
			each(len(weights), 1, p.Holds, func(held []int) {
				shift := 0.0
				for i, w := range weights {
					shift += w * ((float64(sent[i])-c.Flip)/(c.Keep-c.Flip) - float64(held[i]))
				}
				most, least = max(most, shift), min(least, shift)
			})
		})
		down, up := p.ShiftSum(c, weights)
		if !near(up, max(0, 3*most), 1e-9) || !near(down, max(0, -3*least), 1e-9) {
			t.Fatalf("down %v and up %v, by enumeration %v and %v", down, up, -3*least, 3*most)
		}
	})
}

// each visits every k-tuple of numbers from 0 to limit that sum to at most total.
func each(k, limit, total int, visit func([]int)) {
	x := make([]int, k)
	var place func(i, left int)
	place = func(i, left int) {
		if i == k {
			visit(x)
			return
		}
		for x[i] = 0; x[i] <= min(limit, left); x[i]++ {
			place(i+1, left-x[i])
		}
		x[i] = 0
	}
	place(0, total)
}

func TestImpossiblePoisonPanics(t *testing.T) {
	for _, p := range []Poison{{}, {Devices: -1, Holds: 1}, {Messages: -1, Holds: 1}, {PerCell: -1, Holds: 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v did not panic", p)
				}
			}()
			p.Shift(Cell{N: 1, Keep: 1})
		}()
	}
}
