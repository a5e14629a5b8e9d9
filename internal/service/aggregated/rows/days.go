package rows

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Day is what was kept of a round that later rows tell of.
type Day struct {
	Number int
	Sum    []byte // as Crowd.Day was
}

// Begin writes that the row of a round may be drawn from now on, and returns what was kept of all rounds
// before it whose rows have left, in their order. Again it returns the same: a round before one that was begun
// is ErrLater, and one that was begun and has not left is given up. So each round is in all rows after its own, or in none,
// whatever became of one between. A leader gives a round up by itself (GiveUp), and waits for that here: its helper may
// have told what it has not heard.
func (s *Store) Begin(ctx context.Context, r Round, crowd int) (earlier []Day, err error) {
	var before []int
	err = s.write(ctx, "begin", func() error {
		return s.main.Update(ctx, func(tx keep.Tx) error {
			before = nil
			value, _, err := tx.Get(begunTable, r.Study)
			if err != nil {
				return err
			}
			if len(value)%4 != 0 {
				return fmt.Errorf("%w: which rounds were begun cannot be read", keep.ErrDamaged)
			}
			last := 0
			for at := 0; at < len(value); at += 4 {
				if last = int(binary.BigEndian.Uint32(value[at:])); last == r.Number {
					return nil
				}
				if last < r.Number {
					before = append(before, last)
				}
			}
			if last > r.Number {
				return fmt.Errorf("%w: round %d is before round %d", ErrLater, r.Number, last)
			}
			tx.Put(begunTable, r.Study, binary.BigEndian.AppendUint32(value[:len(value):len(value)], uint32(r.Number)))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for _, number := range before {
		sum, left, err := s.day(ctx, Round{r.Study, number}, crowd)
		if err != nil {
			return nil, err
		}
		if left {
			earlier = append(earlier, Day{number, sum})
		}
	}
	return earlier, nil
}

// day returns what was kept of a round whose row has left, and gives another one up.
func (s *Store) day(ctx context.Context, r Round, crowd int) (sum []byte, left bool, err error) {
	name, there, err := s.main.Get(ctx, roundsTable, fmt.Sprintf("%s/%d", r.Study, r.Number))
	if err != nil {
		return nil, false, err
	}
	if !there {
		return nil, false, fmt.Errorf("%w: round %d of a study is missing", keep.ErrDamaged, r.Number)
	}
	if gone, err := s.Gone(ctx, string(name)); err != nil || gone {
		if err == nil {
			err = fmt.Errorf("%w: round %d", ErrWithdrawn, r.Number)
		}
		return nil, false, err
	}
	shelf, err := s.store.Open(ctx, planPrefix+string(name))
	if err != nil {
		return nil, false, fmt.Errorf("round %d of the study: %w", r.Number, err)
	}
	_, left, err = shelf.Get(ctx, sharesTable, within(crowd, s.leaves()))
	if err != nil {
		return nil, false, err
	}
	if !left {
		_, given, err := shelf.Get(ctx, sharesTable, within(crowd, Withheld))
		if given || err != nil {
			return nil, false, err
		}
		if s.leader {
			if _, _, err := shelf.Get(ctx, sharesTable, within(crowd, Own)); err != nil { // it never leaves, and its helper may have told it
				return nil, false, fmt.Errorf("round %d of the study: %w", r.Number, err)
			}
			return nil, false, fmt.Errorf("%w: round %d", errEarlier, r.Number)
		}
		if left, err = s.giveUp(ctx, shelf, crowd, s.leaves()); !left || err != nil {
			return nil, false, err
		}
	}
	sum, err = one(shelf.Get(ctx, daysTable, crowdKey(crowd)))
	if err == nil && sum == nil {
		err = fmt.Errorf("%w: what round %d of a study added up is missing", keep.ErrDamaged, r.Number)
	}
	return sum, true, err
}
