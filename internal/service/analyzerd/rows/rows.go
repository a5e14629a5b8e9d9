// Package rows says what an analyzer keeps on shelves: plans, the budget ledger, tallies, verdicts, releases and
// studies. Used by internal/service/analyzerd and internal/analyzer/shards.
//
// The shelf main holds what is for good, and each plan has a shelf of what was counted, which is dropped when its
// retention is over. Rows are written once and never changed, but for leases of shards. What state a plan is in
// follows from which rows there are:
//
//	plans, ledger         registered: it takes batches
//	marks, tallies        one batch an instance and crowd, with its tally
//	closings              it takes no more batches: its shelf was sealed before
//	verdicts, releases    it was published, or withheld and why
//	numbered              which plan a round of a study is
//	rounds                of a study: what follows it
//	announcements         that has come to every service
//	states, signed        what a round starts from, and who else signed its plan
//	gone, withdrawn       it was dropped, or ended by its publisher
//	parts, shards, counts what of a batch was dealt to workers, and counted
//
// What belongs together is one Update of one shelf. The engine compares each row with its digest, over place and
// content, whenever it is read.
package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

var (
	// ErrUnknown is the error of a plan, or release, that is not here.
	ErrUnknown = errors.New("analyzer: unknown")
	// ErrTaken is the error of a place where something else is already, and stays.
	ErrTaken = errors.New("analyzer: taken by something else")
	// ErrClosed is the error of a plan that takes no more batches.
	ErrClosed = errors.New("analyzer: the plan is closed")
)

// Outcome says whether a write found the same thing there already.
type Outcome int

const (
	Failed Outcome = iota // with an error
	New
	Again // the same was there already: nothing was written, all is well
)

// Tables of main.
const (
	plansTable     keep.Table = 1  // PLAN -> signed, as it came
	goneTable      keep.Table = 2  // PLAN -> nothing: its shelf is dropped
	withdrawnTable keep.Table = 3  // NAME -> statement
	ledgerTable    keep.Table = 4  // NUMBER -> spending, behind the digest of all before
	closingsTable  keep.Table = 5  // PLAN -> closing
	verdictsTable  keep.Table = 6  // PLAN -> verdict
	releasesTable  keep.Table = 7  // PLAN/FORMAT -> body
	roundsTable    keep.Table = 8  // PLAN -> what follows
	announcedTable keep.Table = 9  // PLAN -> when
	statesTable    keep.Table = 10 // NAME -> body
	signedTable    keep.Table = 11 // PLAN/NUMBER -> signed by others
	partsTable     keep.Table = 12 // DIGEST/PART -> part of a body
	numberedTable  keep.Table = 13 // STUDY/NUMBER -> PLAN
	ownTable       keep.Table = 15 // fillingKey -> what fills the store, beside whose it is
)

// Tables of a plan's shelf.
const (
	marksTable    keep.Table = 1 // CROWD/INSTANCE -> mark of a batch
	talliesTable  keep.Table = 2 // CROWD/INSTANCE/BATCH/DIGEST/PART -> part of its tally
	shardsTable   keep.Table = 3 // CROWD/INSTANCE/SHARD -> lease, or what was counted
	countsTable   keep.Table = 4 // CROWD/INSTANCE/SHARD/ATTEMPT/DIGEST/PART -> part of that tally
	attemptsTable keep.Table = 5 // CROWD/INSTANCE/BATCH -> attempt that stands
)

const (
	fillingKey  = "filling"
	shelfPrefix = "plan-"
)

// Failpoints are the steps of a collection that Config.Failpoint is called at: before each write, and behind it. It
// is called at writes of later signatures and withdrawals too, which no schedule of tests draws.
var Failpoints = []string{
	"rows/register", "rows/register/committed",
	"rows/count", "rows/count/committed",
	"rows/seal", // before main is told that a plan is closed
	"rows/close", "rows/close/committed",
	"rows/decide", "rows/decide/committed",
	"rows/expire", "rows/expire/committed",
	"rows/restore", "rows/restore/committed",
	"rows/backup", // before the copy gets its name
}

// RoundFailpoints are those of what only studies write.
var RoundFailpoints = []string{
	"rows/follow", "rows/follow/committed",
	"rows/announce", "rows/announce/committed",
}

// Store is what an analyzer keeps. It is safe for concurrent use; of a database, also by several
// processes.
type Store struct {
	store     keep.Store
	main      keep.Shelf
	end       string           // file that says how far the ledger has come; "": none
	disk      *atomicfile.Disk // of a folder
	failpoint func(string) error
	refused   atomic.Pointer[error] // the last write found the disk full

	ledger ledger

	mu      sync.Mutex
	shelves map[string]keep.Shelf // by plan's name
	gone    map[string]bool       // likewise: dropped, or about to be
	decided map[string]Plan       // likewise: what changes no more, but for Withdrawn
}

// write runs do as one Update of a shelf. Either all of it is on disk when write returns nil, or
// none is; after keep.ErrUnavailable nobody knows which: do reads before it writes, so that who
// asks again finds what is there.
func (s *Store) write(ctx context.Context, shelf keep.Shelf, name string, do func(keep.Tx) error) error {
	err := shelf.Update(ctx, func(tx keep.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return s.failpoint("rows/" + name)
	})
	if errors.Is(err, keep.ErrFull) {
		s.refused.Store(&err) // until one is taken
	}
	if err != nil {
		return err
	}
	s.refused.Store(nil)
	return s.failpoint("rows/" + name + "/committed")
}

// Ready asks the store whether it answers, and its disk whether it takes anything.
func (s *Store) Ready(ctx context.Context) error {
	if _, _, err := s.main.Get(ctx, ownTable, fillingKey); err != nil {
		return err
	}
	if s.disk != nil {
		if err := s.disk.Err(); err != nil {
			return fmt.Errorf("analyzer: %w", err)
		}
	}
	if err := s.refused.Load(); err != nil {
		return fmt.Errorf("analyzer: the last write was refused: %w", *err)
	}
	return nil
}

// Used returns how many bytes the store takes.
func (s *Store) Used(ctx context.Context) (int64, error) {
	used, _, err := s.store.Usage(ctx)
	return used, err
}

// Close lets go of the store.
func (s *Store) Close() error { return s.store.Close() }

// errGone is the error of what was counted of a plan whose shelf is dropped.
var errGone = errors.New("analyzer: what was counted of the plan is deleted")

// isGone reports whether a plan's shelf is dropped, or about to be.
func (s *Store) isGone(ctx context.Context, plan string) (bool, error) {
	s.mu.Lock()
	gone := s.gone[plan]
	s.mu.Unlock()
	if gone {
		return true, nil
	}
	_, gone, err := s.main.Get(ctx, goneTable, plan)
	if gone {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gone[plan] = true
		delete(s.shelves, plan)
	}
	return gone, err
}

// shelf returns the shelf of a plan; nil where none was made yet. One that was made and is not
// there is damage, which the engine knows.
func (s *Store) shelf(ctx context.Context, plan string) (keep.Shelf, error) {
	gone, err := s.isGone(ctx, plan)
	if err != nil {
		return nil, err
	}
	if gone {
		return nil, errGone
	}
	s.mu.Lock()
	shelf, ok := s.shelves[plan]
	s.mu.Unlock()
	if ok {
		return shelf, nil
	}
	shelf, err = s.store.Open(ctx, shelfPrefix+plan)
	switch {
	case errors.Is(err, keep.ErrMissing):
		return nil, nil
	case errors.Is(err, keep.ErrDropped):
		return nil, errGone
	case err != nil:
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelves[plan] = shelf
	return shelf, nil
}

// made returns the shelf of a plan, which it makes if it is not there.
func (s *Store) made(ctx context.Context, plan string) (keep.Shelf, error) {
	for {
		shelf, err := s.shelf(ctx, plan)
		if err != nil || shelf != nil {
			return shelf, err
		}
		if _, err := s.store.Create(ctx, shelfPrefix+plan); err != nil && !errors.Is(err, keep.ErrExists) && !errors.Is(err, keep.ErrDropped) {
			return nil, err
		}
	}
}

// on runs do on the shelf of a plan, if there is one.
func (s *Store) on(ctx context.Context, plan string, do func(keep.Shelf) error) error {
	shelf, err := s.shelf(ctx, plan)
	if err == nil && shelf != nil {
		err = do(shelf)
	}
	if errors.Is(err, errGone) || errors.Is(err, keep.ErrDropped) {
		return nil
	}
	return err
}

// drop drops the shelf of a plan, of which main says that it is gone.
func (s *Store) drop(ctx context.Context, plan string) error {
	s.mu.Lock()
	s.gone[plan] = true
	delete(s.shelves, plan)
	s.mu.Unlock()
	if err := s.store.Drop(ctx, shelfPrefix+plan); err != nil && !errors.Is(err, keep.ErrMissing) {
		return fmt.Errorf("analyzer: what was counted of plan %s is to be deleted, and is not yet: %w", plan, err)
	}
	return nil
}

// finishDrops drops what main says is gone and is still there: a crash came between, or somebody
// was reading.
func (s *Store) finishDrops(ctx context.Context) error {
	names, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		plan, ok := strings.CutPrefix(name, shelfPrefix)
		if !ok {
			continue
		}
		gone, err := s.isGone(ctx, plan)
		if err == nil && gone {
			err = s.drop(ctx, plan)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check reads all that is there and compares it with its digests, and the ledger with its chain.
func (s *Store) Check(ctx context.Context) error {
	if err := s.main.Check(ctx); err != nil {
		return err
	}
	names, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		plan, ok := strings.CutPrefix(name, shelfPrefix)
		if !ok {
			continue
		}
		if err := s.on(ctx, plan, func(shelf keep.Shelf) error { return shelf.Check(ctx) }); err != nil {
			return err
		}
	}
	return s.CheckLedger(ctx)
}

// getter reads a row, of a shelf or within an Update.
type getter func(t keep.Table, key string) ([]byte, bool, error)

// of returns the getter of a shelf.
func of(ctx context.Context, shelf keep.Shelf) getter {
	return func(t keep.Table, key string) ([]byte, bool, error) { return shelf.Get(ctx, t, key) }
}

// read reads a row of JSON.
func (get getter) read(t keep.Table, key string, row any) (there bool, err error) {
	text, there, err := get(t, key)
	if err == nil && there {
		err = shelves.Unmarshal(t, text, row)
	}
	return there, err
}

// put writes a row of JSON.
func put(tx keep.Tx, t keep.Table, key string, row any) error {
	text, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("analyzer: %w", err)
	}
	tx.Put(t, key, text)
	return nil
}

// place writes numbers so that keys are in their order.
func place(numbers ...int) string {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = fmt.Sprintf("%010d", n)
	}
	return strings.Join(all, "/")
}
