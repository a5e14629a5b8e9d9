package client

import (
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
)

// compact makes the ledger forget the messages of what has ended, where they are
// too old or the ledger is too large, oldest first. What was spent, and the
// backstops, it never forgets.
func (l *Ledger) compact(store Store, now time.Time, o Options) error {
	forget := map[string]bool{}
	size := l.journal.Size()
	for _, e := range l.Entries { // oldest first
		if e.Waiting() || e.Forgotten {
			continue
		}
		if size > o.LedgerBytes || now.Sub(e.At) > o.LedgerAge {
			forget[e.Plan] = true
			size -= len(e.Said)
			for _, p := range e.Parts {
				size -= p.bytes()
			}
		}
	}
	if len(forget) == 0 {
		return nil
	}
	_, records, err := journal.Read(store)
	if err != nil {
		return err
	}
	for i, line := range records {
		r, err := parseRecord(line)
		if err != nil {
			return err
		}
		if r.Kind == kindSpent && forget[r.Plan] {
			r.Spent.Forgotten, r.Spent.Said = true, ""
			for i := range r.Spent.Parts {
				r.Spent.Parts[i] = spokenPart{Instance: r.Spent.Parts[i].Instance}
			}
			if records[i], err = r.line(); err != nil {
				return err
			}
		}
	}
	if err := l.journal.Replace(records); err != nil {
		return err
	}
	for i, e := range l.Entries {
		if forget[e.Plan] {
			l.Entries[i].forget()
		}
	}
	return nil
}

// bytes returns what the messages of a part take up in the journal, as base64.
func (p Part) bytes() int {
	return 4 * (len(p.said.Bodies) + len(p.said.Dummies) + len(p.said.Vector) + len(p.said.Messages)) / 3
}

func (e *Entry) forget() {
	e.Forgotten, e.Said = true, ""
	for i := range e.Parts {
		e.Parts[i].Messages, e.Parts[i].said = nil, spokenPart{Instance: e.Parts[i].Instance}
	}
}
