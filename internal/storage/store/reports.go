package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Upload is a report as it came to the leader.
type Upload struct {
	Plan       string
	Respondent [32]byte
	ID         [16]byte
	Crowd      int
	Body       []byte
}

// Take writes reports in one step. It says of each what is wrong with it: ErrTaken where
// another one of its respondent or with its name is there, ErrClosed where the plan takes
// no more. The same one again is fine.
func (s *Sums) Take(ctx context.Context, all []Upload) ([]error, error) {
	var wrong []error
	err := s.db.write(ctx, "take", func(tx *sql.Tx) (err error) {
		insert := tx.StmtContext(ctx, s.take)
		var files *appending
		if s.bodies != nil {
			files = s.bodies.begin()
			defer func() { files.close(err != nil) }()
		}
		wrong = make([]error, len(all)) // of this attempt
		open := map[string]bool{}
		for i, u := range all {
			if _, known := open[u.Plan]; !known {
				if open[u.Plan], err = exists(ctx, tx, "SELECT 1 FROM served WHERE name = $1 AND closed = 0", u.Plan); err != nil {
					return err
				}
			}
			if !open[u.Plan] {
				wrong[i] = ErrClosed
				continue
			}
			row, at := u.Body, place{}
			if files != nil {
				row = []byte{}
				if at, err = files.next(u.Plan, u.Body); err != nil {
					return err
				}
			}
			r, err := insert.ExecContext(ctx, u.Plan, u.Respondent[:], u.ID[:], u.Crowd, row, at.at, at.bytes, int64(at.crc))
			if err != nil {
				return fmt.Errorf("store: %w", err)
			}
			if n, err := r.RowsAffected(); err != nil {
				return fmt.Errorf("store: %w", err)
			} else if n == 1 {
				if files != nil {
					err = files.put(u.Plan, u.Body)
				}
				if err != nil {
					return err
				}
				continue
			}
			_, there, err := s.reports(ctx, tx, u.Plan, "respondent = $2 OR id = $3", u.Respondent[:], u.ID[:])
			switch {
			case errors.Is(err, ErrReports):
				wrong[i] = err
			case err != nil:
				return err
			case len(there) != 1 || !bytes.Equal(there[0], u.Body):
				wrong[i] = ErrTaken
			}
		}
		if files != nil {
			return files.sync()
		}
		return nil
	})
	return wrong, err
}

// reports returns the jobs and bodies of a plan's reports that a condition names, in the order of
// their names.
func (s *Sums) reports(ctx context.Context, q query, plan, condition string, args ...any) (jobs []int, found [][]byte, err error) {
	var places []place
	var where []int
	err = each(ctx, q, func(r *sql.Rows) error {
		var job int
		var body []byte
		var p place
		if err := r.Scan(&job, &body, &p.at, &p.bytes, &p.crc); err != nil {
			return err
		}
		if p.bytes > 0 {
			where, places = append(where, len(found)), append(places, p)
		}
		jobs, found = append(jobs, job), append(found, body)
		return nil
	}, "SELECT job, body, place, bytes, crc FROM reports WHERE plan = $1 AND ("+condition+") ORDER BY id", append([]any{plan}, args...)...)
	if err != nil || len(places) == 0 {
		return jobs, found, err
	}
	lying, err := s.bodies.read(plan, places...)
	if err != nil {
		return nil, nil, err
	}
	for i, body := range lying {
		found[where[i]] = body
	}
	return jobs, found, nil
}

// Damaged reads every report that waits and names the plans of those that are not what was
// kept. In rows they are the database's to look after.
func (s *Sums) Damaged(ctx context.Context) (plans []string, err error) {
	if s.bodies == nil {
		return nil, nil
	}
	return s.bodies.damaged(ctx, s.db.reader)
}

// Reports returns how many reports of a crowd have come.
func (s *Sums) Reports(ctx context.Context, plan string, crowd int) (n int, err error) {
	err = each(ctx, s.db.reader, func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT COUNT(*) FROM reports WHERE plan = $1 AND crowd = $2", plan, crowd)
	return n, err
}

// Job returns the reports of a crowd that are to be added next, in the order of their names,
// at most so many, and the number that they have together. Asked again before Add, they
// are the same. None are left where there are none.
func (s *Sums) Job(ctx context.Context, plan string, crowd, most int) (number int, bodies [][]byte, err error) {
	find := func(q query) (err error) {
		var jobs []int
		jobs, bodies, err = s.reports(ctx, q, plan, "crowd = $2 AND job > 0", crowd)
		if len(jobs) > 0 {
			number = jobs[0]
		}
		return err
	}
	if err := find(s.db.reader); err != nil || len(bodies) > 0 {
		return number, bodies, err
	}
	err = s.db.write(ctx, "job", func(tx *sql.Tx) error {
		if err := execArgs(ctx, tx, `UPDATE reports SET job = (SELECT 1 - MIN(job) FROM reports WHERE plan = $1 AND crowd = $2)
			WHERE plan = $1 AND id IN (SELECT id FROM reports WHERE plan = $1 AND crowd = $2 AND job = 0 ORDER BY id LIMIT $3)`, plan, crowd, most); err != nil {
			return err
		}
		return find(tx)
	})
	return number, bodies, err
}
