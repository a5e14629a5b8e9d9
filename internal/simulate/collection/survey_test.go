package collection

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

func surveyed(t *testing.T, s Survey, population []histogram.Answers) Surveyed {
	t.Helper()
	s.Title, s.Instances, s.Hops, s.Suite, s.Seed = "What do people drink?", 1, 2, "x25519", 1
	s.Histogram.Randomizer.Accounting = "exact"
	s.Budget.Delta, s.Budget.Adjacency = 1e-6, "removal"
	out, err := s.Run("made up", population, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	r := out.Release
	r.Provenance.Software = "test"
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	return out
}

// Of 3,000 people half drink coffee, of those of the north two thirds.
func drinkers() ([]plan.Attribute, []histogram.Answers) {
	attributes := []plan.Attribute{
		{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}},
		{Name: "basket", Kind: "set", Values: []string{"milk", "bread"}, Most: 2},
	}
	var people []histogram.Answers
	for i := range 3000 {
		people = append(people, histogram.Answers{Values: []any{[]string{"coffee", "tea"}[i%2], [][]string{nil, {"milk"}, {"milk", "bread"}}[i%3]}})
	}
	return attributes, people
}

// With next to no noise the estimates are the truth, at both fidelities.
func TestSurvey(t *testing.T) {
	attributes, people := drinkers()
	people = people[:600]
	for _, full := range []bool{false, true} {
		s := Survey{Histogram: plan.Histogram{Attributes: attributes, Collect: "split", Randomizer: plan.Randomizer{Name: "one-hot"}}, Full: full}
		s.Budget.Epsilon = 30
		out := surveyed(t, s, people)
		r := out.Result
		if r.Respondents != 600 || r.Cells != 5 || len(r.Tables) != 2 || r.Tables[1].Attribute != "basket" || r.RMSE > 3 || r.Linf > 6 || r.Tables[0].Devices != 600 {
			t.Errorf("%+v", r)
		}
		if top := r.Tables[1].Top; len(top) != 2 || top[0].Value != "milk" || top[0].Estimate < 394 || top[0].Estimate > 406 || top[0].Low > top[0].High || top[0].Low < 390 {
			t.Errorf("%+v", top)
		}
		if !(*r.Epsilon <= 30 && *r.EpsilonLocal > 1 && *r.EpsilonOneFragment > 1 && r.MessagesPerDevice > 1 && r.EnvelopesPerDevice >= 3 && r.BytesPerDevice > 300) {
			t.Errorf("%+v", r)
		}
		if want := map[bool]string{false: "law", true: "full"}[full]; r.Fidelity != want {
			t.Errorf("fidelity %q", r.Fidelity)
		}
		b, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(b), `"value":"milk"`) {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// With several attributes and no word on how they are asked, what errs less is
// chosen, and said.
func TestSurveyChooses(t *testing.T) {
	attributes, people := drinkers()
	s := Survey{Histogram: plan.Histogram{Attributes: attributes, Randomizer: plan.Randomizer{Name: "one-hot"}}}
	s.Budget.Epsilon = 1
	out := surveyed(t, s, people)
	if collect := out.Plan.Question.Histogram.Collect; collect == "" || out.Result.Collect != collect || !strings.HasPrefix(out.Choice, collect+":") {
		t.Errorf("%q: %s", out.Result.Collect, out.Choice)
	}
}

// A crowd that is smaller than the others, and than the minimum, is withheld, and
// no number of it is left. Deletion leaves the smallest crowd its minimum.
func TestSurveyOfCrowds(t *testing.T) {
	attributes, people := drinkers()
	for i := range people {
		people[i].Values = people[i].Values[:1]
		if people[i].Crowd = i % 2; i < 20 {
			people[i].Crowd = 2
		}
	}
	s := Survey{Histogram: plan.Histogram{Attributes: attributes[:1], Randomizer: plan.Randomizer{Name: "one-hot"}}, Crowds: []string{"north", "south", "east"}, Minimum: 1000}
	s.Budget.Epsilon = 10
	r := surveyed(t, s, people).Result
	if len(r.Tables) != 2 || len(r.Withheld) != 1 || r.Tables[0].Crowd != "north" || r.Tables[0].Devices != 1490 || r.Tables[0].Top[0].Value != "coffee" || r.Tables[1].Top[0].Value != "tea" {
		t.Errorf("%+v", r)
	}
	s.CrowdEpsilon, s.Minimum, s.Budget.Delta = 2, 0, 1e-6
	if _, err := s.Run("made up", people, nil); err == nil || !strings.Contains(err.Error(), "smallest of 3 crowds has 20 respondents") {
		t.Error(err)
	}
	for i := range people {
		people[i].Crowd = min(people[i].Crowd, 1)
	}
	s.Crowds = s.Crowds[:2]
	out := surveyed(t, s, people)
	if r := out.Result; len(r.Tables) != 2 || !(*r.Epsilon > 9 && *r.Epsilon <= 10) || !(*r.EpsilonCrowdSizes > 0 && *r.EpsilonCrowdSizes <= 2) || r.Tables[0].Devices >= 1500 || r.Tables[0].Devices < out.Plan.Crowd.Minimum {
		t.Errorf("minimum %d: %+v", out.Plan.Crowd.Minimum, r)
	}
}
