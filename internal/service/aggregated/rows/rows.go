// Package rows says what an aggregator keeps on shelves: plans, reports that wait, what was added up, and what has
// left. Used by internal/service/aggregated.
//
// The shelf main holds plans, withdrawals and rounds. Each plan has a shelf of its own, and at the leader a second one
// of what devices sent, which is dropped when both shares are there. No transaction spans two of them.
package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Tables of main. The keys of the first three are plans' names.
const (
	plansTable     keep.Table = 1  // -> the signed plan
	goneTable      keep.Table = 2  // -> nothing: it is never taken up again
	withdrawnTable keep.Table = 3  // -> the statement
	roundsTable    keep.Table = 4  // STUDY/NUMBER -> the plan's name
	begunTable     keep.Table = 10 // STUDY -> numbers of correlated rounds, whose rows may have been drawn
)

// Tables of a plan's two shelves. A leader's shelf of reports has 1 to 4 and 7; the plan's own has the others, and a
// helper's 7.
const (
	reportsTable keep.Table = 1  // respondent -> name of the report, by Insert
	namesTable   keep.Table = 2  // name -> crowd, by Insert, tagged with the crowd
	bodiesTable  keep.Table = 3  // name -> body, or its place in a blob, by Insert
	jobsTable    keep.Table = 4  // SHARD -> where its jobs end, and which is next; CROWD/N -> names
	spentTable   keep.Table = 5  // name of a report, or token -> by which question, by Insert; nothing: an earlier version wrote it
	answersTable keep.Table = 6  // asked -> what the helper answered
	sumsTable    keep.Table = 7  // CROWD -> the sum; a leader's: SHARD -> that of its reports
	sharesTable  keep.Table = 8  // CROWD/STEP -> what leaves
	toldTable    keep.Table = 9  // CROWD -> Crowd
	daysTable    keep.Table = 11 // CROWD -> the sum, of a round whose row has left and which later rows tell of
)

const (
	planPrefix    = "plan-"
	reportsPrefix = "reports-"
)

// Failpoints are the steps of a collection that the function given to Open is called at: before each write, and
// behind it. It is called at writes that serve, erase and revoke a plan too, which no schedule of tests draws.
var Failpoints = []string{
	"rows/take", "rows/take/committed", // a report
	"rows/close", "rows/close/committed", // no more of them
	"rows/jobs", "rows/jobs/committed", // they are cut into jobs
	"rows/add", "rows/add/committed", // one of them is in the sum
	"rows/share", "rows/share/committed", // what leaves is drawn
	"rows/forget", "rows/forget/committed", // reports, and who sent them
}

// HelperFailpoints names the points of a helper alone.
var HelperFailpoints = []string{
	"rows/spend", "rows/spend/committed", // no other job has a report of these names
}

// RoundFailpoints are those of correlated rounds. Schedules of a single plan do not come to them.
var RoundFailpoints = []string{
	"rows/begin", "rows/begin/committed", // the row may be drawn
	"rows/give-up", "rows/give-up/committed", // it never leaves
}

var (
	// ErrRound is the error of a round whose number another plan has, for good.
	ErrRound = errors.New("another plan is that round of its study")

	// ErrLater is the error of a round a later one of which has told its row: that row does not tell of
	// this one, and no other may.
	ErrLater = errors.New("a later round of the study has told of all before it, and this one was not among them")

	// ErrWithdrawn is the error of a round after one that was withdrawn when its row might have been drawn: what was
	// said in that one is destroyed, and no later row tells of the days without it.
	ErrWithdrawn = errors.New("an earlier round of the study was withdrawn, and no later row is told")

	// errEarlier is the error of a leader's round an earlier one of which is neither there nor given up.
	errEarlier = errors.New("an earlier round of the study is being handed on")

	// ErrGivenUp is the error of what was given up: nothing of it leaves.
	ErrGivenUp = errors.New("the crowd was given up, and nothing of it leaves")

	// errMeanwhile is the error of who finds that another process has done the same.
	errMeanwhile = errors.New("another process has done it meanwhile")

	errOpen = errors.New("the plan has not closed")
)

// Store is the shelves of an aggregator. It is safe for concurrent use.
type Store struct {
	store  keep.Store
	main   keep.Shelf
	leader bool       // has shelves of reports
	blobs  blob.Store // where bodies of reports lie; nil: in rows
	fail   func(string) error

	mu      sync.Mutex
	refused error // of the last write: the disk is full, or nobody answers
}

// Open opens the shelves of the named aggregator, and finishes what a crash has left of an Erase. Bodies of a leader's
// reports lie in blobs, if they are not nil.
func Open(ctx context.Context, store keep.Store, blobs blob.Store, owner string, leader bool, failpoint func(string) error) (*Store, error) {
	main, err := shelves.Main(ctx, store, owner)
	if err != nil {
		return nil, err
	}
	s := &Store{store: store, main: main, leader: leader, blobs: blobs, fail: failpoint}
	names, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, plan, _ := strings.Cut(name, "-")
		if gone, err := s.Gone(ctx, plan); err != nil {
			return nil, err
		} else if gone {
			if err := store.Drop(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return s, s.sweep(ctx)
}

// Ready asks the store whether it answers, and says why the last write was refused.
func (s *Store) Ready(ctx context.Context) error {
	if _, _, err := s.main.Get(ctx, goneTable, "ready"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// write runs a write between the failpoints of its name.
func (s *Store) write(ctx context.Context, name string, do func() error) error {
	if err := s.fail("rows/" + name); err != nil {
		return err
	}
	err := do()
	if ctx.Err() == nil { // else nothing is known of the disk
		s.mu.Lock()
		if s.refused = nil; errors.Is(err, keep.ErrFull) || errors.Is(err, keep.ErrUnavailable) {
			s.refused = err
		}
		s.mu.Unlock()
	}
	if err != nil {
		return err
	}
	return s.fail("rows/" + name + "/committed")
}

// Served is a plan that an aggregator serves.
type Served struct {
	Name   string
	Signed []byte
	Round  Round // All leaves it out
}

// Round is a number in a study; the zero value is none.
type Round struct {
	Study  string
	Number int
}

// Serve writes a plan. One that is there already has its signatures replaced. A round is
// ErrRound where another plan has its number.
func (s *Store) Serve(ctx context.Context, p Served) error {
	return s.write(ctx, "serve", func() error {
		return s.main.Update(ctx, func(tx keep.Tx) error {
			if p.Round != (Round{}) {
				is, err := shelves.First(tx, roundsTable, fmt.Sprintf("%s/%d", p.Round.Study, p.Round.Number), []byte(p.Name))
				if err == nil && string(is) != p.Name {
					err = fmt.Errorf("%w: round %d is plan %s", ErrRound, p.Round.Number, is)
				}
				if err != nil {
					return err
				}
			}
			tx.Put(plansTable, p.Name, p.Signed)
			return nil
		})
	})
}

// All lists the plans that are served.
func (s *Store) All(ctx context.Context) (all []Served, err error) {
	err = s.main.Each(ctx, plansTable, "", func(name string, signed []byte) error {
		all = append(all, Served{Name: name, Signed: bytes.Clone(signed)})
		return nil
	})
	return all, err
}

// Gone reports whether a plan was erased.
func (s *Store) Gone(ctx context.Context, plan string) (bool, error) {
	if plan == "" {
		return false, nil
	}
	_, gone, err := s.main.Get(ctx, goneTable, plan)
	return gone, err
}

// Erase deletes all that there is of a plan, for good: it is never served again. A statement, if
// there is one, is kept as Revoke does.
func (s *Store) Erase(ctx context.Context, plan string, statement []byte) error {
	return s.write(ctx, "erase", func() error {
		err := s.main.Update(ctx, func(tx keep.Tx) error {
			tx.Delete(plansTable, plan)
			tx.Put(goneTable, plan, nil)
			if statement == nil {
				return nil
			}
			_, err := shelves.First(tx, withdrawnTable, plan, statement)
			return err
		})
		for _, prefix := range []string{reportsPrefix, planPrefix} {
			if err == nil {
				err = s.store.Drop(ctx, prefix+plan)
			}
			if errors.Is(err, keep.ErrMissing) {
				err = nil
			}
		}
		if err == nil {
			err = s.dropBodies(ctx, plan)
		}
		return err
	})
}

// Revoke keeps the withdrawal of a plan under a name. The first of a name stays.
func (s *Store) Revoke(ctx context.Context, name string, statement []byte) error {
	return s.write(ctx, "revoke", func() error {
		return s.main.Update(ctx, func(tx keep.Tx) error {
			_, err := shelves.First(tx, withdrawnTable, name, statement)
			return err
		})
	})
}

// Revocations calls fn for the name and text of every withdrawal that was kept.
func (s *Store) Revocations(ctx context.Context, fn func(name string, text []byte) error) error {
	return s.main.Each(ctx, withdrawnTable, "", func(name string, text []byte) error { return fn(name, bytes.Clone(text)) })
}

// Check reads every row of a plan, or with no name those of main.
func (s *Store) Check(ctx context.Context, plan string) error {
	if plan == "" {
		return s.main.Check(ctx)
	}
	p, err := s.Plan(ctx, plan)
	if err != nil {
		return err
	}
	if p.reports != nil {
		if err := p.reports.Check(ctx); err != nil {
			return err
		}
		if p.bodies != nil {
			err := p.reports.Each(ctx, bodiesTable, "", func(_ string, at []byte) error {
				_, err := p.bodies.get(ctx, at)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return p.sums.Check(ctx)
}

func crowdKey(crowd int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(crowd))) }

// within returns the key of a thing of a crowd.
func within(crowd int, what string) string { return crowdKey(crowd) + what }
