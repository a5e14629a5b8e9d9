package rows

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
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

// mark is a batch as it is written.
type mark struct {
	SHA256      string    `json:"sha256"`
	Receipts    []byte    `json:"receipts"`
	Respondents int       `json:"respondents"`
	Smallest    int       `json:"smallest"`
	Dropped     int       `json:"dropped"`
	Counted     time.Time `json:"counted"`
	Tally       body      `json:"tally"`
}

// at returns where the mark of a batch is.
func (b Batch) at() string { return place(b.Crowd, b.Instance) }

// itself returns where the attempt to count a batch is.
func (b Batch) itself() string { return fmt.Sprintf("%s/%x", b.at(), b.SHA256) }

// tally returns where a tally of a batch is: what another process counts otherwise lies elsewhere.
func (b Batch) tally(known body) string { return b.itself() + "/" + known.SHA256 }

func (b Batch) mark(tally []byte) mark {
	return mark{hex.EncodeToString(b.SHA256[:]), b.Receipts, b.Respondents, b.Smallest, b.Dropped, b.Counted.UTC().Truncate(time.Microsecond), bodyOf(tally)}
}

// batch returns what a mark says, which stands at a key.
func (m mark) batch(plan, key string) (b Batch, err error) {
	b = Batch{Plan: plan, Receipts: m.Receipts, Respondents: m.Respondents, Smallest: m.Smallest, Dropped: m.Dropped, Counted: m.Counted}
	if _, err = fmt.Sscanf(key, "%d/%d", &b.Crowd, &b.Instance); err == nil {
		b.SHA256, err = digestOf(m.SHA256)
	}
	if err != nil {
		err = fmt.Errorf("%w: the mark of a batch is none", keep.ErrDamaged)
	}
	return b, err
}

// digestOf reads a SHA-256 in hex.
func digestOf(text string) (digest [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(text)
	if err == nil && copy(digest[:], b) != len(b) || len(b) != len(digest) {
		err = hex.ErrLength
	}
	return digest, err
}

// Taken finds out whether a batch may be counted: New if so, Again if this very
// batch was counted before, ErrTaken if another one of its instance and crowd was,
// ErrClosed or ErrUnknown if the plan takes none. It spares the work of opening;
// Count asks again.
func (s *Store) Taken(ctx context.Context, b Batch) (outcome Outcome, err error) {
	outcome = New
	if err := s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		outcome, err = b.taken(of(ctx, shelf))
		return err
	}); err != nil || outcome == Again {
		return outcome, err
	}
	p, err := s.Plan(ctx, b.Plan)
	switch {
	case err != nil:
		return Failed, err
	case !p.Closed.IsZero():
		return Failed, errOver
	}
	return New, nil
}

var errOver = fmt.Errorf("%w: batches that come later are not counted", ErrClosed)

// taken compares a batch with the one that was counted.
func (b Batch) taken(get getter) (Outcome, error) {
	var m mark
	there, err := get.read(marksTable, b.at(), &m)
	switch {
	case err != nil:
		return Failed, err
	case !there:
		return New, nil
	case m.SHA256 == hex.EncodeToString(b.SHA256[:]):
		return Again, nil
	}
	return Failed, fmt.Errorf("%w: another batch of instance %d and crowd %d was counted: there is one of each", ErrTaken, b.Instance+1, b.Crowd+1)
}

// Count writes a batch's mark, receipts and encoded tally, all or nothing. Errors and
// outcomes are those of Taken.
func (s *Store) Count(ctx context.Context, b Batch, tally []byte) (Outcome, error) {
	outcome, err := s.Taken(ctx, b)
	if err != nil || outcome == Again {
		return outcome, err
	}
	shelf, err := s.made(ctx, b.Plan)
	if err != nil {
		return Failed, over(err)
	}
	err = s.writeParts(ctx, shelf, "count", []content{{talliesTable, b.tally(bodyOf(tally)), tally}}, func(tx keep.Tx) (bool, error) {
		if outcome, err = b.taken(tx.Get); outcome != New {
			return false, err
		}
		if tx.Sealed() {
			return false, errOver
		}
		return true, put(tx, marksTable, b.at(), b.mark(tally))
	})
	if err != nil {
		return Failed, over(err)
	}
	return outcome, nil
}

// Digest returns the SHA-256 of the batch that was counted of an instance and crowd.
func (s *Store) Digest(ctx context.Context, plan string, instance, crowd int) (digest [sha256.Size]byte, there bool, err error) {
	err = s.on(ctx, plan, func(shelf keep.Shelf) error {
		var m mark
		var b Batch
		at := place(crowd, instance)
		if there, err = of(ctx, shelf).read(marksTable, at, &m); err != nil || !there {
			return err
		}
		b, err = m.batch(plan, at)
		digest = b.SHA256
		return err
	})
	return digest, there, err
}

// CheckPlan reads all that there is of a plan's batches, and compares it with its digests. The
// plan itself is checked by its signature.
func (s *Store) CheckPlan(ctx context.Context, plan string) error {
	batches, err := s.Batches(ctx, plan)
	for _, b := range batches {
		if _, failed := s.Tally(ctx, b); err == nil {
			err = failed
		}
	}
	return err
}

// Batches lists the batches of a plan that were counted, by crowd and instance.
func (s *Store) Batches(ctx context.Context, plan string) (all []Batch, err error) {
	err = s.on(ctx, plan, func(shelf keep.Shelf) error {
		return shelf.Each(ctx, marksTable, "", func(key string, text []byte) error {
			var m mark
			if err := shelves.Unmarshal(marksTable, text, &m); err != nil {
				return err
			}
			b, err := m.batch(plan, key)
			all = append(all, b)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Tally reads the encoding of a batch's tally.
func (s *Store) Tally(ctx context.Context, b Batch) (tally []byte, err error) {
	err = s.on(ctx, b.Plan, func(shelf keep.Shelf) error {
		var m mark
		there, err := of(ctx, shelf).read(marksTable, b.at(), &m)
		if err == nil && there {
			tally, err = readParts(of(ctx, shelf), talliesTable, b.tally(m.Tally), m.Tally)
		}
		return err
	})
	return tally, err
}

// Expire drops the shelves, with tallies, receipts and marks, of plans that were decided before
// the given time; releases, verdicts and the ledger stay. It returns how many batches went.
func (s *Store) Expire(ctx context.Context, before time.Time) (int, error) {
	plans, err := s.Plans(ctx)
	if err != nil {
		return 0, err
	}
	batches := 0
	for _, p := range plans {
		if p.Decided.IsZero() || !p.Decided.Before(before) {
			continue
		}
		gone, err := s.isGone(ctx, p.Name)
		if err == nil && !gone {
			var all []Batch
			if all, err = s.Batches(ctx, p.Name); err == nil {
				err = s.write(ctx, s.main, "expire", func(tx keep.Tx) error { tx.Put(goneTable, p.Name, nil); return nil })
			}
			if err == nil {
				batches += len(all)
				err = s.drop(ctx, p.Name)
			}
		}
		if err != nil {
			return batches, err
		}
	}
	return batches, s.finishDrops(ctx) // also what an earlier reader was in the way of
}
