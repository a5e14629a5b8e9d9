package client

import (
	"time"
)

// Twins are rules that are wrong, in the place of Ledger.afford.
var Twins = map[string]func(*Ledger, time.Time, []Caps, cost) (*Backed, error){
	// Nobody asks about a round whose study has been charged.
	"late rounds are free": func(l *Ledger, now time.Time, caps []Caps, asked cost) (*Backed, error) {
		if l.first(asked.of) != nil && asked.question == nil {
			return nil, nil
		}
		return l.afford(now, caps, asked)
	},
	// A round is not asked about while its study's first answer counts, whatever else has
	// happened to caps and clock.
	"covered rounds are not asked about": func(l *Ledger, now time.Time, caps []Caps, asked cost) (*Backed, error) {
		first := l.first(asked.of)
		if first == nil || asked.question != nil {
			return l.afford(now, caps, asked)
		}
		for _, c := range caps {
			if !first.within(now, c.Period) {
				return l.afford(now, caps, asked)
			}
		}
		return nil, nil
	},
	// A backstop that stands pays for a study's first answer, and later rounds draw their own.
	"a backstop pays for a study": func(l *Ledger, now time.Time, caps []Caps, asked cost) (*Backed, error) {
		if l.first(asked.of) == nil || asked.question == nil {
			return l.afford(now, caps, asked)
		}
		fragments := asked.question
		asked.question = nil
		return &Backed{Question: fragments}, l.refuseBeyondCaps(now, caps, asked, nil)
	},
}

// Follow has the client decide by a twin.
func (c *Client) Follow(twin string) { c.affords = Twins[twin] }

// SpentAsItWas is Ledger.Spent as it once was: what a study's first answer came from stood
// for all rounds, and was waived for the whole study where it was counted already.
func (l *Ledger) SpentAsItWas(now time.Time, period time.Duration) (sum Charge) {
	counted := map[string]bool{}
	for i := range l.Entries {
		e := &l.Entries[i]
		if !e.within(now, period) || l.covers(e, now, period) {
			continue
		}
		c := e.Charge
		if e.Backed != nil {
			if counted[string(e.Backed.Key)] {
				c.Local = 0
			}
			counted[string(e.Backed.Key)] = true
		}
		sum = sum.plus(c)
	}
	return sum
}
