package distribution_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// two is a question of two attributes in two crowds, one of which each respondent draws.
func two(t testing.TB) plan.Plan {
	h := example.OneHot(example.Drinks(), plan.Attribute{Name: "basket", Kind: "set", Size: 3, Most: 2})
	h.Collect = plan.CollectSample
	p := example.Histogram(h)
	p.Crowd.Names, p.Crowd.Minimum = []string{"north", "south"}, 1000
	return example.Design(t, p)
}

// groups are 2,300 respondents of three kinds, and the same one by one.
func groups() (distribution.Alike, distribution.Values) {
	all := distribution.Alike{
		{Value: histogram.Answers{Crowd: 0, Values: []any{"coffee", []int{1, 2}}}, Respondents: 900},
		{Value: histogram.Answers{Crowd: 0, Values: []any{"tea", []int{}}}, Respondents: 400},
		{Value: histogram.Answers{Crowd: 1, Values: []any{"tea", []int{0}}}, Respondents: 1000},
	}
	var values distribution.Values
	for _, g := range all {
		for range g.Respondents {
			values = append(values, g.Value)
		}
	}
	return all, values
}

// The truth of groups is that of their members, one by one.
func TestGroupsHoldWhatTheirMembersHold(t *testing.T) {
	proto := example.Runnable(t, two(t))
	all, values := groups()
	of, err := all.Reveal(proto)
	if err != nil {
		t.Fatal(err)
	}
	want, err := distribution.Reveal(proto, values)
	if err != nil || !reflect.DeepEqual(of, want) || all.Respondents() != len(values) {
		t.Errorf("%v %+v, want %+v", err, of, want)
	}
}

// Counts of groups have the law of counts of their members: of each channel the mean and the variance of a
// thousand draws of the one fit the other's exact mean, which neither the draw of attributes nor the noise
// shifts. A twin that asks everybody everything is caught.
func TestGroupsAreCountedAsTheirMembersAre(t *testing.T) {
	p := two(t)
	proto := example.Runnable(t, p)
	all, values := groups()
	z := p.Question.Histogram.Randomizer
	const draws = 400
	counts := func(who distribution.Population, seed uint64) []tally.Crowd {
		crowds, err := distribution.Draw(proto, who, func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		return crowds
	}
	// A bit of a holder who is asked is sent with probability keep, of anybody else with flip, where being asked
	// of has a chance of one half: a sum of independent bits.
	law2 := func(holders, others int) (mean, variance float64) {
		keep, flip := z.Keep/2, z.Flip/2
		return float64(holders)*keep + float64(others)*flip, float64(holders)*keep*(1-keep) + float64(others)*flip*(1-flip)
	}
	check := func(tb testing.TB, who distribution.Population) {
		coffee, basket := make([]float64, draws), make([]float64, draws)
		for i := range draws {
			crowds := counts(who, uint64(i))
			n := crowds[0].Tally.(*tally.Counts).N
			coffee[i], basket[i] = float64(n[0]), float64(n[len(n)-2]) // item 1 of the basket
			if crowds[0].Respondents != 1300 || crowds[1].Respondents != 1000 {
				tb.Fatalf("%d and %d respondents", crowds[0].Respondents, crowds[1].Respondents)
			}
		}
		mean, variance := law2(900, 400)
		stattest.Mean(tb, mean, variance, coffee)
		stattest.Mean(tb, mean, variance, basket)
	}
	check(t, all)
	check(t, values[:2300:2300])
	stattest.Caught(t, func(tb testing.TB) {
		more := append(distribution.Alike{{Value: question.Value(histogram.Answers{Values: []any{"coffee", []int{1, 2}}}), Respondents: 20}}, all...)
		more[2].Respondents -= 20
		check(tb, more)
	})
}

// What groups do not say is refused: where not everybody counts, respondents are listed.
func TestGroupsAreOfPlansInWhichEverybodyCounts(t *testing.T) {
	p := two(t)
	p.Crowd.Maximum = 2000
	all, _ := groups()
	if _, err := distribution.Draw(example.Runnable(t, p), all, func(part ...uint64) *rand.Rand { return seeded.New(1, part...) }, func(int) {}); err == nil {
		t.Error("groups are drawn of a plan in which not everybody counts")
	}
}
