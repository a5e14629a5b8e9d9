package experiment_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/simulate"
)

// many is a plan that so many answer.
func many(t *testing.T, people int, summed bool) plan.Plan {
	p := example.Experiment()
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Delta = people, 2, 1e-6
	if summed {
		p = example.Summed(p, plan.NoiseAggregators)
	}
	return example.Design(t, p)
}

// people are drawn into two arms; the second has more minutes.
func people(n int, lift float64) (all distribution.Values) {
	r := seeded.New(4)
	for i := range n {
		z := r.NormFloat64()
		before, minutes := 30+8*z, 30+6*z+6*r.NormFloat64()
		if i%2 == 1 {
			minutes *= 1 + lift
		}
		all = append(all, experiment.Record{Arm: i % 2, Numbers: []float64{minutes, before}})
	}
	return all
}

// Devices answer, or the law draws what they would: means, people and noise are as stated, on both routes.
func TestExperimentsGoTheWholeWay(t *testing.T) {
	const n = 3000
	for name, summed := range map[string]bool{"rows": false, "sums": true} {
		p := many(t, n, summed)
		proto, values := example.Runnable(t, p), people(n, 0.1)
		if promise := example.Promised(t, proto).Shuffled; promise.Epsilon > 2*(1+1e-9) || promise.Epsilon < 1.99 {
			t.Errorf("%s: %v", name, promise)
		}
		truth, err := distribution.Reveal(proto, values)
		if err != nil {
			t.Fatal(err)
		}
		check := func(how string, m *experiment.Model) {
			t.Helper()
			e := *proto.Plan.Question.Experiment
			for arm := range 2 {
				got := lift.MeanOf(e, m.Sums, arm, 0)
				if want := truth.Arms[arm][0] - 15; math.Abs(got.Mean-want) > 6*math.Sqrt(got.Variance())+0.5 {
					t.Errorf("%s, %s: arm %d has %v, want %v", name, how, arm, got.Mean, want)
				}
				if of, noise := lift.People(e, m.Sums, arm); math.Abs(of-n/2) > 6*noise || noise < 1 {
					t.Errorf("%s, %s: %v people in arm %d, with noise %v", name, how, of, arm, noise)
				}
			}
		}
		col, err := simulate.Law(proto, values, 1, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		m, err := proto.Learn(col.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		check("law", m.(*experiment.Model))
		r := seeded.New(2)
		crowd := tally.Crowd{Tally: proto.NewTally(), Respondents: n}
		sums := make([]int64, 6)
		for _, v := range values {
			symbol, err := proto.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if summed {
				_, vector, err := proto.Measure(r, symbol, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, x := range vector {
					sums[i] += int64(x)
				}
				continue
			}
			report, err := proto.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range report.Parts[0] {
				if err := crowd.Tally.Add(body); err != nil {
					t.Fatal(err)
				}
			}
		}
		if summed {
			if crowd, err = proto.Sums(sums, n); err != nil {
				t.Fatal(err)
			}
			if _, err := proto.Randomize(r, make([]uint64, 6), nil); err == nil {
				t.Error("what is summed was randomized")
			}
			if _, err := proto.Sums(sums[1:], n); err == nil {
				t.Error("sums of another length were taken")
			}
		}
		if m, err = proto.Learn([]tally.Crowd{crowd}); err != nil {
			t.Fatal(err)
		}
		check("devices", m.(*experiment.Model))
	}
}

// The stated noise is what sums err by, over many drawn ones: of bits without the part that is how people differ.
func TestNoiseIsAsStated(t *testing.T) {
	const n, runs = 800, 60
	for name, summed := range map[string]bool{"rows": false, "sums": true} {
		proto := example.Runnable(t, many(t, n, summed))
		values := people(n, 0)
		exact := make([]float64, 6)
		for _, v := range values {
			out := make([]float32, 6)
			r := v.(experiment.Record)
			lift.Write(*proto.Plan.Question.Experiment, r.Arm, r.Numbers, out)
			for i, x := range out {
				exact[i] += float64(x)
			}
		}
		squares, stated := 0.0, 0.0
		for seed := range uint64(runs) {
			col, err := simulate.Law(proto, values, seed, func(string, int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			m, err := proto.Learn(col.Crowds)
			if err != nil {
				t.Fatal(err)
			}
			s := m.(*experiment.Model).Sums
			stated += s.Variance / runs
			for i, x := range s.Of {
				squares += (x - exact[i]) * (x - exact[i]) / (6 * runs)
			}
		}
		if ratio := squares / stated; ratio < 0.75 || ratio > 1.25 { // of 360 numbers
			t.Errorf("%s: sums err by %v squared, and %v is stated", name, squares, stated)
		}
	}
}

// Rows are moved by no pair further than is charged, and by one as far: by enumeration of both ends and what lies between.
func TestRowsAreMovedAsCharged(t *testing.T) {
	proto := example.Runnable(t, many(t, 3000, false))
	q := proto.Question.(*experiment.Question)
	var ones [][]float64
	for arm := range 2 {
		for _, x := range []float64{-20, 0, 20, 40, 70, 100} {
			s, err := q.Encode(experiment.Record{Arm: arm, Numbers: []float64{x, 0}})
			if err != nil {
				t.Fatal(err)
			}
			ones = append(ones, q.Ones(s))
		}
	}
	none, _ := q.Encode(experiment.Record{Arm: 2})
	ones = append(ones, q.Ones(none))
	spec, most := q.Rows().Spec(), 0.0
	for i := range ones {
		for j := range i {
			moved := 0.0
			for row := range ones[i] {
				gap := (ones[i][row] - ones[j][row]) / (1 - 2*spec.Flip)
				moved += gap * gap
			}
			most = max(most, moved)
		}
	}
	if charged := spec.Event(proto.Plan.MinHonest()).SquaredGap; most > charged || most < charged*0.999 {
		t.Errorf("rows are moved by %v, and %v is charged", most, charged)
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for _, summed := range []bool{false, true} {
		q := example.Runnable(t, many(t, 3000, summed)).Question
		for name, r := range map[string]experiment.Record{
			"arm": {Arm: 2, Numbers: []float64{1, 2}}, "numbers": {Numbers: []float64{1}}, "not finite": {Numbers: []float64{math.NaN(), 1}}, "too large": {Numbers: []float64{math.MaxFloat64, math.Inf(-1)}},
		} {
			s, err := q.Encode(r)
			if unfit, failed := question.Fits(err); unfit == nil || failed != nil || s == nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, x := range zeros(s) {
				if x != 0 {
					t.Errorf("%s: told as %v", name, s)
				}
			}
		}
		if _, err := q.Encode("text"); err == nil {
			t.Error("a text is no record")
		}
	}
}

// One who lies in every row counts for as many times more of several metrics as its rows are larger, times the root of their number,
// by which sums are multiplied.
func TestLiarsCountForMoreOfManyMetrics(t *testing.T) {
	for _, metrics := range []int{1, 4} {
		p := example.Experiment()
		p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Delta = 5000, 1, 1e-6
		e := p.Question.Experiment
		for i := range metrics - 1 {
			other := e.Metrics[0]
			other.Name = string(rune('a' + i))
			e.Metrics = append(e.Metrics, other)
		}
		p = example.Design(t, p)
		b := *p.Question.Experiment.Bits
		all, people := example.Runnable(t, p).Question.(*experiment.Question).Compare(), 0.0
		_, after, _ := strings.Cut(all[len(all)-1].Says, "counts for up to ")
		if _, err := fmt.Sscan(after, &people); err != nil {
			t.Fatal(all, err)
		}
		if want := math.Sqrt(float64(metrics)) * b.Clip / (1 - 2*b.Flip); math.Abs(people/want-1) > 0.06 {
			t.Errorf("%d metrics: %v, want %v", metrics, people, want)
		}
	}
}

func zeros(s question.Symbol) (all []float64) {
	switch s := s.(type) {
	case []uint64:
		for _, x := range s {
			all = append(all, float64(x))
		}
	case []float32:
		for _, x := range s {
			all = append(all, float64(x))
		}
	}
	return all
}

func TestPlansAreRefused(t *testing.T) {
	rows, sums := many(t, 3000, false), many(t, 3000, true)
	for want, spoil := range map[string]func(p *plan.Plan, e *plan.Experiment){
		"arms":            func(_ *plan.Plan, e *plan.Experiment) { e.Arms = e.Arms[:1] },
		"different names": func(_ *plan.Plan, e *plan.Experiment) { e.Metrics = append(e.Metrics, e.Metrics[0]) },
		"shares":          func(_ *plan.Plan, e *plan.Experiment) { e.Shares = []float64{0.5, 0.4} },
		"low must be":     func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Low = 100 },
		"too far apart":   func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Low, e.Metrics[0].High = -1e308, 1e308 },
		"times must be":   func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Times = -9e307 },
		"not finite":      func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Times = math.Inf(1) },
		"are of before":   func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Before = "" },
		"are of per":      func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Rate = 1 },
		"per_mean":        func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Per = "views" },
		"other numbers":   func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Before = "minutes" },
		"lost_alike":      func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].LostAlike = 0.5 },
		"capped metric":   func(_ *plan.Plan, e *plan.Experiment) { e.Metrics[0].Capped = true },
		"looks":           func(_ *plan.Plan, e *plan.Experiment) { e.Looks = 11 },
		"past is missing": func(_ *plan.Plan, e *plan.Experiment) { e.Looks, e.Look = 2, 2 },
		"past must have":  func(_ *plan.Plan, e *plan.Experiment) { e.Past = &plan.Looked{} },
		"the first has none": func(_ *plan.Plan, e *plan.Experiment) {
			e.Past = &plan.Looked{Plans: []string{}, Sums: make([]float64, 6), Evidence: []float64{}, Steps: []float64{}}
		},
		"have no sums": func(_ *plan.Plan, e *plan.Experiment) {
			e.Looks, e.Look = 2, 2
			e.Past = &plan.Looked{Plans: []string{"a"}, Sums: []float64{1, 0, 0, 0, 0, 0}, Evidence: []float64{0}, Steps: []float64{0}}
		},
		"and 6 sums": func(_ *plan.Plan, e *plan.Experiment) { // too large to be people
			e.Looks, e.Look = 2, 2
			e.Past = &plan.Looked{Plans: []string{"a"}, Sums: make([]float64, 6), Evidence: []float64{0}, Steps: []float64{1e308}}
		},
		"at most 64 comparisons": func(_ *plan.Plan, e *plan.Experiment) {
			e.Looks = 2
			for i := range 64 {
				e.Metrics = append(e.Metrics[:i:i], plan.Measure{Name: fmt.Sprint("m", i), High: 1})
			}
			e.Arms = []string{"a", "b", "c"}
		},
		"with 2 steps, and": func(_ *plan.Plan, e *plan.Experiment) { // one for each arm that is compared
			e.Looks, e.Look, e.Arms = 2, 2, []string{"a", "b", "c"}
			e.Past = &plan.Looked{Plans: []string{"a"}, Sums: make([]float64, 9), Evidence: []float64{0}, Steps: []float64{1}}
		},
		"with 1 steps, and": func(_ *plan.Plan, e *plan.Experiment) {
			e.Looks, e.Look = 2, 2
			e.Past = &plan.Looked{Plans: []string{"a"}, Sums: make([]float64, 6), Evidence: []float64{0}, Steps: []float64{-1}}
		},
		"adjacency":        func(p *plan.Plan, _ *plan.Experiment) { p.Budget.Adjacency = "removal" },
		"local_epsilon":    func(p *plan.Plan, _ *plan.Experiment) { p.Budget.LocalEpsilon = 3 },
		"crowd.names":      func(p *plan.Plan, _ *plan.Experiment) { p.Crowd.Names = []string{"a", "b"} },
		"unfit":            func(p *plan.Plan, _ *plan.Experiment) { p.Question.Unfit = "" },
		"bits are missing": func(_ *plan.Plan, e *plan.Experiment) { e.Bits = nil },
		"seed":             func(_ *plan.Plan, e *plan.Experiment) { e.Seed = "12" },
		"bits.rows":        func(_ *plan.Plan, e *plan.Experiment) { e.Bits.Rows = 100 },
		"bits.answered":    func(_ *plan.Plan, e *plan.Experiment) { e.Bits.Answered = 0 },
		"bits.clip":        func(_ *plan.Plan, e *plan.Experiment) { e.Bits.Clip = 1.7 },
		"flip_probability": func(_ *plan.Plan, e *plan.Experiment) { e.Bits.Flip = 0.5 },
		"bits.rare":        func(_ *plan.Plan, e *plan.Experiment) { e.Bits.Rare = 0 },
		"per_device":       func(p *plan.Plan, _ *plan.Experiment) { p.Envelopes.PerDevice = 1 },
	} {
		p := spoilt(rows, spoil)
		if err := protocol.Validate(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, spoil := range map[string]func(p *plan.Plan, e *plan.Experiment){
		"of answers that are mixed": func(_ *plan.Plan, e *plan.Experiment) { e.Seed = example.Seed },
		"noise of aggregators": func(p *plan.Plan, _ *plan.Experiment) {
			p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Sigma = plan.NoiseDevices, "", 0
		},
		"sums of vectors":       func(p *plan.Plan, _ *plan.Experiment) { p.Route.Sum.Sigma = 60 },
		"promise does not hold": func(p *plan.Plan, _ *plan.Experiment) { p.Route.Sum.Sigma *= 0.99 },
	} {
		p := spoilt(sums, spoil)
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, p := range []plan.Plan{rows, sums} {
		if err := protocol.Check(p); err != nil {
			t.Error(err)
		}
	}
}

// spoilt returns the plan with something changed, and leaves the plan as it is.
func spoilt(p plan.Plan, spoil func(p *plan.Plan, e *plan.Experiment)) plan.Plan {
	e := *p.Question.Experiment
	e.Metrics = append([]plan.Measure(nil), e.Metrics...)
	if e.Bits != nil {
		bits := *e.Bits
		e.Bits = &bits
	}
	if p.Route.Sum != nil {
		s := *p.Route.Sum
		p.Route.Sum = &s
	}
	p.Question.Experiment = &e
	spoil(&p, &e)
	return p
}

// Looks of other people add up, and so does their noise; one that was withheld counts as made.
func TestLooksAddUp(t *testing.T) {
	p := many(t, 3000, true)
	e := *p.Question.Experiment
	e.Looks, e.Look = 3, 3
	e.Past = &plan.Looked{Plans: []string{"a", "b"}, Sums: []float64{1, 2, 3, 4, 5, 6}, Variance: 7, Steps: []float64{3100, 0}, Evidence: []float64{1, 1}}
	p.Question.Experiment = &e
	proto := example.Runnable(t, p)
	withheld, err := proto.Learn([]tally.Crowd{{}})
	if err != nil {
		t.Fatal(err)
	}
	if s := withheld.(*experiment.Model).Sums; s.Of[5] != 6 || s.Variance != 7 || !slices.Equal(s.Steps, []float64{3100, 0, 0}) {
		t.Errorf("%+v", s)
	}
	crowd, err := proto.Sums([]int64{lift.Scale, 0, 0, 0, 0, 2 * lift.Scale}, 3000)
	if err != nil {
		t.Fatal(err)
	}
	m, err := proto.Learn([]tally.Crowd{crowd})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.(*experiment.Model).Sums; s.Of[0] != 2 || s.Of[5] != 8 || s.Variance <= 7 || len(s.Steps) != 3 || s.Steps[2] < 3000 {
		t.Errorf("%+v", s)
	}
}
