package client_test

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// A device of a study of windows says in which round it said something last, as its ledger has it; beyond its events
// nothing, and nothing of a round that comes after a later one. It does so after its ledger was compacted, too, and without
// the state that the plan names.
func TestADeviceSaysItsLastRound(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	of := counted(t, example.Windowed(t, 365, 3, plan.NoiseAggregators))
	for i, c := range []struct {
		round    int
		happened bool
		cell     int // -1: nothing
	}{{1, false, -1}, {2, true, 0}, {3, false, -1}, {5, true, 2}, {4, true, -1}, {6, true, 5}, {7, true, -1}} {
		if err := say(t, of, o, c.round, c.happened); err != nil {
			t.Fatal(err)
		}
		want := make([]uint64, 366)
		if c.cell >= 0 {
			want[c.cell] = 1
		}
		v, err := client.LastVector(o.Store)
		if err != nil || !slices.Equal(v, want) {
			t.Errorf("in round %d the device says something in cell %d, want %d, %v", c.round, slices.Index(v, 1), c.cell, err)
		}
		if i == 3 {
			if err := ledger(t, o).Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A device of a study whose values take turns says the first, the second after it, and so on, at most so many of both: of a
// value whose turn it is not it says nothing, and counts nothing. It does so after its ledger was compacted, too.
func TestADeviceTakesTurns(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	of := counted(t, example.Turning(t, 365, 3, plan.NoiseAggregators))
	for i, c := range []struct {
		says string
		want []uint64
	}{
		{"left", []uint64{0, 0}}, {"joined", []uint64{1, 0}}, {"joined", []uint64{0, 0}}, {"", []uint64{0, 0}}, {"left", []uint64{0, 1}},
		{"left", []uint64{0, 0}}, {"joined", []uint64{1, 0}}, {"left", []uint64{0, 0}}, {"joined", []uint64{0, 0}},
	} {
		var happened []string
		if c.says != "" {
			happened = []string{c.says}
		}
		if err := sayThat(t, of, o, 1+i, happened...); err != nil {
			t.Fatal(err)
		}
		if v, err := client.LastVector(o.Store); err != nil || !slices.Equal(v, c.want) {
			t.Errorf("in round %d, of %q, the device says %v, want %v, %v", 1+i, c.says, v, c.want, err)
		}
		if i == 2 {
			if err := ledger(t, o).Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	said := 0
	for _, e := range ledger(t, o).Entries {
		said += e.Events
	}
	if said != 3 {
		t.Errorf("%d events are counted of 3", said)
	}
}
