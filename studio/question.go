package studio

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Choice is what somebody chose on the page.
type Choice struct {
	Title   string  `json:"title"`
	Column  int     `json:"column"`
	Kind    string  `json:"kind"`    // "categories", "buckets" or "set"
	Named   int     `json:"named"`   // names: the plan lists the so many most frequent values
	Others  bool    `json:"others"`  // and has room for all that is not listed
	Low     float64 `json:"low"`     // numbers
	High    float64 `json:"high"`    //
	Cells   int     `json:"cells"`   //
	Most    int     `json:"most"`    // sets: items that a device tells at most
	Missing string  `json:"missing"` // "refuse", "skip" or "value=TEXT", as elsewhere
	Epsilon float64 `json:"epsilon"`
	People  int     `json:"people"` // the fewest of whom anything is published, and as many as are drawn
	Seed    uint64  `json:"seed"`   // of the draw
	// Answer is how devices answer, as Drawn.Chosen says, where that need not be chosen anew, which
	// takes several times as long: while a slider moves. "" chooses what errs least.
	Answer string `json:"answer"`
}

// The rest of a plan, as confetti plan new has it where nobody says otherwise.
const (
	delta          = 1e-6
	dishonestShare = 0.1
	suite          = "x25519"
	hops           = 2
)

// answers are the randomizers that are chosen from.
var answers = []string{"one-hot", "one-hot-asymmetric", "krr"}

// maxNamed bounds the values that a plan of this page lists.
const maxNamed = 1000

// check is of the numbers by themselves.
func (c Choice) check(s *Sheet) error {
	switch {
	case c.Column < 0 || c.Column >= len(s.Columns):
		return errors.New("there is no such column: choose one of the table")
	case !slices.Contains([]string{"categories", "buckets", "set"}, c.Kind):
		return fmt.Errorf("a column is asked as names, numbers or sets, and not as %q", c.Kind)
	case c.Answer != "" && !slices.Contains(answers, c.Answer):
		return fmt.Errorf("devices answer %q: give one of %s, or nothing", c.Answer, strings.Join(answers, ", "))
	case !(c.Epsilon >= 0.01 && c.Epsilon <= 20):
		return fmt.Errorf("epsilon is %v: give a number from 0.01 to 20", c.Epsilon)
	case c.People < 2 || c.People > 10_000_000:
		return fmt.Errorf("people are %d: give a number from 2 to 10,000,000", c.People)
	case c.Kind != "buckets" && (c.Named < 1 || c.Named > maxNamed):
		return fmt.Errorf("%d values are listed: give a number from 1 to %d", c.Named, maxNamed)
	case c.Kind == "buckets" && !(c.Low < c.High && !math.IsInf(c.High-c.Low, 0)):
		return errors.New("the lowest number must be below the highest")
	case c.Kind == "buckets" && (c.Cells < 1 || c.Cells > maxNamed):
		return fmt.Errorf("%d steps: give a number from 1 to %d", c.Cells, maxNamed)
	case c.Kind == "set" && (c.Most < 1 || c.Most > plan.MaxItems):
		return fmt.Errorf("a device tells %d items: give 1 to %d", c.Most, plan.MaxItems)
	}
	return nil
}

// values are the column's rows as they count, after what empty cells mean, and how many were
// left out.
func (c Choice) values(s *Sheet) (rows []string, left int, err error) {
	missing, err := table.ParseMissing(c.Missing)
	if err != nil {
		return nil, 0, err
	}
	instead, fill := missing.Instead()
	for _, cell := range s.cells[c.Column] {
		switch {
		case cell != "" || c.Kind == "set": // a set may be empty
			rows = append(rows, cell)
		case missing.Skips():
			left++
		case fill:
			rows = append(rows, instead)
		default:
			return nil, 0, fmt.Errorf("%d of %d rows are empty: choose what that means", s.Columns[c.Column].Empty, s.Rows)
		}
	}
	if len(rows) == 0 {
		return nil, 0, errors.New("no row is left: count empty ones as a value of their own, or choose another column")
	}
	return rows, left, nil
}

// attribute is what the plan asks.
func (c Choice) attribute(s *Sheet, rows []string) (plan.Attribute, error) {
	a := plan.Attribute{Name: s.Columns[c.Column].Name, Kind: c.Kind}
	if c.Kind == "buckets" {
		a.Low, a.High, a.Cells = c.Low, c.High, c.Cells
		return a, nil
	}
	often := map[string]int{}
	for _, row := range rows {
		if c.Kind == "set" {
			for _, item := range itemsOf(row) {
				often[item]++
			}
		} else {
			often[row]++
		}
	}
	names := slices.SortedFunc(maps.Keys(often), func(x, y string) int { return cmp.Or(cmp.Compare(often[y], often[x]), strings.Compare(x, y)) })
	a.Others = c.Others || len(names) > c.Named
	a.Values = slices.Sorted(slices.Values(names[:min(c.Named, len(names))]))
	if c.Kind == "set" {
		a.Most = c.Most
	}
	if len(a.Values) == 0 || len(a.Values) == 1 && !a.Others {
		return a, errors.New("all rows have one value: a question has two or more, so leave room for something else")
	}
	return a, nil
}

// draft is the plan as asked for, without keys and noise.
func (c Choice) draft(a plan.Attribute) plan.Plan {
	m := &plan.Mix{Instances: []plan.Instance{{Hops: make([]plan.Party, hops)}}}
	for h := range m.Instances[0].Hops {
		m.Instances[0].Hops[h].Operator = fmt.Sprintf("hop %d", h+1)
	}
	adjacency := "replacement"
	if a.Kind == "set" { // which one-hot answers alone, as in ESA
		adjacency = "removal"
	}
	return plan.Plan{
		Version: plan.Version, Title: cmp.Or(strings.TrimSpace(c.Title), "How many hold each value"),
		Question: plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{a}, Randomizer: plan.Randomizer{Name: c.Answer, Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: c.Epsilon, Delta: delta, DishonestShare: dishonestShare, Adjacency: adjacency},
		Crowd:     plan.Crowd{Minimum: c.People},
		Envelopes: plan.Envelopes{Suite: suite},
		Route:     plan.Route{Kind: plan.RouteMix, Mix: m},
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
}

// design is the plan with its noise, and the same made runnable: with keys that are nobody's,
// since a plan without keys cannot be run.
func design(p plan.Plan) (plan.Plan, *protocol.Protocol, error) {
	p, err := protocol.Design(p)
	if err != nil {
		return p, nil, err
	}
	runnable, err := keyed(p)
	if err != nil {
		return p, nil, err
	}
	proto, err := protocol.New(runnable)
	return p, proto, err
}

// keyed is the plan with a key for each party, which is thrown away.
func keyed(p plan.Plan) (plan.Plan, error) {
	m := plan.Mix{Instances: []plan.Instance{{Hops: slices.Clone(p.Route.Mix.Instances[0].Hops)}}}
	p.Route.Mix = &m
	for _, party := range []*plan.Party{&m.Instances[0].Hops[0], &m.Instances[0].Hops[1], &p.Analyzer} {
		key, err := envelope.GenerateKey(suite)
		if err != nil {
			return p, err
		}
		party.Key = key.Public().String()
	}
	return p, nil
}
