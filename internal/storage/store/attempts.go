package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// A batch that comes twice at once is dealt to shards by one of the two. Each attempt has a name,
// under which alone it writes; the row of the batch says which attempt stands. What is done in the
// name of another, however late, changes nothing of the one that stands.

// ErrUnderWay is the error of who would deal a batch that somebody deals, or who has lost it.
var ErrUnderWay = errors.New("store: another request deals this batch to shards")

// dealt is until when a batch is held whose shards are there: until they are forgotten.
const dealt = math.MaxInt64

// Attempt names the attempt at a batch that stands; "": nobody has begun, or it was begun by a
// build that named none.
func (s *Store) Attempt(ctx context.Context, b Batch) (name string, err error) {
	return attempt(ctx, s.reader, b)
}

func attempt(ctx context.Context, q query, b Batch) (name string, err error) {
	err = q.QueryRowContext(ctx, "SELECT attempt FROM attempts WHERE plan = $1 AND instance = $2 AND crowd = $3 AND sha256 = $4",
		b.Plan, b.Instance, b.Crowd, b.SHA256[:]).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("store: %w", err)
	}
	return name, nil
}

// Begin lets a batch be dealt in the name of an attempt, which nobody takes from it for some
// time, and returns the name of the attempt that stood before. ErrUnderWay: somebody deals it, or
// its shards are there.
func (s *Store) Begin(ctx context.Context, b Batch, name string, now time.Time, alone time.Duration) (before string, err error) {
	err = s.beside(ctx, func(tx *sql.Tx) error {
		if before, err = attempt(ctx, tx, b); err != nil {
			return err
		}
		return stands(ctx, tx, `INSERT INTO attempts (plan, instance, crowd, sha256, attempt, held) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (plan, instance, crowd, sha256) DO UPDATE SET attempt = excluded.attempt, held = excluded.held WHERE attempts.held <= $7`,
			b.Plan, b.Instance, b.Crowd, b.SHA256[:], name, stamp(now.Add(alone)), stamp(now))
	})
	return before, err
}

// Hold keeps others from dealing a batch for some time more. ErrUnderWay: another attempt stands.
func (s *Store) Hold(ctx context.Context, b Batch, name string, until time.Time) error {
	return s.beside(ctx, func(tx *sql.Tx) error { return hold(ctx, tx, b, name, stamp(until)) })
}

func hold(ctx context.Context, tx *sql.Tx, b Batch, name string, until int64) error {
	return stands(ctx, tx, "UPDATE attempts SET held = $1 WHERE plan = $2 AND instance = $3 AND crowd = $4 AND sha256 = $5 AND attempt = $6",
		until, b.Plan, b.Instance, b.Crowd, b.SHA256[:], name)
}

// stands runs a statement that changes the row of an attempt: ErrUnderWay where another stands.
func stands(ctx context.Context, tx *sql.Tx, statement string, args ...any) error {
	there, err := inserted(ctx, tx, statement, args...)
	if err == nil && !there {
		err = ErrUnderWay
	}
	return err
}
