package latent

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// corners are clusters about (0,0), (10,0) and (0,10), which hold a half, a third and a sixth.
func corners(t *testing.T) []byte {
	t.Helper()
	s := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 10, 0, 0, 10}}, Sizes: []int{300, 200, 100}}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	return s.Marshal()
}

func asked(l plan.Latent, epsilon float64, crowds ...string) plan.Plan {
	return plan.Plan{
		Question: plan.Question{Kind: "latent", Unfit: plan.UnfitReference, Latent: &l}, State: strings.Repeat("0", 64),
		Budget: plan.Budget{LocalEpsilon: epsilon, Delta: 1e-6, Adjacency: "replacement", DishonestShare: 0.1},
		Crowd:  plan.Crowd{Minimum: 500, Names: crowds}, Envelopes: plan.Envelopes{Suite: "x25519"},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: make([]plan.Party, 2)}}}},
	}
}

func symbolled() plan.Latent {
	return plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentSymbols, Clusters: 3}
}

func made(t *testing.T, p plan.Plan) *Question {
	t.Helper()
	p, err := Design(p)
	if err != nil {
		t.Fatal(err)
	}
	var ps plan.Problems
	if validate(p, &ps); ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	q, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	with, err := q.WithState(corners(t))
	if err != nil {
		t.Fatal(err)
	}
	return with.(*Question)
}

var records = []Record{
	{Features: []float32{1, 1}}, {Features: []float32{1, 1}, Class: 1}, {Features: []float32{9, 1}}, {Features: []float32{9, 1}, Class: 1},
	{Features: []float32{0, 8}}, {Features: []float32{0, 8}, Class: 1}, {Features: []float32{float32(math.NaN()), 0}}, {Features: []float32{1, 1}, Class: 7},
}

// The law of a whole report, over all sets that a device may say: no two records, those included
// that do not fit, are told apart by more than the local epsilon. A twin that favours its symbol
// more is beyond it.
func TestSymbolsByEnumeration(t *testing.T) {
	const epsilon = 0.5
	q := made(t, asked(symbolled(), epsilon))
	z := q.InnerPlan().Question.Histogram.Randomizer
	if z.Name != subset || z.Subset != 2 || math.Abs(z.Epsilon-epsilon) > 1e-9 {
		t.Fatalf("randomizer %+v", z)
	}
	weight := func(symbol, set int, epsilon float64) float64 {
		if set>>symbol&1 == 1 {
			return math.Exp(epsilon)
		}
		return 1
	}
	law := func(r Record, epsilon float64) []float64 { // over sets of the size, as bits
		v, err := q.InnerValue(r)
		if err != nil {
			t.Fatal(err)
		}
		symbol, all, total := v.Values[0].(int), make([]float64, 1<<6), 0.0
		for set := range all {
			if n := ones(set); n != z.Subset {
				continue
			}
			if symbol >= 0 {
				all[set] = weight(symbol, set, epsilon)
			} else { // drawn at random
				for s := range 6 {
					all[set] += weight(s, set, epsilon)
				}
			}
			total += all[set]
		}
		for set := range all {
			all[set] /= total
		}
		return all
	}
	worst := func(epsilon float64) (most float64) {
		for _, a := range records {
			for _, b := range records {
				p, o := law(a, epsilon), law(b, epsilon)
				for set := range p {
					if p[set] > 0 {
						most = max(most, math.Log(p[set]/o[set]))
					}
				}
			}
		}
		return most
	}
	if got := worst(epsilon); math.Abs(got-epsilon) > 1e-9 {
		t.Errorf("records tell %v, and %v is promised", got, epsilon)
	}
	if worst(1.1*epsilon) <= epsilon+0.01 {
		t.Error("a twin that favours its symbol more keeps the promise")
	}
	for _, r := range records { // devices draw from that law, and not from another record's
		counts := said(t, q, r, 5000)
		stattest.GTest(t, law(r, epsilon), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(records[2], 4*epsilon), counts) })
	}
}

// said is how often each set is said of a record, as bits.
func said(t *testing.T, q *Question, r Record, times int) []int {
	t.Helper()
	counts, source := make([]int, 1<<6), stattest.Rand(t)
	for range times {
		s, err := q.Encode(r)
		if _, err = question.Fits(err); err != nil {
			t.Fatal(err)
		}
		report, err := q.Randomize(source, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		counted, set := q.NewTally(), 0
		for _, m := range report.Parts[0] {
			if err := counted.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		for cell, c := range counted.(*tally.Counts).N {
			set |= int(c) << cell
		}
		counts[set]++
	}
	return counts
}

func ones(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

// What does not fit is said to be so, and answered for all that.
func TestWhatDoesNotFit(t *testing.T) {
	q := made(t, asked(symbolled(), 2))
	for i, r := range records {
		_, err := q.Encode(r)
		unfit, failed := question.Fits(err)
		if failed != nil || (unfit != nil) != (i >= 6) {
			t.Errorf("record %d: %v, %v", i, unfit, failed)
		}
	}
	if _, err := q.Encode(Record{Features: []float32{1}}); err == nil || !strings.Contains(err.Error(), "1 numbers") {
		t.Errorf("a record of one number: %v", err)
	}
	if _, err := q.InnerValue(Record{Features: []float32{1}}); err == nil || !strings.Contains(err.Error(), "1 numbers") {
		t.Errorf("the symbol of a record of one number: %v", err)
	}
	if _, err := (&Question{plan: q.plan, ask: q.ask, report: q.report}).Encode(records[0]); err == nil {
		t.Error("answered without clusters")
	}
	if _, err := (&Question{ask: plan.Latent{Features: 2, Clusters: 4}}).WithState(corners(t)); err == nil {
		t.Error("three clusters for four")
	}
}

// Every statement is of the whole record, and the first needs nobody.
func TestWhatIsPromised(t *testing.T) {
	groups := symbolled()
	groups.Classes = nil
	for _, p := range []plan.Plan{asked(symbolled(), 1), asked(groups, 1, "old", "new")} {
		q := made(t, p)
		g, err := account.Epsilon(q.Event(450, false), 1e-6)
		if err != nil || g.Epsilon > 0.5 {
			t.Fatalf("%+v, %v", g, err)
		}
		all, err := q.Guarantees(g)
		if err != nil || all[0].Guarantee.Trust != account.Local || math.Abs(all[0].Guarantee.Epsilon-1) > 1e-9 || all[0].Guarantee.Delta != 0 {
			t.Fatalf("%+v, %v", all, err)
		}
		if slices.ContainsFunc(all, func(s account.Statement) bool {
			return strings.Contains(s.Note, "group") != (len(p.Crowd.Names) > 0)
		}) {
			t.Errorf("%+v", all)
		}
	}
}

// Of exact numbers the shares of classes come back, whatever the clusters hold.
func TestTargetsOfExactNumbers(t *testing.T) {
	q := made(t, asked(symbolled(), 2))
	m := &Model{Asked: q.ask, Finder: q.finder}
	table := &histogram.Table{Respondents: 600}
	for _, n := range []float64{225, 75, 0, 200, 103, -3} {
		table.Values = append(table.Values, estimate.Value{Mean: n, StdErr: 4})
	}
	got, err := m.Targets(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.75, 0.25, 0, 1, 1, 0} {
		if math.Abs(got[i/2][i%2]-want) > 1e-12 {
			t.Errorf("share %d is %v, want %v", i, got[i/2][i%2], want)
		}
	}
	if got, err := (&Model{Asked: q.ask}).Targets(table); err != nil || len(got) != 0 {
		t.Errorf("without the state: %v, %v", got, err)
	}
}

// What does not belong together is refused before it is designed.
func TestWrongPlans(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan, *plan.Latent){
		"no local epsilon": func(p *plan.Plan, _ *plan.Latent) {
			p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"}
		},
		"no report":          func(_ *plan.Plan, l *plan.Latent) { l.Report = "" },
		"one cluster":        func(_ *plan.Plan, l *plan.Latent) { l.Clusters = 1 },
		"no features":        func(_ *plan.Plan, l *plan.Latent) { l.Features = 0 },
		"one class":          func(_ *plan.Plan, l *plan.Latent) { l.Classes = l.Classes[:1] },
		"classes and crowds": func(p *plan.Plan, _ *plan.Latent) { p.Crowd.Names = []string{"old", "new"} },
		"labels alone":       func(p *plan.Plan, _ *plan.Latent) { p.Budget.Adjacency = plan.AdjacencyLabel },
		"other randomizers":  func(_ *plan.Plan, l *plan.Latent) { l.Randomizer = &plan.Randomizer{Name: "one-hot"} },
		"nothing for unfit":  func(p *plan.Plan, _ *plan.Latent) { p.Question.Unfit = "" },
	} {
		l := symbolled()
		p := asked(l, 1)
		change(&p, p.Question.Latent)
		if _, err := Design(p); err == nil {
			t.Errorf("%s: designed", name)
		}
	}
	p, err := Design(asked(symbolled(), 1))
	if err != nil {
		t.Fatal(err)
	}
	p.State = ""
	var ps plan.Problems
	if validate(p, &ps); ps.Err() == nil {
		t.Error("a plan without clusters is valid")
	}
}

// A device's whole work before sealing, of an image in 500 clusters with ten classes.
func BenchmarkDevice(b *testing.B) {
	s := &cluster.State{Width: 28, Height: 28, Centres: blas32.General{Rows: 500, Cols: 784, Stride: 784}, Sizes: make([]int, 500)}
	r := rng.New()
	for range 500 * 784 {
		s.Centres.Data = append(s.Centres.Data, float32(r.NormFloat64()))
	}
	if err := s.Prepare(); err != nil {
		b.Fatal(err)
	}
	p, err := Design(asked(plan.Latent{Features: 784, Classes: strings.Split("abcdefghij", ""), Report: plan.LatentSymbols, Clusters: 500}, 2))
	if err != nil {
		b.Fatal(err)
	}
	q, err := New(p)
	if err != nil {
		b.Fatal(err)
	}
	with, err := q.WithState(s.Marshal())
	if err != nil {
		b.Fatal(err)
	}
	image := make([]float32, 784)
	for i := range image {
		image[i] = r.Float32()
	}
	for b.Loop() {
		symbol, err := with.Encode(Record{Features: image, Class: 3})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := with.Randomize(r, symbol, nil); err != nil {
			b.Fatal(err)
		}
	}
}
