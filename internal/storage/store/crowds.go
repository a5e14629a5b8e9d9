package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Added is what was added up of a crowd: the bytes of the sum, which the store does not know, and
// what may be told of it.
type Added struct {
	Sum              []byte
	Reports, Refused uint64
}

// Crowd is how far an aggregator has come with a crowd.
type Crowd struct {
	Steps            []string // at which something was kept, as Keep wrote it
	Known            bool     // the numbers are: a build that kept none may have added the sum
	Reports, Refused uint64
}

// Crowds reads how far an aggregator has come with those crowds of a plan of which something was
// added or kept. It reads no sum and no share.
func (s *Sums) Crowds(ctx context.Context, plan string) (map[int]Crowd, error) {
	all := map[int]Crowd{}
	err := each(ctx, s.db.reader, func(r *sql.Rows) error {
		var crowd, reports, refused int64
		err := r.Scan(&crowd, &reports, &refused)
		all[int(crowd)] = Crowd{Known: true, Reports: uint64(reports), Refused: uint64(refused)}
		return err
	}, "SELECT crowd, reports, refused FROM added WHERE plan = $1", plan)
	if err != nil {
		return nil, err
	}
	err = each(ctx, s.db.reader, func(r *sql.Rows) error {
		var crowd int
		var step string
		err := r.Scan(&crowd, &step)
		c := all[crowd]
		c.Steps = append(c.Steps, step)
		all[crowd] = c
		return err
	}, "SELECT crowd, step FROM shares WHERE plan = $1 ORDER BY crowd, step", plan)
	return all, err
}

func keepAdded(ctx context.Context, tx *sql.Tx, plan string, crowd int, a Added) error {
	if err := execArgs(ctx, tx, "INSERT INTO sums (plan, crowd, body) VALUES ($1, $2, $3) ON CONFLICT (plan, crowd) DO UPDATE SET body = excluded.body", plan, crowd, a.Sum); err != nil {
		return err
	}
	return execArgs(ctx, tx, `INSERT INTO added (plan, crowd, reports, refused, crc) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (plan, crowd) DO UPDATE SET reports = excluded.reports, refused = excluded.refused, crc = excluded.crc`,
		plan, crowd, int64(a.Reports), int64(a.Refused), sumOf(plan, crowd, a.Sum))
}

func sumOf(plan string, crowd int, sum []byte) int64 { return partSum(Batch{Plan: plan}, crowd, sum) }

// sum reads what was added up of a crowd, nil where nothing was, and compares it with its checksum.
func sum(ctx context.Context, q query, plan string, crowd int) (body []byte, err error) {
	err = each(ctx, q, func(r *sql.Rows) error {
		var crc sql.NullInt64 // of a build that kept none
		if err := r.Scan(&body, &crc); err != nil {
			return err
		}
		if crc.Valid && crc.Int64 != sumOf(plan, crowd, body) {
			return fmt.Errorf("%w: a sum has changed", ErrSums)
		}
		return nil
	}, "SELECT body, (SELECT crc FROM added WHERE plan = $1 AND crowd = $2) FROM sums WHERE plan = $1 AND crowd = $2", plan, crowd)
	return body, err
}
