package histogram_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// Of rounds that hang together and rounds that ask afresh a design has those whose running total errs less, and both
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
