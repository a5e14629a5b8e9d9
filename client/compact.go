package client

import "time"

// compact writes the ledger anew where much of it is records, which are read slowly, and
// forgets messages meanwhile: those that are too old, and where the ledger is too large, the
// oldest ones. What was spent, and the backstops, it never forgets.
func (l *Ledger) compact(now time.Time, o Options) error {
	size, lines := l.journal.Size(), l.journal.Lines()
	overdue := false
	for i := range l.Entries {
		e := &l.Entries[i]
		overdue = overdue || e.mayForget() && now.Sub(e.At) > o.LedgerAge+o.LedgerAge/slack
	}
	if !overdue && lines <= min(fewLines+size/slack, o.LedgerBytes/slack) {
		return nil
	}
	for i := range l.Entries {
		if e := &l.Entries[i]; e.mayForget() && now.Sub(e.At) > o.LedgerAge {
			e.forget()
		}
	}
	whole := l.compacted()
	if size = len(whole); size > o.LedgerBytes {
		for i := range l.Entries { // oldest first
			if e := &l.Entries[i]; e.mayForget() && size > o.LedgerBytes-o.LedgerBytes/slack {
				size -= e.forget()
			}
		}
		whole = l.compacted()
	}
	return l.journal.Replace(whole)
}

// A ledger is written anew for fewLines bytes of records and a part of what it has, so that
// each answer pays for a small part of that. It is late by such a part of its limits.
const (
	fewLines = 32 << 10
	slack    = 32
)

// mayForget reports whether the entry has messages that are of no more use.
func (e *Entry) mayForget() bool { return !e.Forgotten && !e.Waiting() }

// forget deletes the messages, and returns how many bytes they had.
func (e *Entry) forget() (bytes int) {
	bytes = len(e.Said)
	e.Forgotten, e.Said = true, ""
	for i := range e.Parts {
		s := &e.Parts[i].said
		bytes += len(s.Bodies) + len(s.Dummies) + len(s.Vector) + len(s.Messages)
		e.Parts[i].Messages, *s = nil, spokenPart{Instance: s.Instance}
	}
	return bytes
}
