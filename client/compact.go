package client

import (
	"hash/crc32"
	"time"
)

// compact makes the ledger forget the messages of what has ended, where they are
// too old or the ledger is too large, oldest first. What was spent, and the
// backstops, it never forgets.
func (f folder) compact(l *Ledger, now time.Time, o Options) error {
	forget := map[string]bool{}
	size := l.size
	for _, e := range l.Entries { // oldest first
		if e.Waiting() || e.Forgotten {
			continue
		}
		if size > o.LedgerBytes || now.Sub(e.At) > o.LedgerAge {
			forget[e.Plan] = true
			for _, p := range e.Parts {
				size -= 4 * messageBytes * len(p.Messages) / 3 // as base64
			}
		}
	}
	if len(forget) == 0 {
		return nil
	}
	records, _, err := readJournal(f.path(ledgerFile))
	if err != nil {
		return err
	}
	data := []byte(journalHead)
	for _, line := range records {
		r, err := parseRecord(line)
		if err != nil {
			return err
		}
		if r.Kind == kindSpent && forget[r.Plan] {
			r.Spent.Forgotten = true
			for i := range r.Spent.Parts {
				r.Spent.Parts[i].Messages = nil
			}
			line = r.bytes()
		}
		data = appendLine(data, line)
	}
	if err := f.remove(endFile); err != nil { // it is of another ledger in a moment
		return err
	}
	if err := f.write(data, ledgerFile); err != nil {
		return err
	}
	l.size, l.crc = len(data), crc32.Checksum(data, castagnoli)
	f.reached(l)
	return nil
}
