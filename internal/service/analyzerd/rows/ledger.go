package rows

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// The budget ledger is a chain: each row is a group, with its number and the SHA-256 of all
// before. A file elsewhere, beside the folder or wherever Config.Ledger says, says how far the
// chain has come, so that a store that lost its end, or is an older copy, does not spend again
// what was spent.
//
// The whole chain is read when the store is opened, and by CheckLedger. In between this process
// holds what it has read, and a new spending reads the last row and none of the others.

// ErrLedger is the error of a ledger in which something is changed or missing.
var ErrLedger = errors.New("analyzer: the budget ledger is damaged or shorter than it was, so that nothing can be spent: restore the newest backup; docs/damaged-disks.md says what to do where there is none")

const ledgerTitle = "confetti-ledger/v2"

// Spending is what a plan costs whoever takes part in it.
type Spending struct {
	Plan       string    `json:"plan"`
	Population string    `json:"population"`
	Publisher  string    `json:"publisher"`
	Epsilon    float64   `json:"epsilon"`
	Delta      float64   `json:"delta"`
	Adjacency  string    `json:"adjacency"`
	Shift      float64   `json:"shift,omitempty"` // of the Gaussian that dominates it, but for Tail
	Tail       float64   `json:"tail,omitempty"`
	Dominated  string    `json:"dominated,omitempty"` // the adjacency that Shift and Tail are for; empty where they are not known
	Users      int       `json:"users"`               // the respondents whose noise it relies upon
	Method     string    `json:"method"`              // theorem or algorithm
	Note       string    `json:"note,omitempty"`      // what the numbers leave out
	Spent      time.Time `json:"spent"`
}

func entryKey(number uint64) string { return fmt.Sprintf("%016d", number) }

// next returns the row behind a point of the chain, and the point behind that.
func (e Spending) next(before hashchain.Point) (row []byte, behind hashchain.Point, err error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, before, fmt.Errorf("analyzer: a spending that cannot be written: %w", err)
	}
	row = append(before.Append(nil), text...)
	_, behind, err = parseEntry(before, row)
	return row, behind, err
}

// parseEntry reads a row, and compares it with the point of the chain that it should follow.
func parseEntry(before hashchain.Point, row []byte) (e Spending, behind hashchain.Point, err error) {
	walk := hashchain.Walk{End: before}
	_, text, err := walk.Group(row)
	if err != nil {
		return e, before, err
	}
	return e, walk.End, shelves.Unmarshal(ledgerTable, text, &e)
}

// ledger is what this process has read of the chain.
type ledger struct {
	mu     sync.Mutex
	begun  bool
	end    hashchain.Point
	wrong  string // why nothing is spent; "": nothing is wrong
	all    []Spending
	of     map[string][]Spending // by population, in order
	number map[string]int        // by plan that is registered: where in all it is
}

func (l *ledger) add(e Spending, end hashchain.Point) {
	l.end = end
	l.all = append(l.all, e)
	l.of[e.Population] = append(l.of[e.Population], e)
	l.number[e.Plan] = len(l.all) - 1
}

// walk reads the whole chain, and says what is wrong with it. What can be read is in the ledger
// all the same: it is of use to everybody but who would spend.
func (s *Store) walk(ctx context.Context) (*ledger, error) {
	l := &ledger{begun: true, end: hashchain.Begin(ledgerTitle), of: map[string][]Spending{}, number: map[string]int{}}
	known := s.known()
	err := s.main.Each(ctx, ledgerTable, "", func(key string, row []byte) error {
		e, end, err := parseEntry(l.end, row)
		if err == nil && (key != entryKey(end.Number) || end.Number == known.Number && end != known) {
			err = hashchain.ErrDamaged
		}
		if err != nil {
			if l.wrong == "" {
				l.wrong = fmt.Sprintf("its entry %d is another one than it was, or missing", l.end.Number+1)
			}
			if len(row) < hashchain.Head || shelves.Unmarshal(ledgerTable, row[hashchain.Head:], &e) != nil {
				return nil
			}
			end = l.end
		}
		l.add(e, end)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if l.wrong == "" && l.end.Number < known.Number {
		l.wrong = fmt.Sprintf("it has %d entries and had %d", l.end.Number, known.Number)
	}
	return l, nil
}

func (l *ledger) err() error {
	if l.wrong != "" {
		return fmt.Errorf("%w (%s)", ErrLedger, l.wrong)
	}
	return nil
}

// CheckLedger reads the whole ledger, and says whether it is all there.
func (s *Store) CheckLedger(ctx context.Context) error {
	s.ledger.mu.Lock() // nothing is added meanwhile to what was read before
	defer s.ledger.mu.Unlock()
	l, err := s.walk(ctx)
	if err != nil {
		return err
	}
	switch {
	case l.wrong == "" && s.ledger.wrong == "" && l.end.Number < s.ledger.end.Number:
		l.wrong = fmt.Sprintf("it has %d entries and had %d", l.end.Number, s.ledger.end.Number)
	case l.wrong == "" && s.ledger.wrong == "" && s.ledger.end.Number > 0:
		// What this process has read is a beginning of what is there, or another was written.
		if n := s.ledger.end.Number; !slices.Equal(l.all[:n], s.ledger.all) {
			l.wrong = "an entry is another one than it was"
		}
	}
	s.ledger.wrong = l.wrong
	if l.wrong == "" {
		s.ledger.take(l)
	}
	return l.err()
}

// take takes over what another has read.
func (l *ledger) take(from *ledger) {
	l.begun, l.end, l.wrong, l.all, l.of, l.number = true, from.end, from.wrong, from.all, from.of, from.number
}

// added is what others have written behind what this process has read.
type added struct {
	end     hashchain.Point
	entries []Spending
}

// behind reads what stands behind the end that is known. ErrLedger: the end itself is not there
// any more, or the file says that the chain came further.
func (s *Store) behind(get getter) (a added, err error) {
	a.end = s.ledger.end
	if a.end.Number > 0 {
		row, there, err := get(ledgerTable, entryKey(a.end.Number))
		if err != nil {
			return a, err
		}
		if !there || sha256.Sum256(row) != a.end.Digest {
			return a, fmt.Errorf("%w (its entry %d is another one than it was, or missing)", ErrLedger, a.end.Number)
		}
	}
	for {
		row, there, err := get(ledgerTable, entryKey(a.end.Number+1))
		if err != nil {
			return a, err
		}
		if !there {
			break
		}
		e, end, err := parseEntry(a.end, row)
		if err != nil {
			return a, fmt.Errorf("%w (its entry %d is another one than it was)", ErrLedger, a.end.Number+1)
		}
		a.end, a.entries = end, append(a.entries, e)
	}
	if known := s.known(); known.Number > a.end.Number || known.Number == a.end.Number && known.Number > 0 && known != a.end {
		return a, fmt.Errorf("%w (it has %d entries and had %d)", ErrLedger, a.end.Number, known.Number)
	}
	return a, nil
}

// catchUp reads what others have written since.
func (s *Store) catchUp(ctx context.Context) error {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun || l.wrong != "" {
		read, err := s.walk(ctx)
		if err == nil {
			l.take(read)
		}
		return err
	}
	a, err := s.behind(of(ctx, s.main))
	if err != nil {
		return err
	}
	for _, e := range a.entries {
		l.add(e, a.end)
	}
	return nil
}

// Spendings lists what a population has spent, in order.
func (s *Store) Spendings(ctx context.Context, population string) ([]Spending, error) {
	if err := s.catchUp(ctx); err != nil && !errors.Is(err, ErrLedger) {
		return nil, err
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return slices.Clip(s.ledger.of[population]), nil
}

// known returns how far the ledger had come; zero where nothing says so.
func (s *Store) known() (p hashchain.Point) {
	if s.end != "" {
		if text, err := os.ReadFile(s.end); err == nil && p.UnmarshalText(text) != nil {
			p = hashchain.Point{} // damaged: the store is the better witness
		}
	}
	return p
}

// reach writes down how far the ledger has come.
func (s *Store) reach(p hashchain.Point) error {
	if s.end == "" || p == s.known() {
		return nil
	}
	text, err := p.MarshalText()
	if err != nil {
		return fmt.Errorf("analyzer: %w", err)
	}
	if err := atomicfile.Replace(s.end, text, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("analyzer: %w", err)
	}
	return nil
}

// mendEnd reads the ledger, and writes down how far it has come where that was lost or damaged. A
// ledger that is itself damaged is left as it is: it says so when it is asked.
func (s *Store) mendEnd(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	if s.ledger.wrong != "" || s.ledger.end.Number == 0 {
		return nil
	}
	return s.reach(s.ledger.end)
}
