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
// before it that were begun, in their order. Again it returns the same: a round before one that was begun
// is ErrLater. So each round is in all rows after its own, or in none.
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
		sum, err := s.day(ctx, Round{r.Study, number}, crowd)
		if err != nil {
			return nil, err
		}
		earlier = append(earlier, Day{number, sum})
	}
	return earlier, nil
}

func (s *Store) day(ctx context.Context, r Round, crowd int) ([]byte, error) {
	name, there, err := s.main.Get(ctx, roundsTable, fmt.Sprintf("%s/%d", r.Study, r.Number))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%w: round %d of a study is missing", keep.ErrDamaged, r.Number)
	}
	shelf, err := s.store.Open(ctx, planPrefix+string(name))
	if err != nil {
		return nil, fmt.Errorf("round %d of the study: %w", r.Number, err)
	}
	sum, err := one(shelf.Get(ctx, daysTable, crowdKey(crowd)))
	if err == nil && sum == nil {
		err = fmt.Errorf("%w: round %d", errEarlier, r.Number)
	}
	return sum, err
}
