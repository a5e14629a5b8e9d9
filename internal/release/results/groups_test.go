package results_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/question/histogram"
)

// 400 populations drawn from their law: a group is unbiased (an error of a third of
// its standard error would show), its standard error is that of the draws, and the
// interval of its share covers the truth as often as it says. The twin forgets
// that what two cells share is known.
func TestGroupsAreUnbiasedWithTheirErrors(t *testing.T) {
	p := example.Histograms()["crowds"]
	p.Crowd.Deletion = nil
	proto := example.Runnable(t, example.Design(t, p))
	r := stattest.Rand(t)
	var counts, squares []float64
	covered, stdErr, naive := 0, 0.0, 0.0
	const runs = 400
	for range runs {
		tallies, err := distribution.Draw(proto, distribution.Values(example.Drinkers()), example.Streams(r.Uint64()), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		north := example.Learned(t, proto, tallies).Tables[0]
		count, _, low, high, ok := north.Group([]int{0, 1}, 0.95)
		if !ok {
			t.Fatal("one-hot answers cannot be grouped")
		}
		counts = append(counts, count.Mean)
		squares = append(squares, (count.Mean-2500)*(count.Mean-2500))
		stdErr, naive = count.StdErr, math.Hypot(north.Values[0].StdErr, north.Values[1].StdErr)
		if low <= 2500./3000 && 2500./3000 <= high {
			covered++
		}
	}
	stattest.Mean(t, 2500, stdErr*stdErr, counts)
	stattest.Mean(t, stdErr*stdErr, 2*math.Pow(stdErr, 4), squares)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, naive*naive, 2*math.Pow(naive, 4), squares) })
	stattest.Binomial(t, 0.95, runs, covered)
}

func TestGroupsInARelease(t *testing.T) {
	p := example.Histograms()["crowds"]
	p.Crowd.Deletion = nil
	proto := example.Runnable(t, example.Design(t, p))
	tallies, err := distribution.Draw(proto, distribution.Values(example.Drinkers()), example.Streams(1), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	model := example.Learned(t, proto, tallies)
	warm := results.Group{Attribute: "drink", Name: "warm", Cells: []string{"coffee", "tea"}}
	everything := results.Group{Attribute: "drink", Name: "everything", Cells: []string{"coffee", "tea", "water", model.Tables[0].Name(3)}}
	_, sections, err := results.Describe(model, results.Public{Groups: []results.Group{warm, everything}})
	if err != nil {
		t.Fatal(err)
	}
	s := sections[len(sections)-1]
	if len(s.Tables) != 3 {
		t.Fatalf("%d tables, want one a crowd and one of all", len(s.Tables))
	}
	for i, n := range []float64{3000, 2000, 5000} {
		row := s.Tables[i].Rows[1]
		if got := *row[2].Value; math.Abs(got-n) > 1e-6 || row[2].StdErr > 1e-6 {
			t.Errorf("table %d: all cells together hold %v of %v", i, got, n)
		}
	}
	for name, c := range map[string]struct {
		group results.Group
		want  string
	}{
		"no such attribute": {results.Group{Attribute: "food", Name: "x", Cells: []string{"tea"}}, `no attribute named "food"`},
		"no such cell":      {results.Group{Attribute: "drink", Name: "x", Cells: []string{"beer"}}, `no cell named "beer"`},
		"twice":             {results.Group{Attribute: "drink", Name: "x", Cells: []string{"tea", "tea"}}, "twice"},
	} {
		if _, _, err := results.Describe(model, results.Public{Groups: []results.Group{c.group}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Where a respondent is asked one attribute of several, what cells have in common is part of
// a group's error: who is not asked sets the bit of none. The twin takes the cells' errors
// for independent.
func TestGroupsOfWhoIsAskedAtRandom(t *testing.T) {
	p := example.Histograms()["sample"]
	proto := example.Runnable(t, example.Design(t, p))
	r := stattest.Rand(t)
	var people []question.Value
	for i := range 3000 {
		people = append(people, example.Answers(p, i))
	}
	cells := []int{0, 1, 2, 3, 4, 5, 6, 7}
	const rising, runs = 1, 400
	var counts, squares []float64
	truth, stdErr, naive, covered := 0.0, 0.0, 0.0, 0
	for _, person := range people {
		if x := person.(histogram.Answers).Values[rising].(float64); x < 8 {
			truth++
		}
	}
	for range runs {
		tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(r.Uint64()), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		table := example.Learned(t, proto, tallies).Tables[rising]
		count, _, low, high, ok := table.Group(cells, 0.95)
		if !ok {
			t.Fatal("one-hot answers cannot be grouped")
		}
		counts, squares = append(counts, count.Mean), append(squares, (count.Mean-truth)*(count.Mean-truth))
		stdErr, naive = count.StdErr, estimate.Sum(table.Values[:len(cells)]).StdErr
		if low <= truth/3000 && truth/3000 <= high {
			covered++
		}
	}
	stattest.Mean(t, truth, stdErr*stdErr, counts)
	stattest.Mean(t, stdErr*stdErr, 2*math.Pow(stdErr, 4), squares)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, naive*naive, 2*math.Pow(naive, 4), squares) })
	stattest.Binomial(t, 0.95, runs, covered)
}

// What is put together anew from a release is what the analyzer put together from its counts.
func TestTablesOfAReleaseGroupAsTheAnalyzersDo(t *testing.T) {
	for _, name := range []string{"crowds", "sample", "categories"} {
		p := example.Histograms()[name]
		p.Crowd.Deletion = nil
		proto := example.Runnable(t, example.Design(t, p))
		people := example.Drinkers()
		if name != "crowds" {
			people = nil
			for i := range 3000 {
				people = append(people, example.Answers(p, i))
			}
		}
		tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(1), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		model := example.Learned(t, proto, tallies)
		r, err := example.Stated(t, proto, tallies, nil)
		if err != nil {
			t.Fatal(err)
		}
		headline, sections, err := results.Describe(model, results.Public{})
		if err != nil {
			t.Fatal(err)
		}
		r.Headline, r.Sections = headline, sections
		counts, _, err := results.Counts(model, nil, results.MaxRows)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := results.Tables(proto.Plan, r, counts)
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range model.Tables {
			cells := []int{0, 2}
			count, share, low, high, ok := tables[own.Attribute][own.Crowd].Group(cells, 0.95)
			wantCount, wantShare, wantLow, wantHigh, wanted := own.Group(cells, 0.95)
			if ok != wanted || count != wantCount || share != wantShare || low != wantLow || high != wantHigh {
				t.Errorf("%s: %v %v [%g, %g] %t, and the analyzer has %v %v [%g, %g] %t", name, count, share, low, high, ok, wantCount, wantShare, wantLow, wantHigh, wanted)
			}
		}
		if _, err := results.Tables(proto.Plan, r, counts[1:]); err == nil {
			t.Errorf("%s: a table without its first cell is taken", name)
		}
	}
}
