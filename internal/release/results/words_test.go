package results_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// drawn is what one collection from the values teaches, drawn from its exact law.
func drawn(t *testing.T, p plan.Plan, values []question.Value, seed uint64) *histogram.Model {
	t.Helper()
	proto := example.Runnable(t, p)
	tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	model, err := proto.Learn(tallies)
	if err != nil {
		t.Fatal(err)
	}
	return model.(*histogram.Model)
}

// revealed is the truth about the values.
func revealed(t *testing.T, p plan.Plan, values []question.Value) *results.Truth {
	t.Helper()
	truth, err := distribution.Reveal(example.Runnable(t, p), values)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// described is what a release of a simulation says of a model, in words.
func described(t *testing.T, p plan.Plan, m *histogram.Model, truth *results.Truth) ([]release.Metric, []release.Section) {
	t.Helper()
	headline, sections, err := results.Describe(m, results.Public{Truth: truth})
	if err != nil {
		t.Fatal(err)
	}
	r := release.Release{Source: release.Simulation, Headline: headline, Sections: sections}
	if err := results.Words(p, example.Runnable(t, p).Question, &r); err != nil {
		t.Fatal(err)
	}
	return r.Headline, r.Sections
}

// Of 1,000 values each is held once, so that the largest estimates are large by their
// error alone. In at most one list of twenty an interval misses the truth; of intervals
// by themselves, the twin, nearly every list has one that does.
func TestListsChosenByTheirEstimatesHold(t *testing.T) {
	const values, lists, listed = 1000, 200, 20
	id := plan.Attribute{Name: "id", Kind: "categories", Size: values}
	p := example.Design(t, example.Histogram(example.OneHot(id)))
	everybody := make([]question.Value, values)
	for i := range everybody {
		everybody[i] = histogram.Answers{Values: []any{i}}
	}
	missed := func(ends [][2]float64) bool {
		return slices.ContainsFunc(ends, func(e [2]float64) bool { return e[0] > 1 || e[1] < 1 })
	}
	misses, alone, headlines := 0, 0, 0
	for seed := range uint64(lists) {
		table := drawn(t, p, everybody, seed).Tables[0]
		top := table.Top(listed)
		if missed(table.IntervalsAtOnce(top, 0.95)) {
			misses++
		}
		if missed(table.Intervals(top, 0.95)) {
			alone++
		}
		if missed(table.Intervals(top[:1], 0.95)) {
			headlines++
		}
	}
	if misses*20 > lists {
		t.Errorf("%d of %d lists hold an interval that misses", misses, lists)
	}
	stattest.Caught(t, func(t testing.TB) { stattest.Binomial(t, 0.05, lists, alone) })
	stattest.Caught(t, func(t testing.TB) { stattest.Binomial(t, 0.05, lists, headlines) })
}

// Headline, table, figure and list print one interval of a value, and say that it is
// one of several that hold at once.
func TestOneValueHasOneInterval(t *testing.T) {
	p := example.Design(t, example.Histogram(example.OneHot(example.Drinks())))
	var values []question.Value
	for i := range 4000 {
		values = append(values, histogram.Answers{Values: []any{[]string{"coffee", "coffee", "tea", "water"}[i%4]}})
	}
	m, truth := drawn(t, p, values, 1), revealed(t, p, values)
	headline, sections := described(t, p, m, truth)
	table := m.Tables[0]
	top := table.Top(4)
	want := table.IntervalsAtOnce(top, 0.95)
	largest := headline[1]
	if largest.Low != want[0][0] || largest.High != want[0][1] || largest.Among != 4 || *largest.Truth != 2000 || !strings.Contains(largest.Interval(), "all 4 at once") {
		t.Errorf("the headline says %+v (%s), want %v", largest, largest.Interval(), want[0])
	}
	s := sections[0]
	for i, row := range s.Tables[0].Rows {
		if *row[2].Low != want[i][0] || *row[2].High != want[i][1] {
			t.Errorf("the table says %v to %v of %s, want %v", *row[2].Low, *row[2].High, row[0].Text, want[i])
		}
		if shown := *row[3].Value; shown != float64(truth.Table(0, 0).Counts[top[i]]) {
			t.Errorf("the table calls %v the truth of %s", shown, row[0].Text)
		}
		if y := s.Figures[0].Series[0]; y.Low[i] != want[i][0] || y.High[i] != want[i][1] || y.Truth[i] != float64(truth.Table(0, 0).Counts[top[i]]) {
			t.Errorf("the figure says %v to %v of %s, and %v, want %v", y.Low[i], y.High[i], row[0].Text, y.Truth[i], want[i])
		}
	}
	for i, item := range s.Lists[0].Items {
		if item.Low != want[i][0] || item.High != want[i][1] || *item.Truth != float64(truth.Table(0, 0).Counts[top[i]]) {
			t.Errorf("the list says %+v, want %v", item, want[i])
		}
	}
	for _, text := range []string{s.Tables[0].Columns[2].Title, s.Figures[0].Title, s.Lists[0].Intervals()} {
		if !strings.Contains(text, "at once") {
			t.Errorf("%q does not say that its intervals hold at once", text)
		}
	}
	// A collection from people has no truth to show.
	headline, sections = described(t, p, drawn(t, p, values, 1), nil)
	if headline[1].Truth != nil || len(sections[0].Tables[0].Columns) != 4 || sections[0].Figures[0].Series[0].Truth != nil {
		t.Error("a truth is shown that nobody knows")
	}
}

// 20,000 values of a Pareto law, 6 % of them above the last bucket's end: their mean is
// 67, which buckets of 0 to 100 cannot know, and the 95 % quantile lies above them.
func TestOpenBucketsPromiseNoEnd(t *testing.T) {
	const n = 20_000
	var values []question.Value
	mean := 0.0
	for i := range n {
		x := 6 / math.Pow(1-(float64(i)+0.5)/n, 1) // above x lies the share 6/x
		mean += x / n
		values = append(values, histogram.Answers{Values: []any{x}})
	}
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "spend", Kind: "buckets", Low: 0, High: 100, Cells: 10}))
	p.Crowd.Minimum = n
	p = example.Design(t, p)
	_, sections := described(t, p, drawn(t, p, values, 1), revealed(t, p, values))
	s := sections[0]
	metrics := map[string]release.Metric{}
	for _, metric := range s.Metrics {
		metrics[metric.Name] = metric
	}
	clipped := metrics["mean"]
	if mean < 60 || clipped.Value > 40 || *clipped.Truth > 40 {
		t.Fatalf("the mean is %v, clipped %+v: the test does not tell them apart", mean, clipped)
	}
	if math.Abs(clipped.Value-*clipped.Truth) > 5+5*clipped.StdErr {
		t.Errorf("the clipped mean is %v, and is said to be %v within 5", *clipped.Truth, clipped.Value)
	}
	for _, want := range []string{"clipped to 0 to 100"} {
		if !strings.Contains(clipped.Title, want) {
			t.Errorf("the mean is called %q", clipped.Title)
		}
	}
	if !strings.Contains(clipped.Note, "the mean of the numbers themselves has no bound") {
		t.Errorf("the mean is noted: %q", clipped.Note)
	}
	high := metrics["highest_bucket"]
	if math.Abs(high.Value-6./90) > 5*high.StdErr+1e-3 || high.StdErr <= 0 || !strings.Contains(high.Title, "90 and more") {
		t.Errorf("above 90 lie 6.7 %%, and the release says %+v", high)
	}
	if low := metrics["lowest_bucket"]; !strings.Contains(low.Title, "below 10") {
		t.Errorf("%+v", low)
	}
	for _, table := range s.Tables {
		if !strings.HasPrefix(table.Title, "Quantiles") {
			continue
		}
		last := table.Rows[len(table.Rows)-1] // 95 %
		at, within := table.Format(1, last[1]), table.Format(2, last[2])
		if at != "90 and more" || within != "80 and more" && within != "90 and more" || *last[3].Value < 119 || *last[3].Value > 121 {
			t.Errorf("the 95 %% quantile is %q, %q, in truth %v", at, within, *last[3].Value)
		}
		first := table.Rows[0]
		if at, within := table.Format(1, first[1]), table.Format(2, first[2]); at != "10 and less" || !strings.HasSuffix(within, "0 and less") {
			t.Errorf("the 5 %% quantile is %q, %q", at, within)
		}
		if middle := table.Rows[2]; middle[1].Value == nil || middle[2].Low == nil {
			t.Errorf("the median has its interval: %+v", middle)
		}
	}
	if f := s.Figures[1]; len(f.Series[0].X) != 9 || f.Series[0].X[8] != 90 {
		t.Errorf("the distribution is drawn to %v, and is known to 90", f.Series[0].X)
	}
	// With a cell for others the end buckets are closed, and all that lies in them has a mean.
	p.Question.Histogram.Attributes[0].Others = true
	p = example.Design(t, p)
	_, sections = described(t, p, drawn(t, p, values, 1), nil)
	for _, metric := range sections[0].Metrics {
		if metric.Name == "mean" && (strings.Contains(metric.Title, "clipped") || strings.Contains(metric.Note, "no bound")) {
			t.Errorf("closed buckets: %+v", metric)
		}
	}
	for _, table := range sections[0].Tables {
		for _, row := range table.Rows {
			for j, cell := range row {
				if strings.Contains(table.Format(j, cell), "and more") {
					t.Error("a closed bucket is called open")
				}
			}
		}
	}
}

// A release says how many answers a withheld crowd lacked where that is known, unless
// the plan keeps sizes private.
func TestWithheldCrowdsSayWhatTheyLacked(t *testing.T) {
	for name, want := range map[string]string{"public": "51 of 1000 answered, 949 too few", "private": "fewer than 1000 respondents after deletion"} {
		p := example.Histograms()["crowds"]
		if name == "public" {
			p.Crowd.Deletion = nil
		}
		proto := example.Runnable(t, example.Design(t, p))
		full := tally.Crowd{Tally: proto.NewTally(), Respondents: 1000, Smallest: 1000}
		tallies := []tally.Crowd{full, {}}
		known, err := example.Stated(t, proto, tallies, []int{1000, 51})
		if err != nil {
			t.Fatal(err)
		}
		unknown, err := example.Stated(t, proto, tallies, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(known.Withheld) != 1 || !strings.Contains(known.Withheld[0], want) || strings.Contains(unknown.Withheld[0], "51") {
			t.Errorf("%s sizes: %q, and where they are not known %q", name, known.Withheld, unknown.Withheld)
		}
	}
}

// A release knows a trial by its plan: the analyzer's operator runs all hops of an instance.
func TestOneOperatorMakesATrial(t *testing.T) {
	p := example.Histogram(example.OneHot(example.Drinks()))
	for h := range p.Route.Mix.Instances[0].Hops {
		p.Route.Mix.Instances[0].Hops[h].Operator = p.Analyzer.Operator
		proto := example.Runnable(t, example.Design(t, p))
		full := tally.Crowd{Tally: proto.NewTally(), Respondents: 1000, Smallest: 1000}
		r, err := example.Stated(t, proto, []tally.Crowd{full}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := release.Collection
		if h == len(p.Route.Mix.Instances[0].Hops)-1 {
			want = release.Trial
		}
		if r.Source != want {
			t.Errorf("with %d hops of the analyzer's operator: %q", h+1, r.Source)
		}
	}
}
