package histogram

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/plan"
)

// drawn is a question of which each respondent answers one of so many attributes, drawn,
// and the mechanism is made otherwise than a plan's name says.
func drawn(t *testing.T, name string, make func(symbolizer) symbolizer, sizes ...int) *Question {
	t.Helper()
	ask := plan.Histogram{Collect: plan.CollectSample, Randomizer: plan.Randomizer{
		Name: name, Accounting: "exact", Epsilon: 3, Subset: 1, Range: 4, Functions: 3, Seed: strings.Repeat("5a", 32),
	}}
	h := &Question{plan: plan.Plan{Budget: plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"}}}
	for _, size := range sizes {
		a := plan.Attribute{Name: "a", Kind: "categories", Size: size}
		ask.Attributes = append(ask.Attributes, a)
		attribute, err := newAttribute(a)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSymbols(ask.Randomizer, attribute, account.Replacement)
		if err != nil {
			t.Fatal(err)
		}
		s.mechanism = make(s.mechanism)
		h.randomizers = append(h.randomizers, s)
	}
	h.ask = ask
	return h
}

func itself(m symbolizer) symbolizer { return m }

// twin has a mechanism's law, and says nothing of what it covers.
type twin struct{ symbolizer }

func unknown(m symbolizer) symbolizer { return twin{m} }

func epsilon(t *testing.T, e account.Event) float64 {
	t.Helper()
	g, err := account.Epsilon(e, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	return g.Epsilon
}

// One of several attributes is drawn: the event that is accounted covers that of each,
// whichever is named first.
func TestOneTableCoversAll(t *testing.T) {
	const users = 400
	for _, name := range plan.Randomizers {
		if (plan.Randomizer{Name: name}).OneHot() {
			continue
		}
		for _, sizes := range [][]int{{2, 3}, {3, 2}, {40, 2, 7}, {5, 5}} {
			h := drawn(t, name, itself, sizes...)
			if err := h.settle(); err != nil {
				t.Errorf("%s of %v: %v", name, sizes, err)
				continue
			}
			covered := epsilon(t, h.worst.event(users, 0))
			for i, one := range h.randomizers {
				if own := epsilon(t, one.event(users, 0)); own > covered*(1+1e-9) {
					t.Errorf("%s of %v: attribute %d costs %v, and the plan counts %v", name, sizes, i, own, covered)
				}
			}
		}
	}
}

// A mechanism that says nothing of what its event covers is refused, though it has the law of
// one that does: two symbols cost less than three by their own events.
func TestAnUnknownMechanismIsRefused(t *testing.T) {
	two, three := randomize.KRR{K: 2, Epsilon: 3}, randomize.KRR{K: 3, Epsilon: 3}
	if a, b := epsilon(t, two.Event(400)), epsilon(t, three.Event(400)); a >= b {
		t.Fatalf("no trap is left: two symbols %v, three %v", a, b)
	}
	for _, name := range plan.Randomizers {
		if (plan.Randomizer{Name: name}).OneHot() {
			continue
		}
		if err := drawn(t, name, unknown, 2, 3).settle(); err == nil || !strings.Contains(err.Error(), "question.histogram.collect") {
			t.Errorf("a twin of %s: %v", name, err)
		}
		if err := drawn(t, name, unknown, 3, 3).settle(); err != nil {
			t.Errorf("a twin of %s over domains of one size: %v", name, err)
		}
	}
}

// Plans name the randomizers that there is code for, and no other.
func TestPlansNameEveryWay(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(ways)), slices.Sorted(slices.Values(plan.Randomizers)); !slices.Equal(got, want) {
		t.Errorf("there is code for %v, and plans may name %v", got, want)
	}
}
