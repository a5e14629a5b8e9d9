package client

import (
	"bytes"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// cost is what an answer costs, as caps are asked about it.
type cost struct {
	whole    Charge // of the plan; of a study that takes all rounds, of all
	first    Charge // what the answer is charged, or where it is of a study, the first one to it
	later    Charge // what each later one is charged, which first covers
	of       string // the name of a study that takes all rounds; "": none
	question []byte // question.Backstop's; nil where the plan keeps nothing
}

// costs returns what an answer costs to a plan that is no round of a study.
func costs(c Charge, question []byte) cost {
	return cost{whole: c, first: c, later: c, question: question}
}

// study makes the costs of a plan those of a round of a study that takes all. The first
// answer is charged for every round. What everyone together learns of report fragments is
// left out of that: it is the backstop's, which each answer is charged for by itself.
func (c *cost) study(proto *protocol.Protocol, of plan.Study) (err error) {
	c.of = of.Name()
	c.whole, err = c.later.ofStudy(proto, of.Rounds)
	if c.first = c.whole; c.question != nil {
		c.first.Local = c.later.Local
	}
	return err
}

// adds returns what an answer now would add to what counts in a period. An answer to a study
// adds nothing while the first one lies in the period, and was charged for it. Afterwards
// the first counts no longer, and the answer adds what it costs by itself. The backstop of
// a term that goes on (nil: another one, or none) is counted where something of the term
// was said in the period.
func (l *Ledger) adds(c cost, now time.Time, period time.Duration, goesOn *Backed) (more Charge) {
	more = c.first
	if first := l.first(c.of); first != nil {
		if more = c.later; first.within(now, period) {
			more = Charge{}
		}
	}
	if c.question != nil {
		if more.Local = c.later.Local; goesOn != nil && l.saidOf(goesOn, now, period) {
			more.Local = 0
		}
	}
	return more
}

// afford says, before anything is drawn, whether the caps leave room for an answer's
// cost, and which backstop an answer in report fragments to the question comes
// from: with a Key it is that one, whatever the value; without, the value's own,
// which is drawn if it is not kept. A nil question keeps no backstop.
//
// Every answer is asked about, also one that adds nothing: what counts in a period is then
// within the cap whenever the device says something (docs/accounting-filters.md).
//
// Who learns whether a device answers must not learn anything of its value. So this
// looks at plans, times and caps only: not at the value, and not at whether a
// backstop for it is kept. Where no cap on a period has a Local, any number of
// backstops may be drawn, and nothing is ever refused for them. Where one has, the
// first answer to a question begins a term of that period. Within the term the same
// backstop is said again, which costs nothing new. After it the next answer begins
// another term, with its own value, and is charged again, whether or not the value
// is still the same; if there is no room for that, the old term goes on. A cap on a
// shorter period, in which nothing of the term was said, counts its backstop anew.
func (l *Ledger) afford(now time.Time, caps []Caps, asked cost) (*Backed, error) {
	if asked.question == nil {
		return nil, l.refuseBeyondCaps(now, caps, asked, nil)
	}
	term := longestLocal(caps)
	if term == 0 {
		return &Backed{Question: asked.question}, l.refuseBeyondCaps(now, caps, asked, nil)
	}
	fresh := &Backed{Question: asked.question, Term: now.UTC()}
	last := l.standing(asked.question, now, term)
	if last == nil {
		return fresh, l.refuseBeyondCaps(now, caps, asked, nil)
	}
	if !now.Before(last.Term.Add(term)) && l.refuseBeyondCaps(now, caps, asked, nil) == nil {
		return fresh, nil
	}
	return last, l.refuseBeyondCaps(now, caps, asked, last)
}

// longestLocal returns the longest period in which a cap limits what everyone together
// may learn; 0 where none does.
func longestLocal(caps []Caps) (longest time.Duration) {
	for _, c := range caps {
		if c.Window.Local > 0 {
			longest = max(longest, c.Period)
		}
	}
	return longest
}

// standing returns the backstop that the last answer to the question came from, where
// that was within the period and began or went on with a term; otherwise nil.
func (l *Ledger) standing(question []byte, now time.Time, period time.Duration) *Backed {
	var last *Backed
	for i := range l.Entries {
		e := &l.Entries[i]
		if b := e.Backed; b != nil && !b.Term.IsZero() && bytes.Equal(b.Question, question) && e.within(now, period) {
			last = b
		}
	}
	return last
}

// saidOf reports whether an answer of the backstop's term lies within a period that ends
// now.
func (l *Ledger) saidOf(b *Backed, now time.Time, period time.Duration) bool {
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Backed != nil && e.Backed.Term.Equal(b.Term) && bytes.Equal(e.Backed.Question, b.Question) && e.within(now, period) {
			return true
		}
	}
	return false
}

// refuseBeyondCaps refuses a cost that does not fit every cap. One on a plan holds for a whole study.
func (l *Ledger) refuseBeyondCaps(now time.Time, caps []Caps, asked cost, goesOn *Backed) error {
	for _, c := range caps {
		if err := c.Plan.allow("one plan", "ask for a plan that promises more", Charge{}, asked.whole); err != nil {
			return err
		}
		more := l.adds(asked, now, c.Period, goesOn)
		if err := c.Window.allowBeside(fmt.Sprintf("all plans within %s", c.Period), "wait until earlier plans are that long ago, or ask for a plan that promises more", func(f account.Filter) account.Filter { return l.after(f, now, c.Period) }, l.counted(now, c.Period), more); err != nil {
			return err
		}
	}
	return nil
}

// counted returns what counts against caps: Spent, but a number that no value moves. Each
// term counts, though a later one may have found the backstop of an earlier one, and
// so does each answer of a time without a Local cap, though some may have had the
// same backstop.
func (l *Ledger) counted(now time.Time, period time.Duration) Charge {
	return l.sum(now, period, func(e *Entry) source {
		if e.Backed.Term.IsZero() {
			return source{name: e.Plan}
		}
		return source{string(e.Backed.Question), e.Backed.Term.UnixNano()}
	})
}

// after returns a filter when the plans that count were answered.
func (l *Ledger) after(f account.Filter, now time.Time, period time.Duration) account.Filter {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.within(now, period) && !l.covers(e, now, period) {
			f = f.After(e.Charge.spending())
		}
	}
	return f
}
