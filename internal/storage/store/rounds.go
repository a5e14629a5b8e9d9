package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

const roundsVersion = 8 // of the migration

// roundTables are those of studies: the public states that plans name, what follows a
// concluded round, and which of those have come to every service.
var roundTables = []string{"states", "rounds", "announcements"}

func (k kind) studied(ctx context.Context, tx *sql.Tx) error {
	statements := []string{
		"CREATE TABLE states (name TEXT NOT NULL PRIMARY KEY, body BYTEA NOT NULL)",
		"CREATE TABLE rounds (plan TEXT NOT NULL PRIMARY KEY REFERENCES plans (name), signed BYTEA NOT NULL, reason TEXT NOT NULL, written BIGINT NOT NULL)",
		"CREATE TABLE announcements (plan TEXT NOT NULL PRIMARY KEY REFERENCES rounds (plan), announced BIGINT NOT NULL)",
	}
	for _, table := range roundTables {
		statements = append(statements, k.guardTable(table, true)...)
	}
	return execute(ctx, tx, statements)
}

func (k kind) unstudied(ctx context.Context, tx *sql.Tx) error {
	statements := []string{"DROP TABLE announcements", "DROP TABLE rounds", "DROP TABLE states"}
	if k == postgres {
		for _, table := range roundTables {
			for _, verb := range []string{"update", "delete", "truncate"} {
				statements = append(statements, "DROP FUNCTION "+table+"_no_"+verb)
			}
		}
	}
	return execute(ctx, tx, statements)
}

// Round is a number in a study; the zero value is none.
type Round struct {
	Study  string
	Number int
}

// ErrRound: another plan is the round of that number, for good.
var ErrRound = errors.New("store: another plan is that round of its study")

// number keeps which plan a round is, once, in the transaction that takes the plan up. Where
// another plan has the number, it returns ErrRound.
func number(ctx context.Context, tx *sql.Tx, table string, r Round, plan string) error {
	if r == (Round{}) {
		return nil
	}
	var there string
	switch err := tx.QueryRowContext(ctx, "SELECT plan FROM "+table+" WHERE study = $1 AND number = $2", r.Study, r.Number).Scan(&there); {
	case errors.Is(err, sql.ErrNoRows):
		return execArgs(ctx, tx, "INSERT INTO "+table+" (study, number, plan) VALUES ($1, $2, $3)", r.Study, r.Number, plan)
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case there != plan:
		return fmt.Errorf("%w: round %d is plan %s", ErrRound, r.Number, there)
	}
	return nil
}

// Rounds returns the plans that the registered rounds of a study are, by number.
func (s *Store) Rounds(ctx context.Context, study string) (map[int]string, error) {
	return roundsOf(ctx, s.reader, study)
}

func roundsOf(ctx context.Context, q query, study string) (map[int]string, error) {
	all := map[int]string{}
	err := each(ctx, q, func(r *sql.Rows) error {
		var number int
		var plan string
		err := r.Scan(&number, &plan)
		all[number] = plan
		return err
	}, "SELECT number, plan FROM numbered WHERE study = $1", study)
	return all, err
}

const numberedVersion = 11 // of the migration

// numbered makes the table that says which plan a round of a study is, and fills it with the
// plans that are here: of several with one number, the first that came.
func (k kind) numbered(ctx context.Context, tx *sql.Tx) error {
	statements := []string{"CREATE TABLE numbered (study TEXT NOT NULL, number BIGINT NOT NULL, plan TEXT NOT NULL REFERENCES plans (name), PRIMARY KEY (study, number))"}
	if err := execute(ctx, tx, append(statements, k.guardTable("numbered", true)...)); err != nil {
		return err
	}
	var names []string
	var rounds []Round
	err := each(ctx, tx, func(r *sql.Rows) error {
		var name string
		var text []byte
		if err := r.Scan(&name, &text); err != nil {
			return err
		}
		// A plan that cannot be read is no round: the analyzer says so wherever it is needed.
		if signed, err := plan.ParseSigned(text); err == nil && signed.Plan.Round != nil {
			names, rounds = append(names, name), append(rounds, Round{signed.Plan.Round.Study, signed.Plan.Round.Number})
		}
		return nil
	}, "SELECT name, signed FROM plans ORDER BY registered, name")
	for i, name := range names {
		if err == nil {
			err = number(ctx, tx, "numbered", rounds[i], name)
		}
		if errors.Is(err, ErrRound) {
			err = nil
		}
	}
	return err
}

func (k kind) unnumbered(ctx context.Context, tx *sql.Tx) error {
	statements := []string{"DROP TABLE numbered"}
	if k == postgres {
		for _, verb := range []string{"update", "delete", "truncate"} {
			statements = append(statements, "DROP FUNCTION numbered_no_"+verb)
		}
	}
	return execute(ctx, tx, statements)
}

// Next is what follows a concluded round of a study: another one, or the study's end.
type Next struct {
	Signed    []byte // of the next round; empty where the study is over
	Reason    string // why the study is over
	Written   time.Time
	Announced time.Time // when every service had the next round, or the end was noted; zero: not yet
}

// KeepState keeps a public state under its name, the SHA-256 of its bytes in hex.
func (s *Store) KeepState(ctx context.Context, body []byte) error {
	return s.write(ctx, "state", func(tx *sql.Tx) error { return keepState(ctx, tx, body) })
}

func keepState(ctx context.Context, tx *sql.Tx, body []byte) error {
	name := stateName(body)
	if there, err := exists(ctx, tx, "SELECT 1 FROM states WHERE name = $1", name); err != nil || there {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO states (name, body) VALUES ($1, $2)", name, body); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func stateName(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// State returns a public state by its name, or ErrUnknown. What does not have the name's
// digest is not handed out.
func (s *Store) State(ctx context.Context, name string) (body []byte, err error) {
	switch err := s.reader.QueryRowContext(ctx, "SELECT body FROM states WHERE name = $1", name).Scan(&body); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: there is no state %s", ErrUnknown, name)
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	}
	if stateName(body) != name {
		return nil, fmt.Errorf("%w: a public state is another one than its name says: restore a backup", ErrDamaged)
	}
	return body, nil
}

// Follow writes what follows a concluded round, with the state that the next one names;
// nil: it names none, or one that is here. What was written first stays: Again.
func (s *Store) Follow(ctx context.Context, round string, n Next, state []byte) (Outcome, error) {
	outcome := New
	err := s.write(ctx, "follow", func(tx *sql.Tx) error {
		if there, err := exists(ctx, tx, "SELECT 1 FROM rounds WHERE plan = $1", round); err != nil || there {
			outcome = Again
			return err
		}
		if state != nil {
			if err := keepState(ctx, tx, state); err != nil {
				return err
			}
		}
		signed := n.Signed
		if signed == nil {
			signed = []byte{}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO rounds (plan, signed, reason, written) VALUES ($1, $2, $3, $4)", round, signed, n.Reason, stamp(n.Written)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Following returns what follows a round, or ErrUnknown where nothing was written yet.
func (s *Store) Following(ctx context.Context, plan string) (n Next, err error) {
	var written, announced sql.NullInt64
	switch err := s.reader.QueryRowContext(ctx, `SELECT rounds.signed, rounds.reason, rounds.written, announcements.announced
		FROM rounds LEFT JOIN announcements ON announcements.plan = rounds.plan WHERE rounds.plan = $1`, plan).Scan(&n.Signed, &n.Reason, &written, &announced); {
	case errors.Is(err, sql.ErrNoRows):
		return n, fmt.Errorf("%w: nothing follows plan %s", ErrUnknown, plan)
	case err != nil:
		return n, fmt.Errorf("store: %w", err)
	}
	n.Written, n.Announced = unstamp(written), unstamp(announced)
	return n, nil
}

// Announced marks that every service has what follows a round.
func (s *Store) Announced(ctx context.Context, plan string, at time.Time) error {
	return s.write(ctx, "announce", func(tx *sql.Tx) error {
		if there, err := exists(ctx, tx, "SELECT 1 FROM announcements WHERE plan = $1", plan); err != nil || there {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO announcements (plan, announced) VALUES ($1, $2)", plan, stamp(at)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
}
