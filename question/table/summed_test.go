package table_test

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/table"
)

// added returns a plan of sums that so many answer, without its noise.
func added(people int, noise string) plan.Plan {
	p := example.Summed(example.Table(), noise)
	p.Crowd.Minimum, p.Budget.Epsilon = people, 6
	return p
}

// Devices split, both aggregators add noise, and the analyzer reads: each table is that of the records, within its errors;
// of a value that nobody knows each value of its column has a part. Sums that are drawn by the law say the same.
func TestSummedTablesGoTheWholeWay(t *testing.T) {
	const people = 3000
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := example.Design(t, added(people, noise))
		proto := example.Runnable(t, p)
		promise, err := proto.Promise()
		if err != nil || promise.Shuffled.Epsilon > p.Budget.Epsilon*(1+1e-9) || promise.Shuffled.Users != 1 {
			t.Fatalf("%s: %v, %v", noise, promise.Shuffled, err)
		}
		if s := promise.Statements; len(s) != 3 || s[0].Observer != account.BothAggregators || !math.IsInf(s[0].Guarantee.Epsilon, 1) || (s[1].Guarantee.Epsilon > s[2].Guarantee.Epsilon) != true {
			t.Errorf("%s: %v", noise, s)
		}
		r := seeded.New(1)
		sums := make([]int64, p.Route.Sum.Circuit.Length)
		var values distribution.Values
		for i := range people {
			held := []any{[]any{"tea", "coffee", "mate"}[i%3], []any{"student", "staff"}[i%2], float64(i % 30)}
			if i%10 == 0 {
				held[1] = "guest"
			}
			values = append(values, held)
			symbol, err := proto.Encode(held)
			if _, failed := question.Fits(err); failed != nil {
				t.Fatal(failed)
			}
			_, marked, err := proto.Measure(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range marked {
				sums[i] += int64(x)
			}
		}
		route, err := sum.New(p)
		if err != nil {
			t.Fatal(err)
		}
		for aggregator := range uint64(2) {
			for i, z := range route.Noise(seeded.New(2, aggregator)) {
				sums[i] += z
			}
		}
		crowd, err := proto.Sums(sums, people)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := distribution.Draw(proto, values, example.Streams(1), func(int) {})
		if drawn == nil {
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
			if s.Spare != 0 {
				t.Errorf("%s, %s: the error is of %d numbers, and known", noise, name, s.Spare)
			}
			for a, b := range s.Pairs {
				for i, x := range s.Table(a, b) {
					within := 5 * math.Hypot(s.CellError(a, b), math.Sqrt(people/10)/2) // and which values were drawn
					if want := truth.Pairs[s.Pair(a, b)][i]; math.Abs(x-want) > within {
						t.Errorf("%s, %s: columns %d and %d, cell %d: %v within %v, want %v", noise, name, a, b, i, x, within, want)
					}
				}
			}
		}
	}
}

// Of no two records, those with values that nobody knows among them, do more cells differ than are charged, by more than
// one: by enumeration of all pairs, of which some differ in as many. What a device marks is proved, and one cell more is not.
func TestSumsAreMovedAsCharged(t *testing.T) {
	p := example.Design(t, added(3000, plan.NoiseAggregators))
	proto := example.Runnable(t, p)
	var marked [][]uint64
	for _, drink := range []any{"tea", "coffee", "mate", ""} {
		for _, class := range []any{"student", "staff", "guest"} {
			for _, spend := range []any{1.0, 5.0, 20.0, ""} {
				symbol, err := proto.Encode([]any{drink, class, spend})
				if _, failed := question.Fits(err); failed != nil {
					t.Fatal(failed)
				}
				for draw := range uint64(3) {
					_, v, err := proto.Measure(seeded.New(draw), symbol, nil)
					if err != nil {
						t.Fatal(err)
					}
					marked = append(marked, v)
				}
			}
		}
	}
	most := 0
	for i := range marked {
		for j := range i {
			differ := 0
			for k := range marked[i] {
				if marked[i][k] > 1 {
					t.Fatalf("a cell is marked %d times", marked[i][k])
				}
				if marked[i][k] != marked[j][k] {
					differ++
				}
			}
			most = max(most, differ)
		}
	}
	if charged := proto.Question.(*table.Question).Event(1, false).(account.Repeat).Rounds; most != charged || charged != 6 {
		t.Errorf("%d cells differ at most, and %d are charged", most, charged)
	}
	v, err := vdaf.New(p.Route.Sum, []byte("a context"))
	if err != nil {
		t.Fatal(err)
	}
	var nonce [prio3.NonceSize]byte
	for i, cells := range marked {
		if _, _, _, err := v.Split(rand.Reader, nonce, cells); err != nil {
			t.Errorf("record %d is not proved: %v", i, err)
		}
	}
	spoilt := marked[0]
	for i, x := range spoilt {
		if x == 0 {
			spoilt[i] = 1
			break
		}
	}
	if _, _, _, err := v.Split(rand.Reader, nonce, spoilt); err == nil {
		t.Error("a cell more is proved")
	}
}

func TestPlansOfSumsAreRefused(t *testing.T) {
	good := example.Design(t, added(3000, plan.NoiseAggregators))
	for want, spoil := range map[string]func(p *plan.Plan, s *plan.Crosstab){
		"route.sum.law": func(p *plan.Plan, _ *plan.Crosstab) {
			p.Route.Sum.Law, p.Route.Sum.Decay, p.Route.Sum.Sigma = plan.LawLaplace, 0.1, 0
		},
		"route.sum.noise":     func(p *plan.Plan, _ *plan.Crosstab) { p.Route.Sum.Noise = plan.NoiseDevices },
		"seed, main":          func(_ *plan.Plan, s *plan.Crosstab) { s.Main = 0.1 },
		"seed, main and":      func(_ *plan.Plan, s *plan.Crosstab) { s.Seed = example.Seed },
		"seed, main and answ": func(_ *plan.Plan, s *plan.Crosstab) { s.Answered = 100 },
		"answered, rows":      func(_ *plan.Plan, s *plan.Crosstab) { s.Rows = 1024 },
		"route.sum.circuit":   func(p *plan.Plan, _ *plan.Crosstab) { p.Route.Sum.Circuit.Weight++ },
	} {
		p, s, route := good, *good.Question.Table, *good.Route.Sum
		p.Question.Table, p.Route.Sum = &s, &route
		spoil(&p, &s)
		err := protocol.Validate(p)
		if err == nil {
			_, err = protocol.New(p)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := protocol.Validate(good); err != nil {
		t.Error(err)
	}
	proto := example.Runnable(t, good)
	if _, err := proto.Question.(*table.Question).Sums(make([]int64, 3), 1); err == nil {
		t.Error("sums of another length are read")
	}
	symbol, err := proto.Encode([]any{"tea", "staff", 4.0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proto.Randomize(seeded.New(1), symbol, nil); err == nil {
		t.Error("what is split is randomized")
	}
	if says := proto.Question.(*table.Question).Compare(); len(says) != 1 || !strings.Contains(says[0].Says, "three cells at most") || !strings.Contains(says[0].Says, "(one standard error)") {
		t.Errorf("%v", says)
	}
}
