package protocol_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

var (
	pricedPlans = flag.Int("priced", 100, "how many random plans TestAPriceIsBounded prices")
	pricedSeed  = flag.Uint64("priced-seed", 1, "of TestAPriceIsBounded")
)

// mostTerms is what a price may take: terms of laws, sums and transforms, of which a core looks at
// some 500 million a second.
const mostTerms = 1 << 30

// Whatever numbers a valid plan of whatever kind has, what it costs is found, or refused, with
// bounded work: nobody who can sign a plan keeps a service or a device busy with it.
func TestAPriceIsBounded(t *testing.T) {
	r, bases := rand.New(seeded.New(*pricedSeed)), goldenPlans(t)
	var most int64
	of, kinds := "", map[string]bool{}
	for n := 0; n < *pricedPlans; {
		c := bases[r.IntN(len(bases))]
		p, ok := c.changed(r)
		if !ok || protocol.Validate(p) != nil {
			continue
		}
		n++
		kinds[c.name] = true
		before := prob.Counted()
		price(p)
		if took := prob.Counted() - before; took > most {
			most, of = took, fmt.Sprintf("%s: %s", c.name, p.Canonical())
		}
	}
	t.Logf("%d plans of %d kinds, at most %d terms", *pricedPlans, len(kinds), most)
	if most > mostTerms {
		t.Errorf("%d terms, of at most %d, for %s", most, mostTerms, of)
	}
	if len(kinds) < min(len(bases), *pricedPlans/2)*3/4 {
		t.Errorf("only %d of %d kinds of plan were found", len(kinds), len(bases))
	}
}

// alike are plans whose rows are priced as those of "vector, classes" or of "strings, any text, cut" are.
var alike = []string{"vector, gradients", "vector, mapped", "vector, moments", "vector, of a number, clipped", "strings, letters", "table", "experiment, rows"}

// Two bombs that were found: a gradient by vectors among 1e9 took five minutes of a core, and a
// vector whose tail takes all of its delta had an endless table of no numbers.
func TestPlansThatTookMinutes(t *testing.T) {
	for _, c := range goldenPlans(t) {
		p := c.parse()
		p.Crowd.Minimum, p.Budget.Epsilon = 1_000_000_000, 1e6
		if c.name == "vector, squares" {
			p.Crowd.Minimum, p.Budget.Delta = 61419, 0.8
		}
		if slices.Contains(alike, c.name) || protocol.Validate(p) != nil {
			continue
		}
		before := prob.Counted()
		price(p)
		if took := prob.Counted() - before; took > mostTerms {
			t.Errorf("%s: %d terms", c.name, took)
		}
	}
}

// price does all that a registration does, and a device before it answers.
func price(p plan.Plan) {
	proto, err := protocol.New(p)
	if err != nil {
		return
	}
	promise, err := proto.Promise()
	if err != nil {
		return
	}
	for _, a := range []account.Adjacency{account.Replacement, account.Removal} {
		if g, err := proto.Charge(promise, a); err == nil {
			if one, err := proto.Spending(g, a); err == nil {
				proto.Study(one, 100)
			}
		}
	}
}

// goldenPlan is a plan of the vectors of what devices send, which has every kind and route.
type goldenPlan struct {
	name string
	text json.RawMessage
}

func goldenPlans(t *testing.T) (all []goldenPlan) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors/v1/reports.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name string
			Plan json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		all = append(all, goldenPlan{c.Name, c.Plan})
	}
	return all
}

func (g goldenPlan) parse() (p plan.Plan) {
	if err := json.Unmarshal(g.text, &p); err != nil {
		panic(err)
	}
	return p
}

// changed has other numbers in some places; not ok where they have no form.
func (g goldenPlan) changed(r *rand.Rand) (p plan.Plan, ok bool) {
	var v map[string]any
	if err := json.Unmarshal(g.text, &v); err != nil {
		panic(err)
	}
	set := map[string]func(float64){}
	numbers(v, "", set)
	paths := make([]string, 0, len(set))
	for path := range set {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	whole := func(most float64) float64 { return math.Floor(math.Exp(r.Float64() * math.Log(most))) }
	change := func(path string, to float64) {
		if f := set[path]; f != nil {
			f(to)
		}
	}
	change(".crowd.minimum", whole(plan.MaxCrowd))
	if r.IntN(4) > 0 { // a promise that holds, so that all of it is stated
		change(".budget.epsilon", math.Exp(r.Float64()*10))
	}
	if r.IntN(2) == 0 {
		change(".budget.delta", math.Exp(-r.Float64()*30))
	}
	if r.IntN(2) == 0 {
		change(".envelopes.per_device", whole(plan.MaxEnvelopes))
	}
	for range r.IntN(5) {
		to := []float64{whole(1 << 30), r.Float64(), math.Exp((2*r.Float64() - 1) * math.Log(1e9))}[r.IntN(3)]
		change(paths[r.IntN(len(paths))], to)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return p, json.Unmarshal(text, &p) == nil
}

// numbers finds those of a JSON value, each by its path.
func numbers(v any, path string, set map[string]func(float64)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if _, number := x.(float64); number {
				set[path+"."+k] = func(to float64) { v[k] = to }
			} else if !strings.HasPrefix(k, "vers") {
				numbers(x, path+"."+k, set)
			}
		}
	case []any:
		for i, x := range v {
			if _, number := x.(float64); number {
				set[fmt.Sprintf("%s.%d", path, i)] = func(to float64) { v[i] = to }
			} else {
				numbers(x, fmt.Sprintf("%s.%d", path, i), set)
			}
		}
	}
}
