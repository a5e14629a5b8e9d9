package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Plan is a registered plan and what has become of it.
type Plan struct {
	Name       string // SHA-256 of its canonical form in hex
	Registered time.Time

	Spending Spending

	Closed   time.Time // zero: it takes batches
	Closer   string    // who closed it
	Decided  time.Time // zero: neither published nor withheld
	Released bool
	Reason   string // why it was withheld
	Missed   string // as of a Verdict

	Withdrawn bool // by its publisher
}

// Before is what a new plan is charged after.
type Before struct {
	Spent  []Spending // by the population that it asks; the same slice longer each time
	Rounds int        // of its study, that are here
}

// Register writes a plan, signed as it came, its number where it is the round of a study, and
// what it costs the population that p.Spending names. charge says how much that is, or refuses
// the plan with an error, which Register returns; nothing can be spent between charge and the
// write. A plan that is there already is not charged again, whatever became of an earlier call. A
// round is ErrRound where another plan has its number.
func (s *Store) Register(ctx context.Context, p Plan, round Round, signed []byte, charge func(Before) (Spending, error)) (Outcome, error) {
	if err := s.catchUp(ctx); err != nil {
		return Failed, err
	}
	outcome := New
	var end hashchain.Point
	err := s.write(ctx, s.main, "register", func(tx keep.Tx) error {
		outcome = New
		there, is, err := newest(tx.Get, tx.Each, p.Name)
		switch {
		case err != nil:
			return err
		case is && bytes.Equal(there, signed):
			outcome = Again
			return nil
		case is:
			return fmt.Errorf("%w: plan %s is registered with another signature", ErrTaken, p.Name)
		}
		a, spent, err := s.spent(tx.Get, p.Spending.Population)
		if err != nil {
			return err
		}
		b := Before{Spent: spent}
		if round != (Round{}) {
			if b.Rounds, err = count(tx, numberedTable, round.Study+"/"); err != nil {
				return err
			}
			if err := number(tx, round, p.Name); err != nil {
				return err
			}
		}
		cost, err := charge(b)
		if err != nil {
			return err
		}
		cost.Plan, cost.Population, cost.Spent = p.Name, p.Spending.Population, p.Registered.UTC().Truncate(time.Microsecond)
		row, behind, err := cost.next(a.end)
		if err != nil {
			return err
		}
		end = behind
		tx.Put(plansTable, p.Name, signed)
		tx.Put(ledgerTable, entryKey(end.Number), row)
		return nil
	})
	if err != nil {
		return Failed, err
	}
	if err := s.catchUp(ctx); err != nil {
		return Failed, err
	}
	if outcome == New {
		if err := s.reach(end); err != nil {
			return Failed, err
		}
	}
	return outcome, nil
}

// spent reads where the ledger ends, and what a population has spent until there.
func (s *Store) spent(get getter, population string) (a added, spent []Spending, err error) {
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.err(); err != nil {
		return a, nil, err
	}
	if a, err = s.behind(get); err != nil {
		return a, nil, err
	}
	spent = slices.Clip(l.of[population])
	for _, e := range a.entries { // which came meanwhile
		if e.Population == population {
			spent = append(spent, e)
		}
	}
	return a, spent, nil
}

// count returns how many rows have keys that begin with the prefix.
func count(tx keep.Tx, t keep.Table, prefix string) (n int, err error) {
	err = tx.Each(t, prefix, func(string, []byte) error { n++; return nil })
	return n, err
}

// closing is who closed a collection.
type closing struct {
	Closer string    `json:"closer"`
	At     time.Time `json:"at"`
}

// verdict is what came of a plan.
type verdict struct {
	Released bool      `json:"released,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
	Missed   string    `json:"missed,omitempty"`
}

// planOf returns what has become of a plan, of which the ledger tells what it costs.
func planOf(get getter, b Spending) (p Plan, err error) {
	p = Plan{Name: b.Plan, Registered: b.Spent, Spending: b}
	var c closing
	if _, err := get.read(closingsTable, p.Name, &c); err != nil {
		return p, err
	}
	var v verdict
	if _, err := get.read(verdictsTable, p.Name, &v); err != nil {
		return p, err
	}
	p.Closed, p.Closer = c.At, c.Closer
	p.Decided, p.Released, p.Reason, p.Missed = v.At, v.Released, v.Reason, v.Missed
	return p, nil
}

// Plans returns every plan, in the order of registration.
func (s *Store) Plans(ctx context.Context) ([]Plan, error) {
	if err := s.catchUp(ctx); err != nil && !errors.Is(err, ErrLedger) {
		return nil, err
	}
	return s.page(ctx, 0, math.MaxInt)
}

// After returns so many plans behind one of that name, in the order of registration; of "", the
// first ones. ErrUnknown: there is no such plan.
func (s *Store) After(ctx context.Context, name string, most int) ([]Plan, error) {
	if name == "" {
		if err := s.catchUp(ctx); err != nil && !errors.Is(err, ErrLedger) {
			return nil, err
		}
		return s.page(ctx, 0, most)
	}
	if _, err := s.spending(ctx, name); err != nil {
		return nil, err
	}
	s.ledger.mu.Lock()
	from := s.ledger.number[name] + 1
	s.ledger.mu.Unlock()
	return s.page(ctx, from, most)
}

// page returns so many plans from a number in the ledger on.
func (s *Store) page(ctx context.Context, from, most int) ([]Plan, error) {
	s.ledger.mu.Lock()
	all := s.ledger.all[min(from, len(s.ledger.all)):]
	spent := slices.Clone(all[:min(most, len(all))])
	s.ledger.mu.Unlock()
	withdrawn := map[string]bool{}
	if err := s.Withdrawals(ctx, func(name string, _ []byte) error { withdrawn[name] = true; return nil }); err != nil {
		return nil, err
	}
	plans := make([]Plan, 0, len(spent))
	for _, b := range spent {
		p, err := s.state(ctx, b)
		if err != nil {
			return nil, err
		}
		p.Withdrawn = withdrawn[p.Name]
		plans = append(plans, p)
	}
	return plans, nil
}

// state returns a plan but for Withdrawn. What was decided changes no more, and is read once.
func (s *Store) state(ctx context.Context, b Spending) (Plan, error) {
	s.mu.Lock()
	p, known := s.decided[b.Plan]
	s.mu.Unlock()
	if known {
		return p, nil
	}
	p, err := planOf(of(ctx, s.main), b)
	if err == nil && !p.Decided.IsZero() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.decided[p.Name] = p
	}
	return p, err
}

// Plan finds a plan by name, or returns ErrUnknown.
func (s *Store) Plan(ctx context.Context, name string) (p Plan, err error) {
	b, err := s.spending(ctx, name)
	if err != nil {
		return p, err
	}
	if p, err = s.state(ctx, b); err == nil {
		_, p.Withdrawn, err = s.main.Get(ctx, withdrawnTable, name)
	}
	return p, err
}

// spending returns what a registered plan costs.
func (s *Store) spending(ctx context.Context, name string) (Spending, error) {
	for again := false; ; again = true {
		s.ledger.mu.Lock()
		n, known := s.ledger.number[name]
		var b Spending
		if known {
			b = s.ledger.all[n]
		}
		s.ledger.mu.Unlock()
		switch {
		case known:
			return b, nil
		case again:
			return b, fmt.Errorf("%w: no plan %s is registered", ErrUnknown, name)
		}
		// Another process may have registered it.
		if err := s.catchUp(ctx); err != nil && !errors.Is(err, ErrLedger) {
			return b, err
		}
	}
}

// Signed returns a plan with its publishers' newest signatures, as it came, or ErrUnknown. It may
// have megabytes, which is why nothing else reads it.
func (s *Store) Signed(ctx context.Context, name string) ([]byte, error) {
	signed, there, err := newest(of(ctx, s.main), eachOf(ctx, s.main), name)
	if err == nil && !there {
		err = fmt.Errorf("%w: no plan %s is registered", ErrUnknown, name)
	}
	return signed, err
}

// newest returns a plan under its newest signatures.
func newest(get getter, each eachRow, name string) (signed []byte, there bool, err error) {
	if signed, there, err = get(plansTable, name); err != nil || !there {
		return nil, false, err
	}
	err = each(signedTable, name+"/", func(_ string, later []byte) error {
		signed = bytes.Clone(later)
		return nil
	})
	return signed, true, err
}

// Resign keeps another signed form of a plan that is here: the same plan, signed by
// others. Signed returns the newest.
func (s *Store) Resign(ctx context.Context, plan string, signed []byte) error {
	return s.write(ctx, s.main, "resign", func(tx keep.Tx) error {
		if _, there, err := tx.Get(plansTable, plan); err != nil || !there {
			return errors.Join(err, unknown(there, plan))
		}
		n, err := count(tx, signedTable, plan+"/")
		if err != nil {
			return err
		}
		tx.Put(signedTable, plan+"/"+place(n+1), signed)
		return nil
	})
}

func unknown(there bool, plan string) error {
	if there {
		return nil
	}
	return fmt.Errorf("%w: no plan %s is registered", ErrUnknown, plan)
}
