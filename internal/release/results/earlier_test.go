package results_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/release"
)

// earlier is a release of minutes, those of before and two columns beside, of 40,000 people, with noise of that deviation in each
// number; and these people's rows. Above the last cut is who has more than most times a typical number.
func earlier(noise, most float64) (results.Crosstabs, power.Known) {
	var cuts []float64
	for at := 0.02; at < most; at *= 1.5 {
		cuts = append(cuts, at)
	}
	columns := []plan.Column{{Name: "minutes", Cuts: cuts}, {Name: "paid", Values: []string{"0", "1"}}, {Name: "before", Cuts: cuts}, {Name: "town", Values: []string{"here", "there"}}}
	code := crosscode.New(crosscode.Shape{Sizes: []int{len(cuts) + 1, 2, len(cuts) + 1, 2}, Main: crosscode.Main(4)})
	r, rows := seeded.New(8), power.Known{}
	total, v := make([]float64, code.Numbers()), make([]float32, code.Numbers())
	const n = 40_000
	for range n {
		z := r.NormFloat64()
		before, minutes := math.Exp(0.8*z), math.Exp(0.8*(0.8*z+0.6*r.NormFloat64()))
		rows.Rows = append(rows.Rows, power.Row{Of: minutes, Before: before, People: 1})
		at := func(x float64) int { i, _ := slices.BinarySearch(cuts, x); return i }
		paid := 0
		if minutes > 1.5 {
			paid = 1
		}
		code.Write([]int{at(minutes), paid, at(before), r.IntN(2)}, v)
		for i, x := range v {
			total[i] += float64(x)
		}
	}
	for i := range total {
		total[i] += noise * r.NormFloat64()
	}
	t := results.Crosstabs{Sums: tables.New(code, n, total, noise), Columns: columns}
	for _, c := range columns {
		t.Values = append(t.Values, make([]string, len(c.Cuts)+1))
		if c.Values != nil {
			t.Values[len(t.Values)-1] = c.Values
		}
	}
	return t, rows
}

// What an earlier release tells of a metric is what its people's rows tell, in whichever order its columns are: what is subtracted,
// how what is left spreads, and a loss that is bounded from above. Where somebody is above the last cut the metric is the capped one.
func TestAnEarlierReleaseTellsWhatItsPeopleHold(t *testing.T) {
	ask := plan.Measure{Name: "minutes", Before: "before"}
	for _, noise := range []float64{1e-9, 8.5} {
		tabs, people := earlier(noise, 100)
		for _, m := range []plan.Measure{ask, {Name: "before", Before: "minutes"}} {
			known, err := tabs.Known(m)
			if err != nil {
				t.Fatal(err)
			}
			got, shape, err := known.Fit(m, 40_000, 8.5)
			if err != nil {
				t.Fatal(err)
			}
			rows := power.Known{Rows: slices.Clone(people.Rows)}
			if m.Name == "before" {
				for i, r := range rows.Rows {
					rows.Rows[i].Of, rows.Rows[i].Before = r.Before, r.Of
				}
			}
			_, want, err := rows.Fit(m, 40_000, 8.5)
			if err != nil {
				t.Fatal(err)
			}
			lost, mean, variance := 0.0, 0.0, 0.0 // really, of a lift in proportion, and by this range
			for _, r := range rows.Rows {
				left := r.Of - got.Times*math.Min(r.Before, got.Most)
				if left > got.High {
					lost += r.Of / want.Mean / 40_000
				}
				left = math.Max(got.Low, math.Min(got.High, left))
				mean, variance = mean+left/40_000, variance+left*left/40_000
			}
			variance -= mean * mean
			if got.Capped || math.Abs(shape.Mean/want.Mean-1) > 0.05 || math.Abs(shape.Variance/variance-1) > 0.15 || math.Abs(got.Times-0.75) > 0.15 {
				t.Errorf("noise %v, %s: %+v of %+v, want %v and %+v", noise, m.Name, shape, got, variance, want)
			}
			if got.LostShare < lost-0.01 || noise > 1 && got.LostShare < lost+0.02 {
				t.Errorf("noise %v, %s: %v is said to be lost at most, and %v is", noise, m.Name, got.LostShare, lost)
			}
		}
	}
	open, _ := earlier(8.5, 3)
	known, err := open.Known(ask)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := known.Fit(ask, 40_000, 8.5); err != nil || !got.Capped {
		t.Errorf("one in ten is above the last cut, and the loss is bounded: %+v, %v", got, err)
	}
	// Zeros and ones, by themselves and divided: nothing is cut off, and the mean is theirs.
	tabs, people := earlier(8.5, 100)
	share := 0.0
	for _, r := range people.Rows {
		if r.Of > 1.5 {
			share += 1.0 / 40_000
		}
	}
	if known, err = tabs.Known(plan.Measure{Name: "paid"}); err != nil {
		t.Fatal(err)
	}
	if got, shape, err := known.Fit(plan.Measure{Name: "paid"}, 40_000, 8.5); err != nil || got.Low != 0 || got.High != 1 || math.Abs(shape.Mean-share) > 0.005 {
		t.Errorf("%+v, %+v, %v", got, shape, err)
	}
	if one := known.Error([]float64{0, 1}); math.Abs(one-tabs.Column(1)[1].StdErr) > 1e-9*one {
		t.Errorf("error of one value: %v", one)
	}
	for want, m := range map[string]plan.Measure{
		`no column "clicks"`: {Name: "clicks"}, `"town"`: {Name: "minutes", Before: "town"}, "two numbers": {Name: "minutes", Before: "before", Per: "paid"}, "itself": {Name: "minutes", Before: "minutes"},
	} {
		if _, err := tabs.Known(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// looked is a model of a look whose arms have so many people each, of whom those of the second have more.
func looked(ask plan.Experiment, people float64) *experiment.Model {
	of := []float64{people * .4, people * .6, people * .2 * math.Sqrt(8), people * .43, people * .57, people * .205 * math.Sqrt(8)}
	s := lift.Sums{Of: of, Variance: 70, Steps: []float64{2*people + 500}}
	m := &experiment.Model{Asked: ask, Respondents: int(2 * people), Sums: s}
	if p := ask.Past; p != nil {
		m.Sums = lift.Sums{Of: p.Sums, Variance: p.Variance}.Add(s)
		m.Sums.Steps = slices.Concat(p.Steps, lift.Steps(ask, m.Sums, m.Respondents, 70))
	}
	return m
}

// read publishes a model, and reads what was published.
func read(t *testing.T, m *experiment.Model) *release.Release {
	t.Helper()
	headline, sections, err := results.Describe(m, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(release.Release{Source: release.Collection, Headline: headline, Sections: sections})
	if err != nil {
		t.Fatal(err)
	}
	var r release.Release
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// The next look adds to the sums that the look before released, and knows how much each look was; one that was withheld counts as
// made and adds nothing. There is none after the last, and none of another kind or of a release whose sums are gone.
func TestLooksGoOnFromARelease(t *testing.T) {
	p := example.Experiment()
	p.Question.Experiment.Looks = 3
	p = example.Design(t, p)
	first := looked(*p.Question.Experiment, 4000)
	r := read(t, first)
	next, err := results.NextLook(p, r)
	if err != nil {
		t.Fatal(err)
	}
	if past := next.Past; next.Look != 2 || !slices.Equal(past.Sums, first.Sums.Of) || past.Variance != 70 || past.Plans[0] != p.Name() || past.Steps[0] < 9500 || past.Steps[0] > 10_100 || math.Abs(past.Evidence[0]-lift.Of(next, first.Sums, 1, 0).Evidence) > 1e-9 {
		t.Errorf("%+v", next.Past)
	}
	if next.Bits == nil || next.Bits.Answered != p.Question.Experiment.Bits.Answered || next.Bits.Clip != 0 || next.Seed != "" {
		t.Errorf("what a design fills in is left from the look before: %+v", next)
	}
	next.Seed = example.Seed
	second := p
	second.Question.Experiment = &next
	second = example.Design(t, second)
	// Withheld: nobody is counted, and what is known is shown again, by the line of the look before.
	withheld := &experiment.Model{Asked: *second.Question.Experiment, Sums: lift.Sums{Of: next.Past.Sums, Variance: 70, Steps: append(slices.Clone(next.Past.Steps), 0)}}
	third, err := results.NextLook(second, read(t, withheld))
	if err != nil {
		t.Fatal(err)
	}
	if past := third.Past; third.Look != 3 || !slices.Equal(past.Sums, first.Sums.Of) || past.Steps[1] != 0 || past.Evidence[1] != past.Evidence[0] || len(past.Plans) != 2 {
		t.Errorf("%+v", third.Past)
	}
	if z, before := lift.Z(withheld.Asked, withheld.Sums), lift.Z(first.Asked, first.Sums); z != before {
		t.Errorf("a look that was withheld is held to %v, and the one before to %v", z, before)
	}
	third.Seed = example.Seed
	last := second
	last.Question.Experiment = &third
	last = example.Design(t, last)
	if _, err := results.NextLook(last, read(t, looked(*last.Question.Experiment, 3000))); err == nil || !strings.Contains(err.Error(), "look 3 was the last") {
		t.Error(err)
	}
	// Nothing was released of the first.
	if none, err := results.NextLook(p, read(t, &experiment.Model{Asked: *p.Question.Experiment, Sums: lift.Sums{Of: make([]float64, 6)}})); err != nil || none.Past.Variance != 0 || none.Past.Steps[0] != 0 || none.Past.Evidence[0] != 0 {
		t.Errorf("%+v, %v", none.Past, err)
	}
	r.Sections[len(r.Sections)-1].Tables = r.Sections[len(r.Sections)-1].Tables[:1]
	if _, err := results.NextLook(p, r); err == nil || !strings.Contains(err.Error(), "0 sums") {
		t.Error(err)
	}
	if _, err := results.NextLook(example.Design(t, example.Table()), r); err == nil || !strings.Contains(err.Error(), "of an experiment") {
		t.Error(err)
	}
}
