package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tabled is a plan of a table.
func tabled() Plan {
	return Plan{
		Version: Version, Title: "drink of the guests",
		Question: Question{Kind: "histogram", Unfit: UnfitClip, Histogram: &Histogram{
			Attributes: []Attribute{{Name: "drink", Kind: "categories", Values: []string{"tea", "mate"}, Others: true}},
			Randomizer: Randomizer{Name: RandomizerNone, Accounting: "exact"},
		}},
		Budget:   Budget{Epsilon: 1, Delta: 1e-7, Adjacency: "replacement"},
		Crowd:    Crowd{Minimum: 1},
		Route:    Route{Kind: RouteTable, Table: &Table{People: "guests", AsOf: "2026-11", Law: LawLaplace, Decay: 0.5}},
		Analyzer: Party{Operator: "the canteen"},
	}
}

// A plan of a table reads back. Nobody signs it, so that no device and no service takes it.
func TestAPlanOfATableAsksNobody(t *testing.T) {
	p := tabled()
	q, err := Parse(p.Canonical())
	if err != nil || !cmp.Equal(p, q) {
		t.Fatalf("read back another plan: %v\n%s", err, cmp.Diff(p, q))
	}
	if _, err := ParseSigned(Sign(p, publisher()).Marshal()); err == nil || !strings.Contains(err.Error(), "nobody signs such a plan") {
		t.Errorf("a signed plan of a table: %v", err)
	}
	if s := p.Route.Noise(); s.Law != LawLaplace || s.Decay != 0.5 || s.Noise != "" {
		t.Errorf("the noise of the holder: %+v", s)
	}
}

func TestAPlanOfATableHasNoParties(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"no table":         {func(p *Plan) { p.Route.Table = nil }, "route.table is missing"},
		"a sum too":        {func(p *Plan) { p.Route.Sum = summed().Route.Sum }, "leave out those that route.kind does not name"},
		"another kind":     {func(p *Plan) { p.Route.Kind = RouteSum }, "leave out those that route.kind does not name"},
		"nobody's rows":    {func(p *Plan) { p.Route.Table.People = " " }, "route.table.people is empty"},
		"no version":       {func(p *Plan) { p.Route.Table.AsOf = "" }, "route.table.as_of is empty"},
		"no law":           {func(p *Plan) { p.Route.Table.Law = "" }, "route.table.law must be"},
		"no noise":         {func(p *Plan) { p.Route.Table.Decay = 0 }, "route.table.decay must be"},
		"of another law":   {func(p *Plan) { p.Route.Table.Sigma = 1 }, "route.table.sigma belongs to"},
		"envelopes":        {func(p *Plan) { p.Envelopes.PerDevice = 1 }, "envelopes are what devices send"},
		"a key":            {func(p *Plan) { p.Analyzer.Key = "x25519:" + strings.Repeat("A", 43) }, "analyzer must have an operator alone"},
		"no holder":        {func(p *Plan) { p.Analyzer.Operator = "" }, "analyzer must have an operator alone"},
		"crowds":           {func(p *Plan) { p.Crowd.Names = []string{"a", "b"} }, "crowd.names"},
		"dishonest people": {func(p *Plan) { p.Budget.DishonestShare = 0.1 }, "budget.dishonest_share"},
		"labels":           {func(p *Plan) { p.Budget.Adjacency = "label" }, "says how many rows there are"},
		"a round":          {func(p *Plan) { p.Round = &Round{Study: strings.Repeat("a", 64), Number: 1} }, "round, signatures and times"},
		"another question": {func(p *Plan) { p.Question = sample().Question }, "route.table is of counts"},
	} {
		p := tabled()
		table := *p.Route.Table
		p.Route.Table = &table
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v does not mention %q", name, err, c.want)
		}
	}
}
