package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client/internal/journal"
)

// Ledger is everything that a device has agreed to, spent and said.
type Ledger struct {
	OptedIn bool      `json:"opted_in"`
	Since   time.Time `json:"since,omitzero"`    // of the last word on it; zero where there was none
	Entries []Entry   `json:"entries"`           // one a plan, oldest first
	Studies []Joined  `json:"studies,omitempty"` // of which the device answers one round

	at        map[string]int // where the entry of a plan is
	firsts    map[string]int // where the first of a study is, which was charged for all rounds
	drawn     map[string]int // where a study is among Studies
	backstops map[[32]byte][]byte
	journal   *journal.Journal
	stamp     any // Store.Stamp of the journal
}

// Status says how far an entry has come.
type Status string

const (
	Waiting Status = "waiting" // on the device, until it is sent or expires
	Sent    Status = "sent"    // the entry hop has acknowledged it
	Dropped Status = "dropped" // it never counted; what it cost stays spent
)

// Entry is one plan that the device has answered.
type Entry struct {
	At        time.Time `json:"at"`
	Plan      string    `json:"plan"` // the plan's name
	Title     string    `json:"title"`
	Publisher string    `json:"publisher"`
	Charge    Charge    `json:"charge"`
	Reused    bool      `json:"reused"` // it came from a backstop that was drawn for an earlier plan
	Backed    *Backed   `json:"backed"` // of report fragments; nil where nothing is kept
	// Statements say what each observer may learn, as releases and the plan's check do, but not
	// who that is. Charge is what counts against caps: under replacement, beside other answers.
	Statements []account.Statement `json:"statements"`
	Crowd      int                 `json:"crowd"` // which whoever takes the answer saw
	CrowdName  string              `json:"crowd_name"`
	Expires    time.Time           `json:"expires"` // what still waits then is dropped
	Parts      []Part              `json:"parts"`   // one a contribution
	// Said is what they say, for a sentence that begins with "you said". It was written with the
	// answer; empty where an earlier version wrote that.
	Said    string `json:"said,omitempty"`
	Study   string `json:"study,omitempty"` // the study's name, where the plan is a round of one
	Round   int    `json:"round,omitempty"`
	Covered bool   `json:"covered,omitempty"` // Charge is a part of what the study's first answer was charged
	// Of a study that counts events (question.Counter): its time, until the last row has left, how many
	// this answer says, and how many the device says at most in all rounds. Afterwards it says none.
	From      time.Time `json:"from,omitzero"`
	Until     time.Time `json:"until,omitzero"`
	Events    int       `json:"events,omitempty"`
	Most      int       `json:"most_events,omitempty"`
	Forgotten bool      `json:"forgotten"` // the messages were deleted, for their age or the ledger's size
}

// Backed says which backstop an answer in report fragments came from.
type Backed struct {
	Question []byte `json:"question"` // question.Backstop's: plans that share backstops have the same
	Key      []byte `json:"key"`      // of the backstop among those kept
	// Term is since when the backstop stands for the question, whatever the value is
	// meanwhile (Caps.Window); zero where no cap asks for that.
	Term time.Time `json:"term,omitzero"`
}

// Part is what one contribution of an entry says.
type Part struct {
	Instance int       `json:"instance"`
	Status   Status    `json:"status"`
	Ended    time.Time `json:"ended,omitzero"`   // when it was sent or dropped
	Reason   string    `json:"reason,omitempty"` // why it was dropped
	Messages [][]byte  `json:"messages"`         // their bodies, dummies left out

	said   spokenPart
	sealed bool // it is in the spool, and may have been sent
}

// Summed reports whether the part is an answer that is summed, of which the ledger shows
// nothing.
func (p Part) Summed() bool { return p.said.Vector != nil }

// Waiting reports whether anything of the entry has still to be sent.
func (e Entry) Waiting() bool {
	return slices.ContainsFunc(e.Parts, func(p Part) bool { return p.Status == Waiting })
}

// replay reads a ledger from what was compacted and the records since.
func replay(compacted []byte, records [][]byte) (*Ledger, error) {
	l, err := expand(compacted)
	if err != nil {
		return nil, err
	}
	for _, line := range records {
		r, err := parseRecord(line)
		if err != nil {
			return nil, err
		}
		if !l.apply(r) {
			return nil, journal.ErrDamaged
		}
	}
	return l, nil
}

// apply follows one record; false where it makes no sense after the earlier ones.
func (l *Ledger) apply(r record) bool {
	switch r.Kind {
	case kindConsent:
		l.OptedIn, l.Since = r.OptedIn, r.At
		return true
	case kindJoined:
		if len(r.Study) != 64 || r.Round < 1 || l.joined(r.Study) != nil {
			return false
		}
		l.drawn[r.Study] = len(l.Studies) // joined has made it
		l.Studies = append(l.Studies, Joined{r.At, r.Study, r.Round})
		return true
	case kindSpent:
		for _, b := range r.Backstops {
			if len(b.Key) != 32 {
				return false
			}
			l.backstops[[32]byte(b.Key)] = b.Kept
		}
		return r.Spent != nil && l.spend(r)
	case kindSealed, kindSent, kindDropped:
		p := l.part(r.Plan, r.Instance)
		if p == nil {
			return false
		}
		if r.Kind == kindSealed {
			p.sealed = true
			return true
		}
		p.Status, p.Ended, p.Reason = Status(r.Kind), r.At, r.Reason
		return true
	}
	return false
}

func (l *Ledger) spend(r record) bool {
	s := r.Spent
	e := Entry{From: s.From, Until: s.Until, Events: s.Events, Most: s.Most, At: r.At, Plan: r.Plan, Title: s.Title, Publisher: s.Publisher, Charge: s.Charge, Reused: s.Reused, Backed: s.Backed, Crowd: s.Crowd, CrowdName: s.CrowdName, Expires: s.Expires, Forgotten: s.Forgotten, Study: s.Study, Round: s.Round, Covered: s.Covered, Said: s.Said}
	for _, p := range s.Parts {
		said, ok := p.current()
		if !ok {
			return false
		}
		e.Parts = append(e.Parts, Part{Instance: p.Instance, Status: Waiting, Messages: said.said(), said: said})
	}
	kept := s.Statements
	if kept == nil {
		kept = s.earlier(slices.ContainsFunc(e.Parts, Part.Summed))
	}
	var ok bool
	e.Statements, ok = recalled(kept)
	return ok && l.add(e)
}

// add puts an entry behind the others; false where it makes no sense there.
func (l *Ledger) add(e Entry) bool {
	var name [32]byte
	if len(e.Plan) != 64 || len(e.Parts) == 0 {
		return false
	}
	if _, err := hex.Decode(name[:], []byte(e.Plan)); err != nil || l.entry(e.Plan) != nil || !e.Charge.valid() {
		return false
	}
	if e.Events < 0 || e.Events > e.Most || e.Most > 0 && e.Study == "" {
		return false
	}
	if e.Backed != nil && !l.keeps(e.Backed) || e.Covered && l.first(e.Study) == nil {
		return false
	}
	if _, known := l.firsts[e.Study]; !known && e.Study != "" && !e.Covered {
		l.firsts[e.Study] = len(l.Entries)
	}
	l.at[e.Plan] = len(l.Entries)
	l.Entries = append(l.Entries, e)
	return true
}

// keeps reports whether the backstop is one of those kept.
func (l *Ledger) keeps(b *Backed) bool {
	if len(b.Question) != 32 || len(b.Key) != 32 {
		return false
	}
	_, kept := l.backstops[[32]byte(b.Key)]
	return kept
}

// index finds entries by their plan and study, and studies by their name.
func (l *Ledger) index() {
	if l.at != nil && len(l.at) == len(l.Entries) && len(l.drawn) == len(l.Studies) {
		return
	}
	l.at, l.firsts, l.drawn = make(map[string]int, cap(l.Entries)), map[string]int{}, map[string]int{}
	for i, e := range l.Entries {
		l.at[e.Plan] = i
		if _, known := l.firsts[e.Study]; !known && e.Study != "" && !e.Covered {
			l.firsts[e.Study] = i
		}
	}
	for i, j := range l.Studies {
		l.drawn[j.Study] = i
	}
}

// found returns what an index says of a name, or nil.
func found[T any](at map[string]int, all []T, name string) *T {
	if i, ok := at[name]; ok {
		return &all[i]
	}
	return nil
}

// entry returns the one of the plan, or nil.
func (l *Ledger) entry(plan string) *Entry {
	l.index()
	return found(l.at, l.Entries, plan)
}

// first returns the entry that was charged for every round of a study, or nil; "" is no study.
func (l *Ledger) first(study string) *Entry {
	l.index()
	return found(l.firsts, l.Entries, study)
}

// joined returns the study as the device takes part in it, or nil.
func (l *Ledger) joined(study string) *Joined {
	l.index()
	return found(l.drawn, l.Studies, study)
}

// Spent adds up what was spent within a period that ends now. What was spent
// after now counts: the clock was set back since, and no budget comes of that.
//
// Whatever came from one backstop counts once where everyone colludes, in every
// period in which something came from it: with all that it can ever tell.
func (l *Ledger) Spent(now time.Time, period time.Duration) Charge {
	return l.sum(now, period, func(e *Entry) source { return source{name: string(e.Backed.Key)} })
}

// source is what answers in report fragments came from: a backstop, or a term of one.
type source struct {
	name string
	term int64
}

// sum adds up what was spent since; of the answers in report fragments that once
// gives one name, the local epsilon counts once, whatever study they are of.
func (l *Ledger) sum(now time.Time, period time.Duration, once func(*Entry) source) Charge {
	var sum Charge
	counted := map[source]bool{}
	for i := range l.Entries {
		e := &l.Entries[i]
		if !e.within(now, period) {
			continue
		}
		c := e.Charge
		if l.covers(e, now, period) {
			c = Charge{}
		}
		switch {
		case e.Backed != nil:
			name := once(e)
			if c.Local = e.Charge.Local; counted[name] {
				c.Local = 0
			}
			counted[name] = true
		case e.Reused: // recorded by its fragments, before backstops were charged: what that one tells is not known
			c.Local = unlimited
		}
		sum = sum.plus(c)
	}
	return sum
}

// covers reports whether the entry was charged with its study's first answer, and that
// counts in a period that ends now.
func (l *Ledger) covers(e *Entry, now time.Time, period time.Duration) bool {
	return e.Covered && l.first(e.Study).within(now, period)
}

// within reports whether the entry counts in a period that ends now. What is charged for a study that counts
// events does in every period that meets the time from the first answer to the last row: each row tells of the
// first day too.
func (e *Entry) within(now time.Time, period time.Duration) bool {
	begins := now.Add(-period)
	return e.At.After(begins) || e.Most > 0 && !e.Covered && e.Until.After(begins)
}

// said returns how many events the device has said in a study, and the last round in which it did.
func (l *Ledger) said(study string) (events, last int) {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Study == study && e.Events > 0 {
			events += e.Events
			last = max(last, e.Round)
		}
	}
	return events, last
}

// ReadLedger reads the ledger in a device's store, and changes nothing.
func ReadLedger(store Store) (*Ledger, error) {
	j, compacted, records, err := journal.Read(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, as("nothing-kept", fmt.Errorf("client: there is no ledger in %v: the device has answered nothing yet, or another place is meant", store))
	}
	if err != nil {
		return nil, err
	}
	l, err := replay(compacted, records)
	if err != nil {
		return nil, err
	}
	l.journal = j
	return l, nil
}

// lastYear is the last that a clock may show: what is written down of the centuries after
// an answer still has a year of four digits.
const lastYear = 9000

// append keeps a record, and then puts it into the ledger.
func (l *Ledger) append(r record) error {
	r.At = r.At.UTC()
	if year := r.At.Year(); year < 1 || year > lastYear {
		return fmt.Errorf("client: refused: the device's clock shows the year %d, and a ledger holds the years 1 to %d: set the clock", year, lastYear)
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := l.journal.Append(line); err != nil {
		return err
	}
	if !l.apply(r) {
		panic("client: a record that a reader would refuse")
	}
	return nil
}
