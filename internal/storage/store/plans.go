package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
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

	Withdrawn bool // by its publisher
}

// Spending is what a plan costs whoever takes part in it.
type Spending struct {
	Plan       string
	Population string
	Publisher  string
	Epsilon    float64
	Delta      float64
	Adjacency  string
	Shift      float64 // of the Gaussian that dominates it, but for Tail
	Tail       float64
	Dominated  string // the adjacency that Shift and Tail are for; empty where they are not known
	Users      int    // the respondents whose noise it relies upon
	Method     string // theorem or algorithm
	Note       string // what the numbers leave out
	Spent      time.Time
}

// Before is what a new plan is charged after.
type Before struct {
	Spent  []Spending // by the population that it asks
	Rounds int        // of its study, that are here
}

// Register writes a plan, signed as it came, its number where it is the round of a study, and
// what it costs the population that p.Spending names. charge says how much that is, or refuses
// the plan with an error, which Register returns; nothing can be spent between charge and the
// write. A plan that is there already is not charged again. A round is ErrRound where another
// plan has its number.
func (s *Store) Register(ctx context.Context, p Plan, round Round, signed []byte, charge func(Before) (Spending, error)) (Outcome, error) {
	outcome := New
	var end hashchain.Point
	err := s.write(ctx, "register", func(tx *sql.Tx) error {
		var text []byte
		var err error
		switch err := tx.QueryRowContext(ctx, selectSigned, p.Name).Scan(&text); {
		case err == nil && bytes.Equal(text, signed):
			outcome = Again
			return nil
		case err == nil:
			return fmt.Errorf("%w: plan %s is registered with another signature", ErrTaken, p.Name)
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("store: %w", err)
		}
		if end, err = s.ledger(ctx, tx); err != nil {
			return err
		}
		var before Before
		if before.Spent, err = spendings(ctx, tx, p.Spending.Population); err != nil {
			return err
		}
		there, err := roundsOf(ctx, tx, round.Study)
		if err != nil {
			return err
		}
		before.Rounds = len(there)
		b, err := charge(before)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO plans (name, signed, registered) VALUES ($1, $2, $3)", p.Name, signed, stamp(p.Registered)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if err := number(ctx, tx, "numbered", round, p.Name); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO spendings (plan, population, publisher, epsilon, delta, adjacency, users, method, note, spent, shift, tail, dominated)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			p.Name, b.Population, b.Publisher, b.Epsilon, b.Delta, b.Adjacency, b.Users, b.Method, b.Note, stamp(p.Registered), b.Shift, b.Tail, b.Dominated); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		b.Plan, b.Spent = p.Name, unstamp(sql.NullInt64{Int64: stamp(p.Registered), Valid: true})
		end, err = s.extend(ctx, tx, end, b)
		return err
	})
	if err == nil && outcome == New {
		err = s.reach(end)
	}
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Spendings returns what a population has spent, in the order it was spent.
func (s *Store) Spendings(ctx context.Context, population string) ([]Spending, error) {
	return spendings(ctx, s.reader, population)
}

func spendings(ctx context.Context, q query, population string) ([]Spending, error) {
	var all []Spending
	err := each(ctx, q, func(r *sql.Rows) error {
		b := Spending{Population: population}
		var spent sql.NullInt64
		if err := r.Scan(&b.Plan, &b.Publisher, &b.Epsilon, &b.Delta, &b.Adjacency, &b.Users, &b.Method, &b.Note, &spent, &b.Shift, &b.Tail, &b.Dominated); err != nil {
			return err
		}
		b.Spent = unstamp(spent)
		all = append(all, b)
		return nil
	}, `SELECT plan, publisher, epsilon, delta, adjacency, users, method, note, spent, shift, tail, dominated
		FROM spendings WHERE population = $1 ORDER BY spent, plan`, population)
	return all, err
}

const selectPlans = `SELECT plans.name, plans.registered,
	spendings.population, spendings.publisher, spendings.epsilon, spendings.delta, spendings.adjacency, spendings.users, spendings.method, spendings.note, spendings.shift, spendings.tail, spendings.dominated,
	closings.closer, closings.closed, verdicts.released, verdicts.reason, verdicts.decided, withdrawals.name
	FROM plans JOIN spendings ON spendings.plan = plans.name
	LEFT JOIN closings ON closings.plan = plans.name
	LEFT JOIN verdicts ON verdicts.plan = plans.name
	LEFT JOIN withdrawals ON withdrawals.name = plans.name`

func plansWhere(ctx context.Context, q query, where string, args ...any) ([]Plan, error) {
	var all []Plan
	err := each(ctx, q, func(r *sql.Rows) error {
		var p Plan
		var registered, closed, released, decided sql.NullInt64
		var closer, reason, withdrawn sql.NullString
		b := &p.Spending
		if err := r.Scan(&p.Name, &registered,
			&b.Population, &b.Publisher, &b.Epsilon, &b.Delta, &b.Adjacency, &b.Users, &b.Method, &b.Note, &b.Shift, &b.Tail, &b.Dominated,
			&closer, &closed, &released, &reason, &decided, &withdrawn); err != nil {
			return err
		}
		b.Plan, b.Spent = p.Name, unstamp(registered)
		p.Registered, p.Closed, p.Decided = unstamp(registered), unstamp(closed), unstamp(decided)
		p.Closer, p.Released, p.Reason, p.Withdrawn = closer.String, released.Int64 == 1, reason.String, withdrawn.Valid
		all = append(all, p)
		return nil
	}, selectPlans+" "+where, args...)
	return all, err
}

// Plans returns every plan, in the order of registration.
func (s *Store) Plans(ctx context.Context) ([]Plan, error) {
	return plansWhere(ctx, s.reader, "ORDER BY plans.registered, plans.name")
}

// Plan finds a plan by name, or returns ErrUnknown.
func (s *Store) Plan(ctx context.Context, name string) (Plan, error) {
	return planNamed(ctx, s.reader, name)
}

// Signed returns a plan with its publishers' newest signatures, as it came, or ErrUnknown. It may
// have megabytes, which is why nothing else reads it.
func (s *Store) Signed(ctx context.Context, name string) ([]byte, error) {
	var signed []byte
	switch err := s.reader.QueryRowContext(ctx, selectSigned, name).Scan(&signed); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: no plan %s is registered", ErrUnknown, name)
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	}
	return signed, nil
}

func planNamed(ctx context.Context, q query, name string) (Plan, error) {
	found, err := plansWhere(ctx, q, "WHERE plans.name = $1", name)
	switch {
	case err != nil:
		return Plan{}, err
	case len(found) == 0:
		return Plan{}, fmt.Errorf("%w: no plan %s is registered", ErrUnknown, name)
	}
	return found[0], nil
}
