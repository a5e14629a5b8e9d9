package rows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Round is a number in a study; the zero value is none.
type Round struct {
	Study  string
	Number int
}

// ErrRound is the error of a round whose number another plan has, for good.
var ErrRound = errors.New("analyzer: another plan is that round of its study")

// number keeps which plan a round is, once, in the Update that takes the plan up. Where another
// plan has the number, it returns ErrRound.
func number(tx keep.Tx, r Round, plan string) error {
	is, err := shelves.First(tx, numberedTable, r.Study+"/"+place(r.Number), []byte(plan))
	if err == nil && string(is) != plan {
		err = fmt.Errorf("%w: round %d is plan %s", ErrRound, r.Number, is)
	}
	return err
}

// Rounds returns the plans that the registered rounds of a study are, by number.
func (s *Store) Rounds(ctx context.Context, study string) (map[int]string, error) {
	all := map[int]string{}
	err := s.main.Each(ctx, numberedTable, study+"/", func(key string, plan []byte) error {
		n, err := strconv.Atoi(strings.TrimPrefix(key, study+"/"))
		if err != nil {
			return fmt.Errorf("%w: the number of a round is none", keep.ErrDamaged)
		}
		all[n] = string(plan)
		return nil
	})
	return all, err
}

// Next is what follows a concluded round of a study: another one, or the study's end.
type Next struct {
	Signed    []byte    `json:"signed,omitempty"` // of the next round; empty where the study is over
	Reason    string    `json:"reason,omitempty"` // why the study is over
	Written   time.Time `json:"written"`
	Announced time.Time `json:"-"` // when every service had the next round, or the end was noted; zero: not yet
}

// KeepState keeps a public state under its name, the SHA-256 of its bytes in hex.
func (s *Store) KeepState(ctx context.Context, state []byte) error {
	return s.writeParts(ctx, s.main, "state", stateParts(state), func(tx keep.Tx) (bool, error) { return putState(tx, state) })
}

// stateParts returns a state as it is written; nil is none.
func stateParts(state []byte) []content {
	if state == nil {
		return nil
	}
	return []content{{partsTable, bodyOf(state).SHA256, state}}
}

// putState writes what is known of a state, and reports whether it was not there.
func putState(tx keep.Tx, state []byte) (bool, error) {
	if state == nil {
		return false, nil
	}
	known := bodyOf(state)
	if _, there, err := tx.Get(statesTable, known.SHA256); err != nil || there {
		return false, err
	}
	return true, put(tx, statesTable, known.SHA256, known)
}

// State returns a public state by its name, or ErrUnknown. What does not have the name's
// digest is not handed out.
func (s *Store) State(ctx context.Context, name string) ([]byte, error) {
	var known body
	there, err := of(ctx, s.main).read(statesTable, name, &known)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("%w: there is no state %s", ErrUnknown, name)
	case known.SHA256 != name:
		return nil, fmt.Errorf("%w: a public state is another one than its name says", keep.ErrDamaged)
	}
	return readParts(of(ctx, s.main), partsTable, name, known)
}

// Follow writes what follows a concluded round, with the state that the next one names;
// nil: it names none, or one that is here. What was written first stays: Again.
func (s *Store) Follow(ctx context.Context, round string, n Next, state []byte) (Outcome, error) {
	outcome := New
	err := s.writeParts(ctx, s.main, "follow", stateParts(state), func(tx keep.Tx) (bool, error) {
		outcome = New
		if _, there, err := tx.Get(roundsTable, round); err != nil || there {
			outcome = Again
			return false, err
		}
		fresh, err := putState(tx, state)
		if err != nil {
			return false, err
		}
		n.Written = n.Written.UTC().Truncate(time.Microsecond)
		return fresh, put(tx, roundsTable, round, n)
	})
	if err != nil {
		return Failed, err
	}
	return outcome, nil
}

// Following returns what follows a round, or ErrUnknown where nothing was written yet.
func (s *Store) Following(ctx context.Context, plan string) (n Next, err error) {
	if plan == "" { // before the first round
		return n, fmt.Errorf("%w: nothing follows no plan", ErrUnknown)
	}
	there, err := of(ctx, s.main).read(roundsTable, plan, &n)
	if err == nil && !there {
		err = fmt.Errorf("%w: nothing follows plan %s", ErrUnknown, plan)
	}
	if err == nil {
		_, err = of(ctx, s.main).read(announcedTable, plan, &n.Announced)
	}
	return n, err
}

// Announced marks that every service has what follows a round.
func (s *Store) Announced(ctx context.Context, plan string, at time.Time) error {
	return s.write(ctx, s.main, "announce", func(tx keep.Tx) error {
		if _, there, err := tx.Get(announcedTable, plan); err != nil || there {
			return err
		}
		return put(tx, announcedTable, plan, at.UTC().Truncate(time.Microsecond))
	})
}
