package statement_test

import (
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// A year adds up the seasons that began in it, each once, and a season of rounds that one person may all answer costs more than one.
func TestAYearIsOfItsSeasons(t *testing.T) {
	opens := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	proto := example.Runnable(t, example.Design(t, example.Histograms()["categories"]))
	promise := example.Promised(t, proto)
	charge, err := statement.Plan{Protocol: proto, Promise: promise}.Charge(promise, account.Replacement)
	if err != nil {
		t.Fatal(err)
	}
	season := func(k int, takes string) plan.Signed {
		at := plan.Times{Opens: opens.AddDate(0, 0, 28*k), Closes: opens.AddDate(0, 0, 28*k+28)}
		return plan.Signed{Plan: proto.Plan, Study: &plan.Study{Plan: proto.Plan, Rounds: 4, Takes: takes, Times: at}}
	}
	says := func(takes string, n int) []string {
		var all []plan.Signed
		for k := range n {
			all = append(all, season(k, takes))
		}
		p := statement.Plan{Protocol: proto, Promise: promise, Study: all[n-1].Study}
		kept, err := p.Keep(append(all, season(n+1, takes)), opens.AddDate(0, 0, 28*n)) // the last has not begun
		if err != nil || len(kept.Says) != 3 {
			t.Fatal(kept, err)
		}
		return kept.Says
	}
	if one, two := says(plan.TakesOne, 1), says(plan.TakesOne, 2); !strings.Contains(one[2], ": 1 study. ") || !strings.Contains(two[2], ": 2 studies. ") || one[2] == two[2] || !strings.Contains(one[1], "costs what a round does") {
		t.Errorf("%q, %q", one, two)
	}
	// What was spent so far is a sum: an epsilon that is worked out afterwards holds only if nobody looked in between.
	const looked = " if all were decided before the first was asked"
	if one, two := says(plan.TakesOne, 1)[2], says(plan.TakesOne, 2)[2]; strings.Contains(one, looked) || !strings.Contains(two, looked) ||
		!strings.Contains(two, "has paid "+account.Guarantee{Epsilon: 2 * charge.Epsilon, Delta: 2 * charge.Delta, Adjacency: account.Replacement}.Verdict()+", or ") {
		t.Errorf("%q, %q", one, two)
	}
	if all := says(plan.TakesAll, 1); !strings.Contains(all[1], "may answer every one, and then pays epsilon") {
		t.Errorf("%q", all)
	}
}
