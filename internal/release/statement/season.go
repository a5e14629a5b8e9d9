package statement

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// Kept is what rounds of a study promise a person, for a page of many: in statements, and in sentences of a round, of its
// season, and of the year so far.
type Kept struct {
	Statements []account.Statement
	Says       []string
	Trial      bool // one operator has every key
}

// Cap is the epsilon that a device spends at most in so many days, unless its owner says otherwise (client.DefaultCaps).
const Cap, CapDays = account.Meaningless, 30

// Keep says what a round promises, and what somebody has paid until a time who answered all that the studies before it
// asked too.
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
		all, delta := year[0].With(year[1:]...)
		near := 0.0
		if len(window) > 0 {
			near, _ = window[0].With(window[1:]...)
		}
		k.Says = append(k.Says, fmt.Sprintf("The year so far, until %s: %s. Somebody who answered in each has paid %s. A device spends at most epsilon %.4g in any %d days; these studies have asked for %s of that in the last %d.",
			until.UTC().Format("2 January 2006"), counted(len(year), "study", "studies"), spent(all, delta), float64(Cap), CapDays, account.AtMost(near, 3), CapDays))
	}
	return k, nil
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
		return fmt.Sprintf("A season is one study of at most %s. A person answers one of them, which the device draws, so a season costs what a round does.", counted(p.Study.Rounds, "round", "rounds"))
	}
	return fmt.Sprintf("A season is one study of at most %s. A person may answer every one, and then pays %s.", counted(p.Study.Rounds, "round", "rounds"), spent(own.Epsilon, own.Delta))
}

func spent(epsilon, delta float64) string {
	return account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: account.Replacement}.Verdict()
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
