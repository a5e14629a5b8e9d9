package simulate_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// Sealing, two hops and opening deliver every message once: Full counts what
// the same devices, without seals, give.
func TestSealsChangeNothing(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := sample(bitsum, 3)
		p.Envelopes.PerDevice = min(24, p.Envelopes.PerDevice) // what outgrows them is dropped in both
		p.Budget.LabelEpsilon = 2
		proto, keys := runnable(t, p)
		values := population(24, 3)
		const seed = 5
		col, err := simulate.Full(proto, keys, values, seed, quiet)
		if err != nil {
			t.Fatal(err)
		}
		want := unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) })
		if diff := cmp.Diff(want, col.Crowds); diff != "" {
			t.Errorf("%s: tallies differ (-unsealed +full):\n%s", bitsum, diff)
		}
		if want := len(values) * p.Envelopes.PerDevice; col.Devices != len(values) || col.Fragments != want || col.Dropped != 0 || len(col.Withheld) != 0 {
			t.Errorf("%s: %d devices, %d fragments (want %d), %d dropped, withheld %q", bitsum, col.Devices, col.Fragments, want, col.Dropped, col.Withheld)
		}
	}
}

func TestBothFidelitiesWithholdASmallCrowd(t *testing.T) {
	p := sample("rr", 2)
	p.Crowd.Minimum = 8
	proto, keys := runnable(t, p)
	values := population(15, 2) // 10 in the hills, 5 at the shore
	full, err := simulate.Full(proto, keys, values, 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	law, err := simulate.Law(proto, distribution.Values(values), 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for name, col := range map[string]simulate.Collection{"full": full, "law": law} {
		if col.Crowds[0].Tally == nil || col.Crowds[0].Respondents != 10 || col.Crowds[1].Tally != nil {
			t.Errorf("%s: tallies %+v", name, col.Crowds)
		}
		if len(col.Withheld) != 1 || !strings.Contains(col.Withheld[0], "crowd 2") || !strings.Contains(col.Withheld[0], "fewer than 8") {
			t.Errorf("%s: withheld %q", name, col.Withheld)
		}
	}
}

// Whatever the number of processors, a seed gives the same totals.
func TestASeedGivesTheSame(t *testing.T) {
	p := sample("3nb", 3)
	p.Budget.LabelEpsilon = 1
	proto, _ := runnable(t, p)
	values := population(600, 3)
	run := func(seed uint64) simulate.Collection {
		col, err := simulate.Law(proto, distribution.Values(values), seed, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return col
	}
	if diff := cmp.Diff(run(7), run(7)); diff != "" {
		t.Errorf("two runs of one seed:\n%s", diff)
	}
	if cmp.Equal(run(7), run(8)) {
		t.Error("two seeds gave the same totals")
	}
}

// A value that does not fit is counted, and its device takes part like any other.
func TestAnUnfitValueIsCounted(t *testing.T) {
	proto, keys := runnable(t, sample("rr", 2))
	values := population(6, 2)
	values[3] = density.Labelled{Features: []float32{0.62517}, Class: 0}
	full, err := simulate.Full(proto, keys, values, 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	law, err := simulate.Law(proto, distribution.Values(values), 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]simulate.Collection{"full": full, "law": law} {
		respondents := 0
		for _, t := range c.Crowds {
			respondents += t.Respondents
		}
		if c.Unfit != 1 || respondents != len(values) {
			t.Errorf("%s: %d do not fit, of %d respondents", name, c.Unfit, respondents)
		}
	}
}

// The device is named, the value is not.
func TestAWrongTypeStopsTheCollection(t *testing.T) {
	proto, keys := runnable(t, sample("rr", 2))
	values := population(6, 2)
	values[3] = "0.62517"
	_, full := simulate.Full(proto, keys, values, 1, quiet)
	_, law := simulate.Law(proto, distribution.Values(values), 1, quiet)
	for _, err := range []error{full, law} {
		if err == nil || strings.Contains(err.Error(), "62517") {
			t.Errorf("error %v", err)
		}
	}
	if full != nil && !strings.Contains(full.Error(), "device 4") {
		t.Errorf("%q does not say which device", full)
	}
}

func TestKeysOfAnotherPlanOpenNothing(t *testing.T) {
	p := sample("rr", 2)
	proto, _ := runnable(t, p)
	other := sample("rr", 2)
	other.Route.Mix.Instances = []plan.Instance{{Hops: []plan.Party{{Operator: "West"}, {Operator: "East"}}}}
	_, keys := runnable(t, other)
	if _, err := simulate.Full(proto, keys, population(6, 2), 1, quiet); err == nil {
		t.Error("a collection ran with the keys of another plan")
	}
}
