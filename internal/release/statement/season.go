package statement

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/plan"
)

// Kept says what rounds of a study promise a person, for a page of many rounds: in statements, and in sentences about a
// round, its season, and the year so far.
type Kept struct {
	Statements []account.Statement
	Says       []string
	Trial      bool // one operator has every key
}

// Cap and CapDelta bound what a device spends in CapDays days, where neither app nor owner sets other caps
// (client.DefaultCaps).
const Cap, CapDelta, CapDays = account.Meaningless, 1e-3, 30

// Keep says what a round promises, and what a person has paid until a time who answered all studies.
func (p Plan) Keep(seasons []plan.Signed, until time.Time) (k Kept, err error) {
	if k.Statements, err = p.Stated(p.Promise, p.Study); err != nil {
		return k, err
	}
	k.Trial = p.OneOperator()
	own, err := p.paid()
	if err != nil {
		return k, err
	}
	known := map[string]account.Spending{p.asks(): own}
	var year, window []account.Spending
	for _, s := range seasons {
		one := Plan{Study: s.Study}
		if s.Study == nil || s.Study.Times.Opens.After(until) || !s.Study.Times.Closes.After(until.AddDate(-1, 0, 0)) {
			continue
		}
		paid, there := known[one.asks()]
		if !there {
			if one, err = New(s, nil); err == nil {
				paid, err = one.paid()
			}
			if err != nil {
				return k, err
			}
			known[one.asks()] = paid
		}
		year = append(year, paid)
		if s.Study.Times.Closes.After(until.AddDate(0, 0, -CapDays)) {
			window = append(window, paid)
		}
	}
	g, err := p.Charge(p.Promise, account.Replacement)
	if err != nil {
		return k, err
	}
	k.Says = append(k.Says, fmt.Sprintf("A round promises each person %s: %s, as long as %s.", g.Verdict(), account.Replacement.Words(), g.Trust.Words()))
	if p.Study != nil {
		k.Says = append(k.Says, p.saysSeason(own))
	}
	if len(year) > 0 {
		share, err := capShare(window)
		if err != nil {
			return k, err
		}
		k.Says = append(k.Says, fmt.Sprintf("The year so far, until %s: %s. A person who answered all of them has paid %s. A device whose app and owner set no other caps spends at most epsilon %.4g, delta %.2g in any %d days; these studies have asked for %.0f %% of that in the last %d.",
			until.UTC().Format("2 January 2006"), numerals.Count(len(year), "study", "studies"), saysPaid(year), float64(Cap), CapDelta, CapDays, math.Ceil(100*share), CapDays))
	}
	return k, nil
}

// saysPaid says what studies cost a person together. Sums hold whoever chose the next study after what came of the last.
// A smaller epsilon that is worked out afterwards holds only if nobody did (docs/accounting-filters.md).
func saysPaid(all []account.Spending) string {
	epsilon, delta := 0.0, 0.0
	for _, s := range all {
		epsilon, delta = profile.AddUp(epsilon, s.Epsilon), profile.AddUp(delta, s.Delta)
	}
	says := spent(epsilon, delta)
	if less, at := all[0].With(all[1:]...); less < epsilon && len(all) > 1 {
		says += fmt.Sprintf(", or %s if all were decided before the first was asked", spent(less, at))
	}
	return says
}

// capShare returns which part of the default caps studies take up, by the rule that leaves more.
func capShare(all []account.Spending) (float64, error) {
	f, err := account.NewFilter(Cap, CapDelta)
	taken := f.Shares(all...)
	return min(taken.Sums(), taken.Box()), err
}

// asks returns the study as far as its price goes.
func (p Plan) asks() string {
	if p.Study == nil {
		return ""
	}
	q := p.Study.Plan
	q.Title = ""
	text, _ := json.Marshal([]any{q, p.Study.Rounds, p.Study.Takes}) // of texts and finite numbers
	return string(text)
}

// paid returns what a person pays for a study: of one round, or of all where they may answer all.
func (p Plan) paid() (account.Spending, error) {
	g, err := p.Charge(p.Promise, account.Replacement)
	if err != nil {
		return account.Spending{}, err
	}
	one, err := p.Spending(g, account.Replacement)
	if err != nil || p.Study == nil || p.Study.Takes != plan.TakesAll {
		return one, err
	}
	return p.Protocol.Study(one, p.Study.Rounds)
}

// saysSeason says what all rounds of the study cost.
func (p Plan) saysSeason(own account.Spending) string {
	if p.Study.Takes == plan.TakesOne {
		return fmt.Sprintf("A season is one study of at most %s. A person answers one of them, which the device draws, so a season costs what a round does.", numerals.Count(p.Study.Rounds, "round", "rounds"))
	}
	return fmt.Sprintf("A season is one study of at most %s. A person may answer every one, and then pays %s.", numerals.Count(p.Study.Rounds, "round", "rounds"), spent(own.Epsilon, own.Delta))
}

// spent prints a cost under replacement.
func spent(epsilon, delta float64) string {
	return account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: account.Replacement}.Verdict()
}
