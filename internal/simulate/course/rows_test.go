package course

import (
	"math"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// told returns the errors of the running total of every round, over what the release says they are.
func told(t *testing.T, p plan.Plan, events [][]int, seed uint64) (errors []float64, last float64) {
	t.Helper()
	study := plan.Study{Version: plan.StudyVersion, Plan: p, Rounds: len(events), Takes: plan.TakesAll, Withheld: plan.WithheldRepeats}
	study.Plan.Times = plan.Times{}
	keys, err := simulate.NewKeys(&study.Plan)
	if err != nil {
		t.Fatal(err)
	}
	_, crowd, model, err := rows(study, keys, events, 100_000, seed, func(string, int, int) {})
	if err != nil || crowd.Respondents != 100_000 {
		t.Fatal(crowd.Respondents, err)
	}
	course := model.(*histogram.Model).Course()
	rounds, totals := course.Rounds, course.Totals
	at := 0
	truth := make([]int, len(totals[0]))
	for i, counts := range events {
		if counts == nil {
			continue
		}
		if rounds[at] != i+1 {
			t.Fatalf("round %d is told as round %d", i+1, rounds[at])
		}
		for cell, n := range counts {
			truth[cell] += n
			v := totals[at][cell]
			errors = append(errors, (v.Mean-float64(truth[cell]))/v.StdErr)
			last = v.StdErr
		}
		at++
	}
	if at != len(rounds) {
		t.Fatalf("%d rounds are told of %d", len(rounds), at)
	}
	return errors, last
}

// firsts draws on which day so many people do something for the first time, if they do.
func firsts(days, people int, seed uint64) [][]int {
	r := seeded.New(seed, 7)
	events := make([][]int, days)
	for d := range events {
		events[d] = []int{0}
	}
	for range people {
		if d := int(float64(days) * r.Float64() * r.Float64() * 2); d < days {
			events[d][0]++
		}
	}
	return events
}

// A year of daily numbers at one question's price is drawn through the aggregators' code, and no day is far out.
func TestAYearIsDrawnByTheAggregators(t *testing.T) {
	if testing.Short() {
		t.Skip("365 rounds take some seconds")
	}
	p := example.Yearly(t, 365, 1, 1, plan.NoiseAggregators)
	errors, last := told(t, p, firsts(365, 30_000, 1), 1)
	if last > 23 || last < 22 {
		t.Errorf("the running total errs by %.2f on the last day", last)
	}
	squares := 0.0
	for i, e := range errors {
		if math.Abs(e) > 7 {
			t.Fatalf("round %d errs by %.1f deviations", i+1, e)
		}
		squares += e * e
	}
	t.Logf("deviation on the last day %.2f, found over days %.2f of what is said", last, math.Sqrt(squares/float64(len(errors))))
}

// Totals have no bias and err by what is said, though rounds were withheld, whose days then count for nothing. The
// twin, whose noise is twice as wide, is caught.
func TestRunningTotalsErrByWhatIsSaid(t *testing.T) {
	const days = 10
	p := example.Yearly(t, days, 1, 1, plan.NoiseAggregators)
	for _, lost := range [][]int{nil, {0, 5, 6}} {
		var ends, squares []float64
		for seed := range uint64(120) {
			events := firsts(days, 3000, seed)
			for _, d := range lost {
				events[d] = nil
			}
			errors, _ := told(t, p, events, seed)
			ends = append(ends, errors[len(errors)-1])
		}
		for _, e := range ends {
			squares = append(squares, e*e)
		}
		stattest.Mean(t, 0, 1, ends)
		stattest.Mean(t, 1, 2, squares)
		wrong := make([]float64, len(squares))
		for i, x := range squares {
			wrong[i] = 4 * x
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, 2, wrong) })
	}
}

// A quarter's windows are drawn through the aggregators' code: no window is far out, and over all of them the error found is
// below the one that is proved of the worst.
func TestWindowsAreDrawnByTheAggregators(t *testing.T) {
	out := visited(t, example.Windowed(t, 90, 3, plan.NoiseAggregators), 20_000, nil, 1)
	if out.Windows != 90*91/2 || out.Found > out.Stated || out.Found < out.Stated/3 || out.Largest > 7*out.Stated {
		t.Errorf("%d windows, stated %.2f, found %.2f, at most %.2f", out.Windows, out.Stated, out.Found, out.Largest)
	}
	t.Logf("stated %.2f, found %.2f, at most %.2f", out.Stated, out.Found, out.Largest)
}

// visited runs a study of windows to which people come some times, each at random.
func visited(t *testing.T, p plan.Plan, people int, withheld []int, seed uint64) Outcome {
	t.Helper()
	r := seeded.New(seed, 8)
	of := p.Route.Sum.Correlated
	var all []Happened
	for person := range people {
		for range r.IntN(of.Events + 2) {
			all = append(all, Happened{Person: strconv.Itoa(person), Round: 1 + r.IntN(of.Rounds)})
		}
	}
	out, err := Study{Plan: p, People: people, Withheld: withheld, Seed: seed}.Run(all, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Windows and gaps have no bias and err by what is said, though rounds were withheld. The twin, whose noise is twice as
// wide, is caught.
func TestWindowsErrByWhatIsSaid(t *testing.T) {
	const rounds, first, gap = 8, 3, 2
	p := example.Windowed(t, rounds, 2, plan.NoiseAggregators)
	for _, lost := range [][]int{nil, {1, 5}} {
		var window, gaps, squares []float64
		for seed := range uint64(100) {
			out := visited(t, p, 1000, lost, seed)
			w := out.Model.Windows()
			said := out.Public.Truth.Rounds
			truth := 0
			for n := first; n <= w.Last; n++ { // those of the window whose last round lies before it
				for cell, k := range said[n-1] {
					if cell < first {
						truth += k
					}
				}
			}
			all := w.From(first)
			v := all[len(all)-1]
			window = append(window, (v.Mean-float64(truth))/v.StdErr)
			back := 0
			for n := gap + 1; n <= w.Last; n++ {
				if said[n-1] != nil {
					back += said[n-1][n-gap]
				}
			}
			g := w.Gaps()[gap-1]
			gaps = append(gaps, (g.Mean-float64(back))/g.StdErr)
		}
		for _, e := range append(window, gaps...) {
			squares = append(squares, e*e)
		}
		stattest.Mean(t, 0, 1, window)
		stattest.Mean(t, 0, 1, gaps)
		stattest.Mean(t, 1, 2, squares[:len(window)])
		stattest.Mean(t, 1, 2, squares[len(window):])
		wrong := make([]float64, len(window))
		for i, x := range squares[:len(window)] {
			wrong[i] = 4 * x
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, 2, wrong) })
	}
}

// What the last running total errs by, drawn through the aggregators' code, is what theory says within 3 % (theorems of 365
// rounds at epsilon 1, delta 1e-6, the noise of both aggregators): of one value and of three, and of turns, whose difference is read. A
// law that is within 3 % of it is met by what is drawn of the most events, and the twin, which says half the error, is caught.
func TestDrawnErrorsAreThoseOfTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("three times 120 years take half a minute")
	}
	for _, c := range []struct {
		what   string
		plan   func(events int) plan.Plan
		events int
		one    float64 // with the noise of one aggregator
		years  int     // drawn; 0: what is said is compared with theory alone
	}{
		{"one value", func(k int) plan.Plan { return example.Yearly(t, 365, k, 1, plan.NoiseAggregators) }, 2, 29.5, 0},
		{"one value", func(k int) plan.Plan { return example.Yearly(t, 365, k, 1, plan.NoiseAggregators) }, 8, 103, 120},
		{"three values", func(k int) plan.Plan { return example.Yearly(t, 365, k, 3, plan.NoiseAggregators) }, 1, 17.6, 120},
		{"turns", func(k int) plan.Plan { return example.Turning(t, 365, k, plan.NoiseAggregators) }, 2, 35.2, 0},
		{"turns", func(k int) plan.Plan { return example.Turning(t, 365, k, plan.NoiseAggregators) }, 4, 65.1, 0},
		{"turns", func(k int) plan.Plan { return example.Turning(t, 365, k, plan.NoiseAggregators) }, 8, 121.8, 120},
	} {
		said := []Happened{{Person: "a", Round: 3, Cell: 0}, {Person: "b", Round: 9, Cell: 0}}
		out, err := Study{Plan: c.plan(c.events), People: 1000, Seed: 3, Repetitions: c.years}.Run(said, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		theory := c.one * math.Sqrt2
		if math.Abs(out.Stated/theory-1) > .03 {
			t.Errorf("%s, %d events: %.2f is said, theory has %.2f", c.what, c.events, out.Stated, theory)
		}
		if c.years == 0 {
			continue
		}
		t.Logf("%-12s %d events: drawn %.1f (%.1f), said %.1f, theory %.1f; afresh %.1f", c.what, c.events, out.Drawn.Last, out.Drawn.Sure, out.Stated, theory, out.Drawn.Afresh)
		over := func(stated float64) (all []float64) {
			for _, x := range out.Drawn.squares {
				all = append(all, x/(stated*stated))
			}
			return all
		}
		stattest.Mean(t, 1, 2, over(out.Stated))
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, 2, over(out.Stated/2)) })
	}
}
