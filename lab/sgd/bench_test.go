package sgd

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
	"github.com/confetti-dp/confetti/release"
)

// drawn is a set of generated pictures, of ten classes that say nothing of them.
func drawn(string) (*dataset.Set, error) {
	of := func(seed uint64, n int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: n, Cols: side * side, Stride: side * side, Data: slices.Concat(synthetic.Images(seeded.New(seed), n)...)}
		for i := range n {
			l.Y = append(l.Y, i%10)
		}
		return l
	}
	return &dataset.Set{Name: "mnist", Classes: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, Train: of(1, 400), Test: of(2, 100)}, nil
}

// A cell by ESA's way is measured with the network of 26,010 numbers, and is told apart what is printed, proved and
// shown.
func TestACellOfTableXII(t *testing.T) {
	cells := papersWay("mnist", []int{10_000}, 5)
	cells[0].Gradient.Rounds, cells[0].Gradient.Population, cells[0].Gradient.Examples, cells[0].Runs = 6, 60_000, few, 2
	loads, told := 0, 0
	b := Kind.Bench(experiments.Data{Set: func(name string) (*dataset.Set, error) { loads++; return drawn(name) }, Tell: func(string, int, int) { told++ }})
	for range 2 {
		m, err := b.Measure(cells[0])
		if err != nil || m.Result == nil {
			t.Fatalf("%v %s", err, m.Reason)
		}
		r := m.Result
		if r.Trained.Parameters != 26_010 || r.Users != 10_000 || r.Respondents != 60_000 || r.Trained.Answers != 1 || len(r.Trained.Curve) != 6 || *r.EpsilonLocal != 1.9 {
			t.Errorf("%+v %+v", r, r.Trained)
		}
		if *r.Epsilon > 0.2 || *r.Trained.PrintedOrder < *r.Epsilon || r.Trained.LowerEpsilon > 1 {
			t.Errorf("proved %v, printed %v, shown %v", *r.Epsilon, *r.Trained.PrintedOrder, r.Trained.LowerEpsilon)
		}
	}
	if told < 2*6 {
		t.Errorf("progress was told %d times of two runs of six rounds", told)
	}
	if loads != 1 {
		t.Errorf("the set was read %d times", loads)
	}
}

// Records that are held back are of respondents that answer nothing, and are no test records.
func TestHeldBackRecordsAreOfOthers(t *testing.T) {
	set, err := drawn("")
	if err != nil {
		t.Fatal(err)
	}
	of := func(heldBack bool) population {
		p, err := prepare(Cell{Gradient: experiments.Gradient{Architecture: "xiii", HeldBack: heldBack}}, set, "", func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, half := of(false), of(true)
	if len(all.values) != 400 || len(half.values) != 200 || len(half.test) != 200 || len(all.test) != 100 {
		t.Fatalf("%d of %d respondents, judged by %d and %d", len(half.values), len(all.values), len(half.test), len(all.test))
	}
	for i, x := range half.test {
		whose := all.values[200+i].(gradient.Labelled)
		if !slices.Equal(x, whose.Features) || half.testClasses[i] != whose.Class {
			t.Fatalf("record %d is not that of respondent %d", i, 200+i)
		}
	}
}

// Every table has a row for each cell, and prints what ESA does where it measured the same.
func TestTheTablesAreWhole(t *testing.T) {
	for _, s := range Specs() {
		var measured []experiments.Measured
		cells, printed := s.Cells(experiments.Options{Seed: 1}), 0
		for _, c := range cells {
			if err := c.Validate(); err != nil {
				t.Errorf("%s: %v", c, err)
			}
			e := 1.0
			measured = append(measured, experiments.Measured{Cell: c, Result: &experiments.Result{
				Promised: measure.Promised{Epsilon: &e}, Trained: &experiments.Trained{Curve: []experiments.Point{{Round: 1, Accuracy: 0.5}}}}})
		}
		sections := s.Sections(s, measured)
		rows := 0
		for _, sec := range sections {
			for _, row := range sec.Tables[0].Rows {
				rows++
				if s.Name == "esa-table12" && row[3] != release.Text("–") {
					printed++
				}
			}
		}
		if len(sections) != 3 || rows != len(cells) || s.Name == "esa-table12" && printed != 27 {
			t.Errorf("%s: %d sections, %d rows of %d cells, %d with a printed accuracy", s.Name, len(sections), rows, len(cells), printed)
		}
	}
}

// The rounds are those that the printed orders leave, to the round.
func TestPrintedOrders(t *testing.T) {
	p := printedOrder{respondents: 60_000, users: 2000, local: 1.9, delta: 1e-6}
	for epsilon, want := range map[float64]int{5: 939, 10: 2870, 18: 6944} {
		if got := p.rounds(epsilon); got != want || p.epsilon(got) > epsilon || p.epsilon(got+1) <= epsilon {
			t.Errorf("epsilon %v: %d rounds, want %d", epsilon, got, want)
		}
	}
}

// A model that knows its examples by heart is shown to, and one that knows nothing is not.
func TestMembershipIsFound(t *testing.T) {
	const n = 400
	r := seeded.New(3)
	var p population
	for i := range n {
		x := make([]float32, n)
		x[i] = 1 // a coordinate of its own
		p.values = append(p.values, gradient.Labelled{Features: x, Class: r.IntN(2)})
		y := make([]float32, n)
		y[r.IntN(n)] = 1
		p.test, p.testClasses = append(p.test, y), append(p.testClasses, r.IntN(2))
	}
	s := &study{population: p, Cell: Cell{Gradient: experiments.Gradient{Delta: 1e-6}}, order: r.Perm(n)}
	m, err := nn.New(r, nn.Dense{In: n, Out: 2, Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.attack(m); s.out.Lower > 0 {
		t.Errorf("epsilon %v is shown of a model that knows nothing", s.out.Lower)
	}
	for i, v := range p.values {
		m.Params[2*i+v.(gradient.Labelled).Class] = 10
	}
	if s.attack(m); s.out.Lower < 1 || s.out.Advantage < 0.3 {
		t.Errorf("epsilon %v, difference %v of a model that knows all", s.out.Lower, s.out.Advantage)
	}
}
