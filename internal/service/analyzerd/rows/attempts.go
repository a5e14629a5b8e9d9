package rows

import (
	"context"
	"errors"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A batch that comes twice at once is dealt to shards by one of the two. Each attempt has a name,
// under which alone it writes; the row of the batch says which attempt stands. What is done in the
// name of another, however late, changes nothing of the one that stands.

// ErrUnderWay is the error of who would deal a batch that somebody deals, or who has lost it.
var ErrUnderWay = errors.New("analyzer: another request deals this batch to shards")

// attempt is the one that stands, as it is written.
type attempt struct {
	Attempt string    `json:"attempt"`
	Held    time.Time `json:"held"`
}

// forGood is until when a batch is held whose shards are there: until they are forgotten.
var forGood = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Attempt names the attempt at a batch that stands; "": nobody has begun.
func (s *Store) Attempt(ctx context.Context, b Batch) (name string, err error) {
	err = s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		var a attempt
		_, err := of(ctx, shelf).read(attemptsTable, b.itself(), &a)
		name = a.Attempt
		return err
	})
	return name, err
}

// Begin lets a batch be dealt in the name of an attempt, which nobody takes from it for some
// time, and returns the name of the attempt that stood before. ErrUnderWay: somebody deals it, or
// its shards are there.
func (s *Store) Begin(ctx context.Context, b Batch, name string, now time.Time, alone time.Duration) (before string, err error) {
	shelf, err := s.made(ctx, b.Plan)
	if err != nil {
		return "", over(err)
	}
	err = shelf.Update(ctx, func(tx keep.Tx) error {
		var a attempt
		there, err := getter(tx.Get).read(attemptsTable, b.itself(), &a)
		before = a.Attempt
		switch {
		case err != nil:
			return err
		case tx.Sealed():
			return errOver
		case there && a.Held.After(now):
			return ErrUnderWay
		}
		return put(tx, attemptsTable, b.itself(), attempt{name, now.Add(alone).UTC()})
	})
	return before, over(err)
}

// Hold keeps others from dealing a batch for some time more. ErrUnderWay: another attempt stands.
func (s *Store) Hold(ctx context.Context, b Batch, name string, until time.Time) error {
	shelf, err := s.made(ctx, b.Plan)
	if err != nil {
		return over(err)
	}
	return over(shelf.Update(ctx, func(tx keep.Tx) error { return hold(tx, b, name, until) }))
}

func hold(tx keep.Tx, b Batch, name string, until time.Time) error {
	var a attempt
	there, err := getter(tx.Get).read(attemptsTable, b.itself(), &a)
	if err == nil && (!there || a.Attempt != name) {
		err = ErrUnderWay
	}
	if err != nil {
		return err
	}
	return put(tx, attemptsTable, b.itself(), attempt{name, until.UTC()})
}
