package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/table"
)

// many returns a plan that so many answer.
func many(t *testing.T, people int) plan.Plan {
	p := example.Table()
	p.Crowd.Minimum, p.Budget.Epsilon = people, 6
	p.Question.Table.Answered = 256
	return example.Design(t, p)
}

// Devices answer, the analyzer counts and reads: each table is that of the records, within its errors. Counts that are
// drawn by the law say the same.
func TestTablesGoTheWholeWay(t *testing.T) {
	const people = 3000
	p := many(t, people)
	proto := example.Runnable(t, p)
	q := proto.Question.(*table.Question)
	if promise, err := proto.Promise(); err != nil || promise.Shuffled.Epsilon > p.Budget.Epsilon*(1+1e-9) {
		t.Fatalf("%v, %v", promise.Shuffled, err)
	}
	r := seeded.New(1)
	crowd := tally.Crowd{Tally: proto.NewTally(), Respondents: people}
	var values distribution.Values
	for i := range people {
		held := []any{[]any{"tea", "coffee", "mate"}[i%3], []any{"student", "staff"}[i%2], float64(i % 30)}
		values = append(values, held)
		symbol, err := proto.Encode(held)
		if err != nil {
			t.Fatal(err)
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
	drawn, err := distribution.Draw(proto, values, example.Streams(1), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := distribution.Reveal(proto, values)
	if err != nil {
		t.Fatal(err)
	}
	for name, crowds := range map[string][]tally.Crowd{"devices": {crowd}, "law": drawn} {
		m, err := proto.Learn(crowds)
		if err != nil {
			t.Fatal(err)
		}
		s := m.(*table.Model).Sums
		for a, b := range s.Pairs {
			for i, x := range s.Table(a, b) {
				if want := truth.Pairs[s.Pair(a, b)][i]; math.Abs(x-want) > 5*s.CellError(a, b) {
					t.Errorf("%s: columns %d and %d, cell %d: %v with an error of %v, want %v", name, a, b, i, x, s.CellError(a, b), want)
				}
			}
		}
		if !slices.Equal(s.Ordered, []bool{false, false, true}) {
			t.Errorf("%s: %v are in order", name, s.Ordered)
		}
		if want := q.Rows().Spec().Rows - q.Code().Numbers(); s.Spare != want || want < 500 {
			t.Errorf("%s: the error is of %d numbers, and %d show it", name, s.Spare, want)
		}
	}
	if sizes := q.Code().Sizes; !slices.Equal(sizes, []int{3, 2, 3}) {
		t.Errorf("columns have %v values", sizes)
	}
	if m, err := proto.Learn(make([]tally.Crowd, 1)); err != nil || m.(*table.Model).Sums != nil {
		t.Errorf("of nobody %v is learned, %v", m, err)
	}
}

// Of no two records, those with values that nobody knows among them, are rows moved further than is charged: by
// enumeration of all pairs. A charge of two thirds would not cover them.
func TestRowsAreMovedAsCharged(t *testing.T) {
	proto := example.Runnable(t, example.Design(t, example.Table()))
	q := proto.Question.(*table.Question)
	var ones [][]float64
	for _, drink := range []any{"tea", "coffee", "mate", ""} {
		for _, class := range []any{"student", "staff", "guest"} {
			for _, spend := range []any{1.0, 5.0, 20.0, ""} {
				s, err := q.Encode([]any{drink, class, spend})
				if _, failed := question.Fits(err); failed != nil {
					t.Fatal(failed)
				}
				own := make([]float64, q.Rows().Spec().Rows)
				q.Rows().Ones(s.([]float32), own)
				ones = append(ones, own)
			}
		}
	}
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
	charged := spec.Event(proto.Plan.MinHonest()).SquaredGap
	if most > charged || most < charged*2/3 {
		t.Errorf("rows are moved by %v at most, and %v is charged", most, charged)
	}
}

// Values fall where they belong, and what fits nowhere tells nothing, whatever it is.
func TestRecords(t *testing.T) {
	q := example.Runnable(t, many(t, 3000)).Question.(*table.Question)
	const none = crosscode.None
	for _, c := range []struct {
		held []any
		want []int
		bad  int
	}{
		{[]any{"tea", "student", 4.999}, []int{0, 0, 0}, 0},
		{[]any{"coffee", "staff", 5.0}, []int{1, 1, 1}, 0},
		{[]any{"beer", "staff", "20"}, []int{2, 1, 2}, 0},
		{[]any{"beer", "guest", "-1e300"}, []int{2, none, 0}, 1},
		{[]any{"", "", ""}, []int{2, none, none}, 2},
		{[]any{7.0, "staff", math.NaN()}, []int{none, 1, none}, 2},
	} {
		got, err := q.Record(c.held)
		unfit, failed := question.Fits(err)
		if failed != nil || !slices.Equal(got, c.want) || (unfit == nil) != (c.bad == 0) || unfit != nil && unfit.Values != c.bad {
			t.Errorf("%v is %v, want %v (%v)", c.held, got, c.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "guest") {
			t.Errorf("an error tells the value: %v", err)
		}
	}
	if _, err := q.Record([]any{"tea"}); err == nil {
		t.Error("a record of one column is taken")
	}
	if _, err := q.Encode("tea"); err == nil {
		t.Error("a text is no record")
	}
	if v, errs := q.Value([]any{"tea", "staff", "a lot"}); v != nil || errs[2] == nil || errs[0] != nil {
		t.Errorf("%v, %v", v, errs)
	}
	if v, errs := q.Value([]any{"tea", nil, " 7 "}); v == nil || v.([]any)[2] != 7.0 {
		t.Errorf("%v, %v", v, errs)
	}
	ask := plan.Column{Cuts: []float64{5, 20.5}}
	if got := table.Values(ask); !slices.Equal(got, []string{"under 5", "5 to 20.5", "20.5 and more"}) {
		t.Errorf("%q", got)
	}
}

func TestPlansAreRefused(t *testing.T) {
	good := many(t, 3000)
	for want, spoil := range map[string]func(p *plan.Plan, s *plan.Crosstab){
		"2 to 256":         func(_ *plan.Plan, s *plan.Crosstab) { s.Columns = s.Columns[:1] },
		"name of its own":  func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[1].Name = "drink" },
		"columns[0].name":  func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[0].Name = "tea by cup" },
		"either values":    func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[1].Cuts = []float64{1} },
		"others":           func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[2].Others = true },
		"must differ":      func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[1].Values = []string{"a", "a"} },
		"ascend":           func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[2].Cuts = []float64{2, 2} },
		"has 1 values":     func(_ *plan.Plan, s *plan.Crosstab) { s.Columns[1].Values = []string{"a"} },
		"seed":             func(_ *plan.Plan, s *plan.Crosstab) { s.Seed = "12" },
		"the share":        func(_ *plan.Plan, s *plan.Crosstab) { s.Main = 1 },
		"rows":             func(_ *plan.Plan, s *plan.Crosstab) { s.Rows = 100 },
		"show the error":   func(_ *plan.Plan, s *plan.Crosstab) { s.Rows = 256 },
		"answered":         func(_ *plan.Plan, s *plan.Crosstab) { s.Answered = 0 },
		"clip":             func(_ *plan.Plan, s *plan.Crosstab) { s.Clip = 0 },
		"flip_probability": func(_ *plan.Plan, s *plan.Crosstab) { s.Flip = 0.5 },
		"rare":             func(_ *plan.Plan, s *plan.Crosstab) { s.Rare = 0 },
		"per_device":       func(p *plan.Plan, _ *plan.Crosstab) { p.Envelopes.PerDevice = 1 },
		"adjacency":        func(p *plan.Plan, _ *plan.Crosstab) { p.Budget.Adjacency = "removal" },
		"local_epsilon":    func(p *plan.Plan, _ *plan.Crosstab) { p.Budget.LocalEpsilon = 3 },
		"crowd.names":      func(p *plan.Plan, _ *plan.Crosstab) { p.Crowd.Names = []string{"a", "b"} },
		"unfit":            func(p *plan.Plan, _ *plan.Crosstab) { p.Question.Unfit = "" },
	} {
		p, s := good, *good.Question.Table
		s.Columns = slices.Clone(s.Columns)
		p.Question.Table = &s
		spoil(&p, &s)
		if err := protocol.Validate(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := protocol.Validate(good); err != nil {
		t.Error(err)
	}
}

// Before anybody answers a plan says how exact it is, and what a liar counts for.
func TestAPlanSaysWhatItTells(t *testing.T) {
	says := example.Runnable(t, many(t, 3000)).Question.(*table.Question).Compare()
	if len(says) != 1 || !strings.Contains(says[0].Says, "hold at once") || !strings.Contains(says[0].Says, "three tables") || !strings.Contains(says[0].Says, "One who lies") {
		t.Errorf("%v", says)
	}
}

// A plan of few people says that they are few for tables, and one of many does not, whoever adds noise.
func TestAPlanOfFewSaysSo(t *testing.T) {
	for _, route := range []string{"", plan.NoiseAggregators} {
		for people, few := range map[int]bool{500: true, 200_000: false} {
			p := example.Table()
			if route != "" {
				p = example.Summed(p, route)
			}
			p.Crowd.Minimum, p.Budget.Epsilon = people, 1
			says := example.Runnable(t, example.Design(t, p)).Question.(*table.Question).Compare()[0].Says
			if strings.Contains(says, "few for tables") != few || !strings.Contains(says, "in another cell of a table") || !strings.Contains(says, "One in a hundred who lie together count for up to") {
				t.Errorf("%d people, %q: %s", people, route, says)
			}
		}
	}
}

// Errors that are stated are those that come out, whoever people are: alike, mixed, or of a few sorts whose columns say more
// of each other than any two tell. Of numbers of the sum, each run with a rotation of its own, 4 to 6 % are further off than
// 1.96 errors. The plan's guess, which knows nothing of the people, is caught; so is the first reading, which leaves what
// clipping took of people who are all alike.
func TestErrorsAreThoseThatComeOut(t *testing.T) {
	const people, columns, runs = 6000, 8, 6
	sizes := []int{2, 3, 4}
	p := example.Table()
	p.Crowd.Minimum, p.Budget.Epsilon = people, 1
	p.Question.Table.Answered, p.Question.Table.Columns = 1024, nil
	for i := range columns {
		p.Question.Table.Columns = append(p.Question.Table.Columns, plan.Column{Name: string(rune('a' + i)), Values: []string{"0", "1", "2", "3"}[:sizes[i%3]]})
	}
	agree := func(share float64) func(r *rand.Rand, record []int) {
		return func(r *rand.Rand, record []int) {
			for i := range record {
				if record[i] = 0; r.Float64() >= share {
					record[i] = 1 + r.IntN(sizes[i%3]-1)
				}
			}
		}
	}
	for _, c := range []struct {
		name         string
		hold         func(r *rand.Rand, record []int)
		guess, first bool // are caught
	}{
		{"nine in ten agree", agree(0.9), true, true},
		{"mixed", agree(0.45), false, false},
		{"five sorts", func(r *rand.Rand, record []int) {
			for i, sort := 0, r.IntN(5); i < columns; i++ {
				if record[i] = (sort*(i+3) + i*i) % sizes[i%3]; r.Float64() < 0.05 {
					record[i] = r.IntN(sizes[i%3])
				}
			}
		}, false, false},
		{"all are alike", agree(1), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			numbers := 0
			var off, guessed, first int // by more than 1.96 errors
			var read, unread float64    // squares of errors
			for run := range runs {
				p.Question.Table.Seed = fmt.Sprintf("%064x", run+1)
				proto := example.Runnable(t, example.Design(t, p))
				q := proto.Question.(*table.Question)
				r, records := seeded.New(stattest.Rand(t).Uint64(), uint64(run)), make([][]int, people)
				exact, one := make([]float64, q.Code().Numbers()), make([]float32, q.Code().Numbers())
				for i := range records {
					records[i] = make([]int, columns)
					c.hold(r, records[i])
					q.Code().Write(records[i], one)
					for j, x := range one {
						exact[j] += float64(x)
					}
				}
				bits := r.Uint64()
				counts := q.Rows().DrawAll(people, func(i int, v []float32) { q.Code().Write(records[i], v) },
					func(part int) *rand.Rand { return seeded.New(bits, uint64(part)) }, nil)
				crowd := tally.Crowd{Tally: q.NewTally(), Respondents: people}
				counts.AddTo(crowd.Tally.(*tally.Counts))
				m, err := proto.Learn([]tally.Crowd{crowd})
				if err != nil {
					t.Fatal(err)
				}
				once, err := q.Rows().Estimate(counts, people)
				if err != nil {
					t.Fatal(err)
				}
				s, mixed := m.(*table.Model).Sums, q.Rows().Spec().Deviation(people, q.Code().Alike(func(size int) float64 { return 1 / float64(size) }))
				for j, x := range exact {
					count := func(of *int, is, err float64) {
						if math.Abs(is-x) > 1.96*err {
							*of++
						}
					}
					numbers++
					read += (s.Vector[j] - x) * (s.Vector[j] - x)
					unread += (once.Vector[j] - x) * (once.Vector[j] - x)
					count(&off, s.Vector[j], s.Error)
					count(&guessed, once.Vector[j], mixed)
					count(&first, once.Vector[j], s.Error)
				}
			}
			right := func(off int) func(t testing.TB) {
				return func(t testing.TB) {
					stattest.AtMost(t, 0.06, numbers, off)
					stattest.AtMost(t, 0.96, numbers, numbers-off)
				}
			}
			t.Logf("of %d numbers %d are further off than stated, %d by the plan's guess, %d at the first reading", numbers, off, guessed, first)
			t.Logf("numbers err by %.1f, at the first reading by %.1f", math.Sqrt(read/float64(numbers)), math.Sqrt(unread/float64(numbers)))
			right(off)(t)
			if c.guess {
				stattest.Caught(t, right(guessed))
			}
			if c.first {
				stattest.Caught(t, right(first))
			}
		})
	}
}
