package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sums/*.sql
var sumsMigrations embed.FS

// Sums is what an aggregator must not lose: the plans that it serves, reports that wait,
// what was added up, and the shares that left. It knows their bytes only. It is safe for
// concurrent use.
type Sums struct {
	db     *Store
	bodies *bodies // of reports, beside a SQLite file; nil: PostgreSQL has them in its rows
	take   *sql.Stmt
}

// SumsFailpoints are the steps that Config.Failpoint is called at: before each transaction
// commits, and after.
var SumsFailpoints = []string{
	"store/body/written", "store/body/synced", "store/body/removed", // of a report, in the file beside a SQLite file
	"store/take", "store/take/committed", // reports
	"store/job", "store/job/committed", // some become one
	"store/add", "store/add/committed", // they are in the sum
	"store/share", "store/share/committed", // what leaves is drawn
	"store/end", "store/end/committed", // reports, and who sent them, are forgotten
}

// ErrSums is the error of an aggregator's database that is damaged. An older copy is no
// remedy: with it noise is drawn again for a sum of which a share has left, and both together tell
// more than the plan promises.
var ErrSums = errors.New("store: the aggregator's database is damaged: have the publishers withdraw its plans, and begin with a new file; never restore a backup of it, which would draw noise again (docs/incidents.md)")

// OpenSums opens an aggregator's database, as Open does an analyzer's.
func OpenSums(ctx context.Context, c Config) (*Sums, error) {
	db := &Store{failpoint: c.Failpoint, turns: "served"}
	s := &Sums{db: db}
	err := db.open(ctx, c.DSN, func() (*goose.Provider, error) {
		files, err := fs.Sub(sumsMigrations, "migrations/sums")
		if err != nil {
			return nil, err
		}
		return goose.NewProvider(db.dialect(), db.writer, files, goose.WithTableName("goose_sums_version"))
	})
	if err == nil && db.kind == sqlite {
		if s.bodies, err = openBodies(db.path+".reports", db.failpoint); err == nil {
			err = db.write(ctx, "sweep", func(tx *sql.Tx) error { return s.bodies.sweep(ctx, tx) })
		}
	}
	if err == nil {
		s.take, err = db.writer.PrepareContext(ctx, "INSERT INTO reports (plan, respondent, id, crowd, job, body, place, bytes, crc) VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8) ON CONFLICT DO NOTHING")
	}
	if errors.Is(err, ErrDamaged) { // whose remedy is the analyzer's
		err = ErrSums
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// Close lets go of the database.
func (s *Sums) Close() error { return errors.Join(s.take.Close(), s.db.Close()) }

// Ready asks the database whether it answers, and its disk whether it takes anything.
func (s *Sums) Ready(ctx context.Context) error { return s.db.Ready(ctx) }

// Served is a plan that an aggregator serves.
type Served struct {
	Name   string
	Signed []byte
	Secret []byte // under which respondents are known; empty once they are forgotten
	Closed bool   // no more reports are taken
	Round  Round  // All leaves it out
}

// Serve writes a plan. One that is there already has its signatures replaced. A round is
// ErrRound where another plan has its number.
func (s *Sums) Serve(ctx context.Context, p Served) error {
	return s.db.write(ctx, "serve", func(tx *sql.Tx) error {
		if err := number(ctx, tx, "served_rounds", p.Round, p.Name); err != nil {
			return err
		}
		return execArgs(ctx, tx, `INSERT INTO served (name, signed, secret, closed) VALUES ($1, $2, $3, 0)
			ON CONFLICT (name) DO UPDATE SET signed = excluded.signed`, p.Name, p.Signed, p.Secret)
	})
}

// All lists the plans that are served.
func (s *Sums) All(ctx context.Context) (all []Served, err error) {
	err = each(ctx, s.db.reader, func(r *sql.Rows) error {
		var p Served
		closed := 0
		if err := r.Scan(&p.Name, &p.Signed, &p.Secret, &closed); err != nil {
			return err
		}
		p.Closed = closed == 1
		all = append(all, p)
		return nil
	}, "SELECT name, signed, secret, closed FROM served ORDER BY name")
	return all, err
}

// End lets a plan take no more reports.
func (s *Sums) End(ctx context.Context, plan string) error {
	return s.db.write(ctx, "close", func(tx *sql.Tx) error {
		return execArgs(ctx, tx, "UPDATE served SET closed = 1 WHERE name = $1", plan)
	})
}

// Forget deletes a plan's reports, and the secret under which respondents were known.
func (s *Sums) Forget(ctx context.Context, plan string) error {
	return s.clean(ctx, "end", plan, func(tx *sql.Tx) error {
		if err := execArgs(ctx, tx, "UPDATE served SET secret = $2 WHERE name = $1", plan, []byte{}); err != nil {
			return err
		}
		return execArgs(ctx, tx, "DELETE FROM reports WHERE plan = $1", plan)
	})
}

// Erase deletes all that there is of a plan, for good: it is never served again. A
// statement, if there is one, is kept as Revoke does.
func (s *Sums) Erase(ctx context.Context, plan string, statement []byte) error {
	return s.clean(ctx, "erase", plan, func(tx *sql.Tx) error {
		for _, table := range []string{"reports", "spent", "answers", "sums", "added", "shares"} {
			if err := execArgs(ctx, tx, "DELETE FROM "+table+" WHERE plan = $1", plan); err != nil {
				return err
			}
		}
		if err := execArgs(ctx, tx, "DELETE FROM served WHERE name = $1", plan); err != nil {
			return err
		}
		if statement != nil {
			if err := revoke(ctx, tx, plan, statement); err != nil {
				return err
			}
		}
		return execArgs(ctx, tx, "INSERT INTO gone (name) VALUES ($1) ON CONFLICT DO NOTHING", plan)
	})
}

// Gone reports whether a plan was erased.
func (s *Sums) Gone(ctx context.Context, plan string) (bool, error) {
	return exists(ctx, s.db.reader, "SELECT 1 FROM gone WHERE name = $1", plan)
}

// Revoke keeps the withdrawal of a plan under a name. The first of a name stays.
func (s *Sums) Revoke(ctx context.Context, name string, statement []byte) error {
	return s.db.write(ctx, "revoke", func(tx *sql.Tx) error { return revoke(ctx, tx, name, statement) })
}

func revoke(ctx context.Context, tx *sql.Tx, name string, statement []byte) error {
	return execArgs(ctx, tx, "INSERT INTO revocations (name, statement) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, statement)
}

// Revocations calls fn for the name and text of every withdrawal that was kept.
func (s *Sums) Revocations(ctx context.Context, fn func(name string, text []byte) error) error {
	return each(ctx, s.db.reader, func(r *sql.Rows) error {
		var name string
		var text []byte
		if err := r.Scan(&name, &text); err != nil {
			return err
		}
		return fn(name, text)
	}, "SELECT name, statement FROM revocations ORDER BY name")
}

// Sum reads what was added up of a crowd, as Add wrote it; nil: nothing yet. ErrSums: it is not
// as it was written.
func (s *Sums) Sum(ctx context.Context, plan string, crowd int) ([]byte, error) {
	return sum(ctx, s.db.reader, plan, crowd)
}

// Share returns what leaves of a crowd at a step, as Keep wrote it; nil: nothing yet.
func (s *Sums) Share(ctx context.Context, plan string, crowd int, step string) ([]byte, error) {
	return one(ctx, s.db.reader, "SELECT body FROM shares WHERE plan = $1 AND crowd = $2 AND step = $3", plan, crowd, step)
}

// Keep writes what leaves of a crowd at a step, made of its sum as it is then, unless it
// is there: it is drawn once. It returns what is there.
func (s *Sums) Keep(ctx context.Context, plan string, crowd int, step string, draw func(sum []byte) ([]byte, error)) (kept []byte, err error) {
	err = s.db.write(ctx, "share", func(tx *sql.Tx) error {
		if kept, err = one(ctx, tx, "SELECT body FROM shares WHERE plan = $1 AND crowd = $2 AND step = $3", plan, crowd, step); err != nil || kept != nil {
			return err
		}
		body, err := sum(ctx, tx, plan, crowd)
		if err != nil {
			return err
		}
		if kept, err = draw(body); err != nil {
			return err
		}
		return execArgs(ctx, tx, "INSERT INTO shares (plan, crowd, step, body) VALUES ($1, $2, $3, $4)", plan, crowd, step, kept)
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// clean is write, after which no byte of what was deleted of a plan, its reports among it, is
// left behind.
func (s *Sums) clean(ctx context.Context, name, plan string, do func(*sql.Tx) error) error {
	if err := s.db.write(ctx, name, do); err != nil {
		return err
	}
	if s.bodies != nil {
		if err := s.bodies.remove(plan); err != nil {
			return err
		}
	}
	return s.db.reclaim(ctx, "reports, served, spent, answers, sums, added, shares")
}

// one returns the only column of the only row, nil where there is none.
func one(ctx context.Context, q query, text string, args ...any) (body []byte, err error) {
	err = q.QueryRowContext(ctx, text, args...).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return body, nil
}

func execArgs(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	if _, err := tx.ExecContext(ctx, text, args...); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// inserted reports whether the statement wrote, or deleted, rows.
func inserted(ctx context.Context, tx *sql.Tx, text string, args ...any) (bool, error) {
	r, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	return n > 0, nil
}

// Add writes what a crowd's sum is with the reports of a job, which are not needed any
// more.
func (s *Sums) Add(ctx context.Context, plan string, crowd, job int, sum Added) error {
	return s.db.write(ctx, "add", func(tx *sql.Tx) error {
		if err := execArgs(ctx, tx, "UPDATE reports SET job = -job, body = $4, bytes = 0 WHERE plan = $1 AND crowd = $2 AND job = $3", plan, crowd, job, []byte{}); err != nil {
			return err
		}
		return keepAdded(ctx, tx, plan, crowd, sum)
	})
}

// Answer returns what the helper answered to the same before; nil: it was not asked.
func (s *Sums) Answer(ctx context.Context, plan string, asked []byte) ([]byte, error) {
	return one(ctx, s.db.reader, "SELECT body FROM answers WHERE plan = $1 AND asked = $2", plan, asked)
}

// AddAnswered adds to a crowd's sum and keeps the answer, in one step. add gets the sum as
// it is, whether anything of the crowd has left, and whether a name is spent for the first
// time. What was answered before stays, and is returned.
func (s *Sums) AddAnswered(ctx context.Context, plan string, crowd int, asked []byte,
	add func(sum []byte, left bool, fresh func(name []byte) (bool, error)) (next Added, answer []byte, err error)) (answer []byte, err error) {
	err = s.db.write(ctx, "add", func(tx *sql.Tx) error {
		if answer, err = one(ctx, tx, "SELECT body FROM answers WHERE plan = $1 AND asked = $2", plan, asked); err != nil || answer != nil {
			return err
		}
		left, err := exists(ctx, tx, "SELECT 1 FROM shares WHERE plan = $1 AND crowd = $2", plan, crowd)
		if err != nil {
			return err
		}
		body, err := sum(ctx, tx, plan, crowd)
		if err != nil {
			return err
		}
		var next Added
		next, answer, err = add(body, left, func(name []byte) (bool, error) {
			return inserted(ctx, tx, "INSERT INTO spent (plan, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", plan, name)
		})
		if err != nil {
			return err
		}
		if err := keepAdded(ctx, tx, plan, crowd, next); err != nil {
			return err
		}
		return execArgs(ctx, tx, "INSERT INTO answers (plan, asked, body) VALUES ($1, $2, $3)", plan, asked, answer)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}
