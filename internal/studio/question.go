package studio

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Choice is what somebody chose on the page. Its words are those of confetti plan new.
type Choice struct {
	Title string `json:"title"`
	// Kind is of the question, as a plan names it; "": a histogram, of which Asked, Crowd, Beside and Collect are.
	Kind string `json:"kind"`
	// Fields are what was chosen of another kind (whole).
	Fields json.RawMessage `json:"fields"`
	Asked  []Asked         `json:"asked"` // several are several questions of one plan
	// Crowd is the column that names each person's crowd, which everybody knows; nil: there is one.
	Crowd   *int      `json:"crowd"`
	Beside  [2]string `json:"beside"`  // the two crowds that are shown; "": those with the most rows
	Collect string    `json:"collect"` // of several questions: "sample", "split", or "" for what errs less
	Route   string    `json:"route"`   // "mix" or "sum"; "" is mix
	Noise   string    `json:"noise"`   // of a sum: "aggregators", "shared" or "devices"; "" is aggregators
	Suite   string    `json:"suite"`   // "x25519" or "x-wing"; "" is x25519
	Missing string    `json:"missing"` // "refuse", "skip" or "value=TEXT"
	Epsilon float64   `json:"epsilon"`
	People  int       `json:"people"` // --minimum: the fewest of a crowd of whom anything is published; the smallest crowd has as many
	Seed    uint64    `json:"seed"`   // of the draw
	// Answer is --encoding, as Drawn.Chosen says, where that need not be chosen anew, which
	// takes several times as long: while a slider moves. "" chooses what errs least.
	Answer  string  `json:"answer"`
	Parties Parties `json:"parties"`
}

// Asked is a column that is asked: an attribute of the plan.
type Asked struct {
	Column int     `json:"column"`
	Kind   string  `json:"kind"`   // "categories", "buckets" or "set"
	Named  int     `json:"named"`  // names: the plan lists the so many most frequent values
	Others bool    `json:"others"` // and has room for all that is not listed
	Low    float64 `json:"low"`    // numbers
	High   float64 `json:"high"`   //
	Cells  int     `json:"cells"`  //
	Most   int     `json:"most"`   // sets: items that a device tells at most
}

// The rest of a plan, as confetti plan new has it where nobody says otherwise.
const (
	delta          = 1e-6
	dishonestShare = 0.1
	hops           = 2
)

// Bounds of a question that is made here; confetti plan new has larger ones.
const (
	maxNamed  = 1000 // values of an attribute
	maxAsked  = 16   // attributes
	maxCrowds = 64
)

var (
	kinds   = []string{"categories", "buckets", "set"}
	answers = []string{"one-hot", "one-hot-asymmetric", "krr"} // that are chosen from
	noises  = []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices}
)

// check refuses what no kind takes.
func (c Choice) check() error {
	err := cmp.Or(oneOf("route", c.Route, plan.RouteMix, plan.RouteSum), oneOf("noise", c.Noise, noises...), oneOf("suite", c.Suite, "x25519", "x-wing"))
	switch {
	case err != nil:
		return err
	case c.Noise != "" && c.Route != plan.RouteSum:
		return errors.New("noise is of sums: choose the route sum, or leave it out")
	case !(c.Epsilon >= 0.01 && c.Epsilon <= 20):
		return fmt.Errorf("epsilon is %v: give a number from 0.01 to 20", c.Epsilon)
	case c.People < 2 || c.People > 10_000_000:
		return fmt.Errorf("people are %d: give a number from 2 to 10,000,000", c.People)
	}
	return nil
}

// oneOf says that something is none of what it may be.
func oneOf(what, is string, of ...string) error {
	if is != "" && !slices.Contains(of, is) {
		return fmt.Errorf("%s is %q: give one of %s, or nothing", what, is, strings.Join(of, ", "))
	}
	return nil
}

// checkAsked refuses what cannot be counted.
func (c Choice) checkAsked(s *Sheet) error {
	err := cmp.Or(oneOf("what devices answer", c.Answer, answers...), oneOf("collect", c.Collect, plan.CollectSample, plan.CollectSplit))
	switch {
	case err != nil:
		return err
	case len(c.Asked) == 0 || len(c.Asked) > maxAsked:
		return fmt.Errorf("%d columns are asked: choose 1 to %d", len(c.Asked), maxAsked)
	case c.Crowd != nil && (*c.Crowd < 0 || *c.Crowd >= len(s.Columns)):
		return errors.New("there is no such column of crowds: choose one of the table")
	}
	for i, a := range c.Asked {
		if err := a.check(s); err != nil {
			return err
		}
		if slices.ContainsFunc(c.Asked[:i], func(b Asked) bool { return b.Column == a.Column }) || c.Crowd != nil && *c.Crowd == a.Column {
			return fmt.Errorf("column %q is asked twice, or is both asked and the crowd: choose another", s.Columns[a.Column].Name)
		}
	}
	return nil
}

func (a Asked) check(s *Sheet) error {
	switch {
	case a.Column < 0 || a.Column >= len(s.Columns):
		return errors.New("there is no such column: choose one of the table")
	case !slices.Contains(kinds, a.Kind):
		return fmt.Errorf("a column is asked as names, numbers or sets, and not as %q", a.Kind)
	case a.Kind != "buckets" && (a.Named < 1 || a.Named > maxNamed):
		return fmt.Errorf("%d values are listed: give a number from 1 to %d", a.Named, maxNamed)
	case a.Kind == "buckets" && !(a.Low < a.High && !math.IsInf(a.High-a.Low, 0)):
		return errors.New("the lowest number must be below the highest")
	case a.Kind == "buckets" && (a.Cells < 1 || a.Cells > maxNamed):
		return fmt.Errorf("%d steps: give a number from 1 to %d", a.Cells, maxNamed)
	case a.Kind == "set" && (a.Most < 1 || a.Most > plan.MaxItems):
		return fmt.Errorf("a device tells %d items: give 1 to %d", a.Most, plan.MaxItems)
	}
	return nil
}

// noised says that cells go as they are, and that noise is added to their sums.
func (c Choice) noised() bool { return c.Route == plan.RouteSum && c.Noise != plan.NoiseDevices }

// sets says that something is asked that has several answers.
func (c Choice) sets() bool {
	return slices.ContainsFunc(c.Asked, func(a Asked) bool { return a.Kind == "set" })
}

// attribute returns what the plan asks of a column, by how many rows hold each text there.
func (a Asked) attribute(name string, often map[string]int) (plan.Attribute, error) {
	out := plan.Attribute{Name: name, Kind: a.Kind}
	switch a.Kind {
	case "buckets":
		out.Low, out.High, out.Cells = a.Low, a.High, a.Cells
		return out, nil
	case "set":
		items := map[string]int{}
		for cell, n := range often {
			for _, item := range itemsOf(cell) {
				items[item] += n
			}
		}
		often, out.Most = items, a.Most
	}
	names := slices.SortedFunc(maps.Keys(often), func(x, y string) int { return cmp.Or(cmp.Compare(often[y], often[x]), strings.Compare(x, y)) })
	out.Others = a.Others || len(names) > a.Named
	out.Values = slices.Sorted(slices.Values(names[:min(a.Named, len(names))]))
	if len(out.Values) == 0 || len(out.Values) == 1 && !out.Others {
		return out, fmt.Errorf("all rows have one value in column %q: a question has two or more, so leave room for something else", name)
	}
	return out, nil
}

// draft returns the plan as asked for, without noise, and with the keys of Parties alone.
func (c Choice) draft(asked []plan.Attribute, crowds []string) (plan.Plan, error) {
	randomizer, adjacency := plan.Randomizer{Name: c.Answer, Accounting: "exact"}, "replacement"
	switch {
	case c.noised():
		randomizer = plan.Randomizer{Name: plan.RandomizerNone}
	case c.sets(): // which one-hot answers alone, as in ESA
		adjacency = "removal"
	}
	h := plan.Histogram{Attributes: asked, Randomizer: randomizer}
	if len(asked) > 1 {
		h.Collect = c.Collect
	}
	return c.plan("How many hold each value", plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &h}, adjacency, crowds)
}

// plan returns one of a question, without noise, and with the keys of Parties alone. The title is for a choice without one.
func (c Choice) plan(title string, q plan.Question, adjacency string, crowds []string) (plan.Plan, error) {
	p := plan.Plan{
		Version: plan.Version, Title: cmp.Or(strings.TrimSpace(c.Title), title), Question: q,
		Budget:    plan.Budget{Epsilon: c.Epsilon, Delta: delta, DishonestShare: dishonestShare, Adjacency: adjacency},
		Crowd:     plan.Crowd{Names: crowds, Minimum: c.People},
		Envelopes: plan.Envelopes{Suite: cmp.Or(c.Suite, "x25519")},
	}
	return p, c.Parties.fill(&p, c.Route, cmp.Or(c.Noise, plan.NoiseAggregators))
}
