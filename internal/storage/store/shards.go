package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A batch that is larger than memory is counted in shards, by any number of processes. Its
// rows are leased without a lock on any table, and each is written once: what belongs to a
// shard is its mark and its tally in one. When all are there, Count adds what they are
// together and deletes them. No backup has them: the hop sends such a batch again.

// Shard is one that is to be counted.
type Shard struct {
	Plan            string
	Instance, Crowd int
	Shard, Shards   int
	SHA256          [sha256.Size]byte // of the batch
	Attempt         string            // in whose name the shard was dealt
}

// ShardCount is what was counted of a shard.
type ShardCount struct {
	Opened, Dropped int
	Tally           []byte
}

// beside runs do in one transaction that other writers need not wait for.
func (s *Store) beside(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer tx.Rollback() // nothing, once committed
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Share has the shards that an attempt has dealt of a batch counted by whoever asks, and lets
// nobody deal it again meanwhile. The same again is no error; one of another batch of the instance
// and crowd is ErrTaken, and where another attempt stands it is ErrUnderWay.
func (s *Store) Share(ctx context.Context, b Batch, name string, shards int) error {
	return s.beside(ctx, func(tx *sql.Tx) error {
		if err := hold(ctx, tx, b, name, dealt); err != nil {
			return err
		}
		for i := range shards {
			_, err := tx.ExecContext(ctx, `INSERT INTO shards (plan, instance, crowd, shard, shards, sha256, attempt, leased) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
				ON CONFLICT (plan, instance, crowd, shard) DO NOTHING`, b.Plan, b.Instance, b.Crowd, i, shards, b.SHA256[:], name, stamp(time.Now()))
			if err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		_, err := shared(ctx, tx, b)
		return err
	})
}

// Shared is a batch whose shards are there to count; the zero value: they are not.
type Shared struct {
	Attempt      string // in whose name they were dealt
	All, Counted int
}

// shared reads how many shards a batch has, and how many of them are counted.
func shared(ctx context.Context, q query, b Batch) (sh Shared, err error) {
	err = each(ctx, q, func(r *sql.Rows) error {
		var digest []byte
		var done bool
		if err := r.Scan(&sh.All, &sh.Attempt, &digest, &done); err != nil {
			return err
		}
		if !bytes.Equal(digest, b.SHA256[:]) {
			return fmt.Errorf("%w: another batch of instance %d and crowd %d is being counted", ErrTaken, b.Instance+1, b.Crowd+1)
		}
		if done {
			sh.Counted++
		}
		return nil
	}, "SELECT shards, attempt, sha256, body IS NOT NULL FROM shards WHERE plan = $1 AND instance = $2 AND crowd = $3", b.Plan, b.Instance, b.Crowd)
	return sh, err
}

// Shared reads how far a batch is counted.
func (s *Store) Shared(ctx context.Context, b Batch) (Shared, error) {
	return shared(ctx, s.reader, b)
}

// Backlog returns how many shards, of any batch, wait for somebody, how many somebody has leased,
// and since when the one could be taken that waits longest; the zero time: none waits.
func (s *Store) Backlog(ctx context.Context) (ready, leased int, oldest time.Time, err error) {
	var since sql.NullInt64
	err = s.reader.QueryRowContext(ctx, `SELECT COUNT(CASE WHEN leased <= $1 THEN 1 END), COUNT(CASE WHEN leased > $1 THEN 1 END), MIN(CASE WHEN leased <= $1 THEN leased END)
		FROM shards WHERE body IS NULL`, stamp(time.Now())).Scan(&ready, &leased, &since)
	if err != nil {
		return 0, 0, time.Time{}, fmt.Errorf("store: %w", err)
	}
	return ready, leased, unstamp(since), nil
}

// Lease takes a shard that nobody counts, of any batch, for some time; false: there is
// none. Times are the caller's clock: where clocks differ by more than a lease, a shard is
// counted twice, and one of the two counts.
func (s *Store) Lease(ctx context.Context, now time.Time, lease time.Duration) (sh Shard, there bool, err error) {
	skip := ""
	if s.kind == postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	err = s.beside(ctx, func(tx *sql.Tx) error {
		var digest []byte
		err := tx.QueryRowContext(ctx, `UPDATE shards SET leased = $1 WHERE (plan, instance, crowd, shard) IN (
				SELECT plan, instance, crowd, shard FROM shards WHERE body IS NULL AND leased <= $2 ORDER BY plan, instance, crowd, shard LIMIT 1`+skip+`)
			RETURNING plan, instance, crowd, shard, shards, attempt, sha256`,
			stamp(now.Add(lease)), stamp(now)).Scan(&sh.Plan, &sh.Instance, &sh.Crowd, &sh.Shard, &sh.Shards, &sh.Attempt, &digest)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if copy(sh.SHA256[:], digest) != len(digest) || len(digest) != len(sh.SHA256) {
			return fmt.Errorf("%w: a shard's digest", ErrDamaged)
		}
		there = true
		return nil
	})
	return sh, there && err == nil, err
}

// CountShard writes what was counted of a shard, once: false where somebody was the first,
// or the attempt that dealt it does not stand any more.
func (s *Store) CountShard(ctx context.Context, sh Shard, c ShardCount) (fresh bool, err error) {
	err = s.beside(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `UPDATE shards SET opened = $1, dropped = $2, body = $3, crc = $4
			WHERE plan = $5 AND instance = $6 AND crowd = $7 AND shard = $8 AND shards = $9 AND sha256 = $10 AND attempt = $11 AND body IS NULL`,
			c.Opened, c.Dropped, c.Tally, sh.sum(c), sh.Plan, sh.Instance, sh.Crowd, sh.Shard, sh.Shards, sh.SHA256[:], sh.Attempt)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		n, err := r.RowsAffected()
		fresh = n == 1
		return err
	})
	return fresh && err == nil, err
}

// sum returns the CRC-32C of a shard's row.
func (sh Shard) sum(c ShardCount) int64 {
	return partSum(Batch{Plan: sh.Plan, Instance: sh.Instance, Crowd: sh.Crowd}, sh.Shard, append(fmt.Appendf(nil, "%d %d ", c.Opened, c.Dropped), c.Tally...))
}

// ShardCounts gives what was counted of each shard that an attempt dealt, in their order.
func (s *Store) ShardCounts(ctx context.Context, b Batch, name string, fn func(ShardCount) error) error {
	return each(ctx, s.reader, func(r *sql.Rows) error {
		sh := Shard{Plan: b.Plan, Instance: b.Instance, Crowd: b.Crowd}
		var c ShardCount
		var crc int64
		if err := r.Scan(&sh.Shard, &c.Opened, &c.Dropped, &c.Tally, &crc); err != nil {
			return err
		}
		if crc != sh.sum(c) {
			return fmt.Errorf("%w: the tally of a shard has changed", ErrDamaged)
		}
		return fn(c)
	}, "SELECT shard, opened, dropped, body, crc FROM shards WHERE plan = $1 AND instance = $2 AND crowd = $3 AND attempt = $4 AND body IS NOT NULL ORDER BY shard", b.Plan, b.Instance, b.Crowd, name)
}

// Unshare forgets an attempt at a batch, and the shards that it dealt: the batch is counted, or
// refused, or must be sent again. It reports whether the attempt stood.
func (s *Store) Unshare(ctx context.Context, b Batch, name string) (stood bool, err error) {
	err = s.beside(ctx, func(tx *sql.Tx) error {
		for _, table := range []string{"shards", "attempts"} {
			there, err := inserted(ctx, tx, "DELETE FROM "+table+" WHERE plan = $1 AND instance = $2 AND crowd = $3 AND sha256 = $4 AND attempt = $5", b.Plan, b.Instance, b.Crowd, b.SHA256[:], name)
			if err != nil {
				return err
			}
			stood = stood || there
		}
		return nil
	})
	return stood, err
}

// Unfinished names the plans that take no batches any more and have shards still.
func (s *Store) Unfinished(ctx context.Context) (plans []string, err error) {
	err = each(ctx, s.reader, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		plans = append(plans, name)
		return err
	}, "SELECT plan FROM closings WHERE plan IN (SELECT plan FROM shards) OR plan IN (SELECT plan FROM attempts)")
	return plans, err
}

// Finish forgets the shards of a plan, what was counted of them, and attempts at others.
func (s *Store) Finish(ctx context.Context, plan string) error {
	return s.beside(ctx, func(tx *sql.Tx) error {
		if err := execArgs(ctx, tx, "DELETE FROM shards WHERE plan = $1", plan); err != nil {
			return err
		}
		return execArgs(ctx, tx, "DELETE FROM attempts WHERE plan = $1", plan)
	})
}
