package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// The budget ledger is a chain: beside each spending stands its number and a
// SHA-256 over it and all before. A file elsewhere, beside a SQLite file or wherever
// Config.Ledger says, says how far the chain has come, so that a database that lost its end,
// or is an older copy, does not spend again what was spent.

// ErrLedger is the error of a ledger in which something is changed or missing.
var ErrLedger = errors.New("store: the budget ledger is damaged or shorter than it was, so that nothing can be spent: restore the newest backup; docs/damaged-disks.md says what to do where there is none")

const (
	ledgerVersion = 3 // of the migration
	ledgerTitle   = "confetti-ledger/v1"
)

// link returns the point behind a spending.
func link(before hashchain.Point, s Spending) (hashchain.Point, error) {
	fields := []any{s.Plan, s.Population, s.Publisher, math.Float64bits(s.Epsilon), math.Float64bits(s.Delta), s.Adjacency, s.Users, s.Method, s.Note, stamp(s.Spent)}
	if s.Dominated != "" { // rows of earlier versions have none, and the digest that they had
		fields = append(fields, math.Float64bits(s.Shift), math.Float64bits(s.Tail), s.Dominated)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return hashchain.Point{}, fmt.Errorf("store: %w", err)
	}
	walk := hashchain.Walk{End: before}
	_, _, err = walk.Group(append(before.Append(nil), text...))
	return walk.End, err
}

const ledgerRows = `SELECT spendings.plan, spendings.population, spendings.publisher, spendings.epsilon, spendings.delta, spendings.adjacency,
	spendings.users, spendings.method, spendings.note, spendings.spent, spendings.shift, spendings.tail, spendings.dominated, links.number, links.digest
	FROM spendings LEFT JOIN links ON links.plan = spendings.plan ORDER BY links.number`

// ledger goes along the chain and returns its end, or ErrLedger.
func (s *Store) ledger(ctx context.Context, q query) (hashchain.Point, error) {
	known := s.known()
	end := hashchain.Begin(ledgerTitle)
	wrong := ""
	err := each(ctx, q, func(r *sql.Rows) error {
		var b Spending
		var spent, number sql.NullInt64
		var digest []byte
		if err := r.Scan(&b.Plan, &b.Population, &b.Publisher, &b.Epsilon, &b.Delta, &b.Adjacency, &b.Users, &b.Method, &b.Note, &spent, &b.Shift, &b.Tail, &b.Dominated, &number, &digest); err != nil {
			return err
		}
		b.Spent = unstamp(spent)
		next, err := link(end, b)
		if err != nil {
			return err
		}
		if wrong == "" && (!number.Valid || uint64(number.Int64) != next.Number || string(digest) != string(next.Digest[:]) || next.Number == known.Number && next != known) {
			wrong = fmt.Sprintf("its entry %d is another one than it was, or missing", next.Number)
		}
		end = next
		return nil
	}, ledgerRows)
	if err != nil {
		return end, err
	}
	if wrong == "" && end.Number < known.Number {
		wrong = fmt.Sprintf("it has %d entries and had %d", end.Number, known.Number)
	}
	if wrong != "" {
		return end, fmt.Errorf("%w (%s)", ErrLedger, wrong)
	}
	return end, nil
}

// CheckLedger says whether the budget ledger is all there.
func (s *Store) CheckLedger(ctx context.Context) error {
	_, err := s.ledger(ctx, s.reader)
	return err
}

// extend puts a spending at the end of the ledger.
func (s *Store) extend(ctx context.Context, tx *sql.Tx, end hashchain.Point, b Spending) (hashchain.Point, error) {
	next, err := link(end, b)
	if err != nil {
		return end, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO links (number, plan, digest) VALUES ($1, $2, $3)", int64(next.Number), b.Plan, next.Digest[:]); err != nil {
		return end, fmt.Errorf("store: %w", err)
	}
	return next, nil
}

// known returns how far the ledger had come; zero where nothing says so.
func (s *Store) known() (p hashchain.Point) {
	if path := s.end; path != "" {
		if text, err := os.ReadFile(path); err == nil && p.UnmarshalText(text) != nil {
			p = hashchain.Point{} // damaged: the database is the better witness
		}
	}
	return p
}

// reach writes down how far the ledger has come.
func (s *Store) reach(p hashchain.Point) error {
	path := s.end
	if path == "" || p == s.known() {
		return nil
	}
	text, err := p.MarshalText()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := atomicfile.Replace(path, text, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// mendEnd writes down how far the ledger has come where that was lost or damaged. A
// ledger that is itself damaged is left as it is: it says so when it is asked.
func (s *Store) mendEnd(ctx context.Context) error {
	end, err := s.ledger(ctx, s.writer)
	if errors.Is(err, ErrLedger) || err == nil && end.Number == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return s.reach(end)
}

// chained makes the table of links, and links what was spent before there was one.
func (k kind) chained(ctx context.Context, tx *sql.Tx) error {
	if err := execute(ctx, tx, []string{"CREATE TABLE links (number BIGINT NOT NULL PRIMARY KEY, plan TEXT NOT NULL UNIQUE REFERENCES spendings (plan), digest BYTEA NOT NULL)"}); err != nil {
		return err
	}
	var earlier []Spending
	err := each(ctx, tx, func(r *sql.Rows) error {
		var b Spending
		var spent sql.NullInt64
		if err := r.Scan(&b.Plan, &b.Population, &b.Publisher, &b.Epsilon, &b.Delta, &b.Adjacency, &b.Users, &b.Method, &b.Note, &spent); err != nil {
			return err
		}
		b.Spent = unstamp(spent)
		earlier = append(earlier, b)
		return nil
	}, "SELECT plan, population, publisher, epsilon, delta, adjacency, users, method, note, spent FROM spendings ORDER BY spent, plan")
	if err != nil {
		return err
	}
	end := hashchain.Begin(ledgerTitle)
	for _, b := range earlier {
		if end, err = (&Store{}).extend(ctx, tx, end, b); err != nil {
			return err
		}
	}
	return execute(ctx, tx, k.guardTable("links", true))
}

func (k kind) unchained(ctx context.Context, tx *sql.Tx) error {
	statements := []string{"DROP TABLE links"}
	if k == postgres {
		for _, verb := range []string{"update", "delete", "truncate"} {
			statements = append(statements, "DROP FUNCTION links_no_"+verb)
		}
	}
	return execute(ctx, tx, statements)
}

// Check reads the whole of a SQLite database for damage, which takes as long as
// reading it does; PostgreSQL has checks of its own. Then it checks the ledger.
func (s *Store) Check(ctx context.Context) error {
	if s.kind == sqlite {
		if err := s.integrity(ctx, s.reader); err != nil {
			return err
		}
	}
	return s.CheckLedger(ctx)
}

// integrity compares indexes with their tables too, which quick_check leaves out: a plan
// whose key is flipped in an index is not found, as if it had never been registered.
func (s *Store) integrity(ctx context.Context, q query) error {
	verdict := ""
	err := q.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict)
	if err == nil && verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if err != nil {
		return fmt.Errorf("store: check: %w", err)
	}
	return nil
}

// ErrDamaged is the error of a SQLite file that is damaged.
var ErrDamaged = errors.New("store: the database is damaged: restore the newest backup into a new file (confetti analyzer restore; docs/damaged-disks.md)")
