package histogram_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Of correlated rounds and rounds that ask afresh a design has those whose running total errs less, and both
// keep the budget in all rounds. A year at one event errs by 22.4 and 31.0, where asking afresh errs by 114 and 559.
func TestRoundsAreTogetherWhereThatErrsLess(t *testing.T) {
	for _, c := range []struct {
		rounds, events, cells int
		together              bool
		says                  string
	}{
		{365, 1, 1, true, "errs by 22.38 in the end and one round's own count by 14.72, of at most 1 event a person; where each round asks afresh how often so far, by 114.1 and 114.1"},
		{8760, 1, 1, true, "errs by 30.96 in the end and one round's own count by 17.56, of at most 1 event a person; where each round asks afresh how often so far, by 559.2 and 559.2"},
		{365, 8, 3, true, "asks afresh how often so far, by 1291 and 161.4"},
		{365, 200, 1, false, ""},
		{12, 12, 1, false, ""},
		{2, 1, 1, true, "asks afresh how often so far, by 8.452 and 8.452"},
		{30, 30, 2, false, ""},
	} {
		p := example.Yearly(t, c.rounds, c.events, c.cells, plan.NoiseAggregators)
		proto := example.Runnable(t, p)
		if together := p.Route.Sum.Correlated != nil; together != c.together {
			t.Errorf("%+v: together %v", c, together)
			continue
		}
		if all, err := proto.Rounds(c.rounds, 1e-6); err != nil || all.Epsilon > 1 || all.Epsilon < .999 {
			t.Errorf("%+v: all rounds cost %+v, %v", c, all, err)
		}
		var says []string
		for _, one := range proto.Question.(question.Comparer).Compare() {
			says = append(says, one.Says)
		}
		if c.together && (len(says) != 1 || !strings.HasPrefix(says[0], "Together: ") || !strings.Contains(says[0], c.says)) {
			t.Errorf("%+v: %q", c, says)
		}
	}
}

// A plan names the case that its number leaves out, with what it comes to there: a helper that was put back beside a
// leader that lies. Of several cells nothing is left out but a second draw.
func TestACounterSaysWhatItRestsOn(t *testing.T) {
	for _, c := range []struct {
		cells int
		want  string
	}{{1, "which is epsilon 1.121, and a row that is drawn again is told twice"}, {3, "older copy: a row that it then draws again is told twice"}} {
		promise, err := example.Runnable(t, example.Yearly(t, 365, 1, c.cells, plan.NoiseAggregators)).Promise()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range promise.Statements {
			switch note := s.Note; {
			case s.Observer == account.OneAggregator && !strings.Contains(note, c.want), s.Observer == account.OnlyTheReader && !strings.HasPrefix(note, "Of all 365 rounds together"):
				t.Errorf("%d cells, %s: %q", c.cells, s.Observer, note)
			}
		}
	}
}

// What begins and ends is asked together up to four beginnings and endings of a person in a year, and from five on each day
// asks of whom it holds, by a plan of that one value.
func TestTurnsAreTogetherWhereThatErrsLess(t *testing.T) {
	for events, want := range map[int]string{
		2: "Together: at one epsilon for all 365 rounds, with the noise of both aggregators, the number of whom it has begun and not ended errs by 49.75 in the end, of at most 2 turns a person; where each round asks afresh of whom, by 114.1.",
		4: "Together: ", 5: "Afresh: ", 8: "Afresh: ",
	} {
		p := example.Turning(t, 365, events, plan.NoiseAggregators)
		route := *p.Route.Sum
		route.Correlated = &plan.Correlated{Rounds: 365, Events: events, Turns: true}
		p.Route.Sum = &route
		chosen, says, err := histogram.Choose(p)
		if err != nil || !strings.HasPrefix(says, want) {
			t.Errorf("%d turns: %q, %v", events, says, err)
		}
		if together, values := chosen.Correlated() != nil, len(chosen.Question.Histogram.Attributes[0].Values); together != (values == 2) || together != strings.HasPrefix(want, "Together") {
			t.Errorf("%d turns: together %v, %d values", events, together, values)
		}
	}
}

// The promise of turns rests on devices taking them: without, it does not hold at the same noise. Neither do other values
// take turns than two of which one is said, or windows.
func TestTurnsThatAreRefused(t *testing.T) {
	good := example.Turning(t, 52, 2, plan.NoiseAggregators)
	if err := protocol.Check(good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*plan.Plan, *plan.Correlated)
		says  string
	}{
		"no turns":    {func(_ *plan.Plan, of *plan.Correlated) { of.Turns = false }, "promise does not hold"},
		"three turns": {func(_ *plan.Plan, of *plan.Correlated) { of.Events = 3 }, "promise does not hold"},
		"windows":     {func(_ *plan.Plan, of *plan.Correlated) { of.Windows = true }, "turns and windows"},
		"three values": {func(p *plan.Plan, _ *plan.Correlated) {
			p.Question.Histogram.Attributes[0].Values = []string{"a", "b", "c"}
		}, "what begins and ends"},
		"both at once": {func(p *plan.Plan, _ *plan.Correlated) { p.Question.Histogram.Attributes[0].Most = 2 }, "what begins and ends"},
	} {
		p := example.Turning(t, 52, 2, plan.NoiseAggregators)
		c.spoil(&p, p.Route.Sum.Correlated)
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
