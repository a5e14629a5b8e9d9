package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// Batch is the mark of a batch that was counted: there is one for each instance
// and crowd of a plan.
type Batch struct {
	Plan        string
	Instance    int
	Crowd       int
	SHA256      [sha256.Size]byte // of the batch as it came
	Receipts    []byte            // of all hops, as they came
	Respondents int
	Smallest    int // whole contributions that were counted
	Dropped     int // envelopes that were not
	Counted     time.Time
}

// sum returns the CRC-32C of the mark. Marks that were written before there was one have
// NULL in its place.
func (b Batch) sum() int64 {
	return int64(crc32.Checksum(fmt.Appendf(nil, "%q %d %d %x %x %d %d %d %d", b.Plan, b.Instance, b.Crowd, b.SHA256, b.Receipts, b.Respondents, b.Smallest, b.Dropped, stamp(b.Counted)), castagnoli))
}

// Taken finds out whether a batch may be counted: New if so, Again if this very
// batch was counted before, ErrTaken if another one of its instance and crowd was,
// ErrClosed or ErrUnknown if the plan takes none. It spares the work of opening;
// Count asks again.
func (s *Store) Taken(ctx context.Context, b Batch) (Outcome, error) {
	return taken(ctx, s.reader, b)
}

func taken(ctx context.Context, q query, b Batch) (Outcome, error) {
	var digest []byte
	switch err := q.QueryRowContext(ctx, "SELECT sha256 FROM batches WHERE plan = $1 AND instance = $2 AND crowd = $3",
		b.Plan, b.Instance, b.Crowd).Scan(&digest); {
	case err == nil && bytes.Equal(digest, b.SHA256[:]):
		return Again, nil
	case err == nil:
		return Failed, fmt.Errorf("%w: another batch of instance %d and crowd %d was counted: there is one of each", ErrTaken, b.Instance+1, b.Crowd+1)
	case !errors.Is(err, sql.ErrNoRows):
		return Failed, fmt.Errorf("store: %w", err)
	}
	p, err := planNamed(ctx, q, b.Plan)
	switch {
	case err != nil:
		return Failed, err
	case !p.Closed.IsZero():
		return Failed, fmt.Errorf("%w: batches that come later are not counted", ErrClosed)
	}
	return New, nil
}

// Count writes a batch's mark, receipts and encoded tally, all or nothing. Errors and
// outcomes are those of Taken.
func (s *Store) Count(ctx context.Context, b Batch, tally []byte) (Outcome, error) {
	var outcome Outcome
	err := s.write(ctx, "count", func(tx *sql.Tx) error {
		var err error
		if outcome, err = taken(ctx, tx, b); outcome != New {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO batches (plan, instance, crowd, sha256, receipts, respondents, smallest, dropped, counted, crc)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			b.Plan, b.Instance, b.Crowd, b.SHA256[:], b.Receipts, b.Respondents, b.Smallest, b.Dropped, stamp(b.Counted), b.sum()); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return insertTally(ctx, tx, b, tally)
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

func insertTally(ctx context.Context, tx *sql.Tx, b Batch, tally []byte) error {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO counts (plan, instance, crowd, part, body, crc) VALUES ($1, $2, $3, $4, $5, $6)")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer insert.Close()
	part := 0
	for body := range slices.Chunk(tally, partLength) {
		if _, err := insert.ExecContext(ctx, b.Plan, b.Instance, b.Crowd, part, body, partSum(b, part, body)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		part++
	}
	return nil
}

// Digest returns the SHA-256 of the batch that was counted of an instance and crowd.
func (s *Store) Digest(ctx context.Context, plan string, instance, crowd int) (digest [sha256.Size]byte, there bool, err error) {
	var found []byte
	err = s.reader.QueryRowContext(ctx, "SELECT sha256 FROM batches WHERE plan = $1 AND instance = $2 AND crowd = $3", plan, instance, crowd).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return digest, false, nil
	}
	if err != nil {
		return digest, false, fmt.Errorf("store: %w", err)
	}
	return digest, copy(digest[:], found) == len(digest), nil
}

// CheckPlan reads all that there is of a plan's batches, and compares it with its
// checksums. The plan itself is checked by its signature.
func (s *Store) CheckPlan(ctx context.Context, plan string) error {
	if _, err := s.Batches(ctx, plan); err != nil {
		return err
	}
	return each(ctx, s.reader, func(r *sql.Rows) error {
		b := Batch{Plan: plan}
		var part int
		var body sql.RawBytes
		var crc sql.NullInt64
		if err := r.Scan(&b.Instance, &b.Crowd, &part, &body, &crc); err != nil {
			return err
		}
		if crc.Valid && crc.Int64 != partSum(b, part, body) {
			return fmt.Errorf("%w: a part of a tally has changed", ErrDamaged)
		}
		return nil
	}, "SELECT instance, crowd, part, body, crc FROM counts WHERE plan = $1", plan)
}

// Batches lists the batches of a plan that were counted, by crowd and instance.
func (s *Store) Batches(ctx context.Context, plan string) ([]Batch, error) {
	var all []Batch
	err := each(ctx, s.reader, func(r *sql.Rows) error {
		b := Batch{Plan: plan}
		var digest []byte
		var counted, crc sql.NullInt64
		if err := r.Scan(&b.Instance, &b.Crowd, &digest, &b.Receipts, &b.Respondents, &b.Smallest, &b.Dropped, &counted, &crc); err != nil {
			return err
		}
		if copy(b.SHA256[:], digest) != len(digest) || len(digest) != len(b.SHA256) {
			return errors.New("a batch's digest is damaged: restore a backup")
		}
		b.Counted = unstamp(counted)
		if crc.Valid && crc.Int64 != b.sum() {
			return fmt.Errorf("%w: the mark of a batch has changed", ErrDamaged)
		}
		all = append(all, b)
		return nil
	}, `SELECT instance, crowd, sha256, receipts, respondents, smallest, dropped, counted, crc
		FROM batches WHERE plan = $1 ORDER BY crowd, instance`, plan)
	return all, err
}

// Tally reads the encoding of a batch's tally. Parts that are missing at its end are
// for its decoder to notice.
func (s *Store) Tally(ctx context.Context, b Batch) ([]byte, error) {
	var tally []byte
	next := 0
	err := each(ctx, s.reader, func(r *sql.Rows) error {
		var part int
		var body sql.RawBytes
		var crc sql.NullInt64
		if err := r.Scan(&part, &body, &crc); err != nil {
			return err
		}
		if part != next || crc.Valid && crc.Int64 != partSum(b, part, body) {
			return fmt.Errorf("%w: a part of a tally has changed or is missing", ErrDamaged)
		}
		next++
		tally = append(tally, body...)
		return nil
	}, "SELECT part, body, crc FROM counts WHERE plan = $1 AND instance = $2 AND crowd = $3 ORDER BY part", b.Plan, b.Instance, b.Crowd)
	return tally, err
}

// Expire deletes tallies, receipts and marks of plans that were decided before
// the given time; releases, verdicts and the ledger stay. It returns how many
// batches went. Their bytes go too: SQLite overwrites them, and its log is emptied
// as soon as nobody reads it; PostgreSQL is told to reclaim them.
func (s *Store) Expire(ctx context.Context, before time.Time) (int, error) {
	var gone int64
	err := s.write(ctx, "expire", func(tx *sql.Tx) error {
		const old = " WHERE plan IN (SELECT plan FROM verdicts WHERE decided < $1)"
		if _, err := tx.ExecContext(ctx, "DELETE FROM counts"+old, stamp(before)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		r, err := tx.ExecContext(ctx, "DELETE FROM batches"+old, stamp(before))
		if err == nil {
			gone, err = r.RowsAffected()
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if s.kind == postgres && gone == 0 {
		return 0, nil
	}
	return int(gone), s.reclaim(ctx, "counts, batches") // also for what an earlier reader was in the way of
}

// reclaim overwrites what deleted rows of tables have left behind.
func (s *Store) reclaim(ctx context.Context, tables string) error {
	reclaim := "PRAGMA wal_checkpoint(TRUNCATE)"
	if s.kind == postgres {
		reclaim = "VACUUM " + tables
	}
	if _, err := s.writer.ExecContext(ctx, reclaim); err != nil {
		return fmt.Errorf("store: the rows are deleted, their bytes are not reclaimed yet: %w", err)
	}
	return nil
}
