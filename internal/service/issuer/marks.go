package issuer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A mark says that a respondent's request under a key was signed, in hashes that
// the issuer's secret keys: who and what, nobody else can tell or forge.
type mark struct{ who, what [16]byte }

// marksTable is the one of a shelf of marks, which has the name plan-HASH of its scope.
const marksTable keep.Table = 1 // who -> what, by Insert

const shelfPrefix = "plan-"

func shelfName(scope [32]byte) string { return fmt.Sprintf("%s%x", shelfPrefix, scope) }

// marks are those of a plan, or of a study's rounds. A mark is on disk before its request is
// answered, and so is how far the shelf had come.
type marks struct {
	shelf keep.Shelf

	mu     sync.Mutex
	failed error // of the last write
	over   error // why nothing is signed any more
}

// errTaken is the error of marks of which one is of a respondent whose other request was
// signed.
var errTaken = errors.New("issuer: another request was signed already")

// Make makes what an issuer keeps its marks in, in a folder that the issuer has not had: whoever
// makes its keys and its configuration calls it.
func Make(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return explained(shelves.Make(filepath.Join(folder, shelves.InFolder)))
}

// earlier refuses a folder in which an earlier version kept files of its own.
func earlier(folder string) error {
	for _, kind := range []string{"*.log", "*.plan", "*.audit", "respondents.key"} {
		old, err := filepath.Glob(filepath.Join(folder, kind))
		if err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
		if len(old) > 0 {
			return fmt.Errorf("issuer: %s was kept by an earlier version, which this one does not read: let that version end its plans, then start with an empty folder", old[0])
		}
	}
	return nil
}

// openStore opens the shelves in the issuer's folder.
func openStore(o Options) (keep.Store, error) {
	if err := earlier(o.Folder); err != nil {
		return nil, err
	}
	store, err := shelves.Folder(filepath.Join(o.Folder, shelves.InFolder), o.Common, true)
	return store, opening(err)
}

// opening says what to do about damage, and why a store does not open: nobody waits for an answer yet.
func opening(err error) error {
	if errors.Is(err, keep.ErrUnavailable) || errors.Is(err, keep.ErrFull) {
		return fmt.Errorf("issuer: %w", err)
	}
	return explained(err)
}

// explained says what to do about damage, and what to answer where the store refuses.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keep.ErrDamaged):
		return fmt.Errorf("issuer: %w; without it respondents could be given a second token: %s", err, lostMarks)
	}
	if answer := shelves.Answer(err); answer != err {
		return answer
	}
	return fmt.Errorf("issuer: %w", err)
}

// openMarks opens the shelf of a scope, or makes it; made: nobody had.
func openMarks(ctx context.Context, store keep.Store, scope [32]byte, create bool) (m *marks, made bool, err error) {
	var shelf keep.Shelf
	if create {
		shelf, err = store.Create(ctx, shelfName(scope))
		made = err == nil
	}
	if !create || errors.Is(err, keep.ErrExists) {
		shelf, err = store.Open(ctx, shelfName(scope))
	}
	if err != nil {
		return nil, false, err
	}
	return &marks{shelf: shelf}, made, nil
}

// fresh returns those of some marks that are not there; errTaken.
func (m *marks) fresh(all []mark) (fresh []mark, err error) {
	seen := make(map[[16]byte]bool, len(all))
	for _, one := range all {
		what, there, err := m.shelf.Get(context.Background(), marksTable, string(one.who[:]))
		if err != nil {
			return nil, m.fail(err)
		}
		if there && !bytes.Equal(what, one.what[:]) {
			return nil, errTaken
		}
		if !there && !seen[one.who] {
			seen[one.who] = true
			fresh = append(fresh, one)
		}
	}
	return fresh, nil
}

// put makes sure that the marks are on disk, all or, with an error, none. The number says how
// many are new.
func (m *marks) put(all []mark) (int, error) {
	for {
		if err := m.ended(); err != nil {
			return 0, err
		}
		fresh, err := m.fresh(all)
		if err != nil || len(fresh) == 0 {
			return 0, err
		}
		rows := make([]keep.Row, len(fresh))
		for i, one := range fresh {
			rows[i] = keep.Row{Table: marksTable, Key: string(one.who[:]), Value: one.what[:]}
		}
		again, err := m.shelf.Insert(context.Background(), rows...)
		if errors.Is(err, keep.ErrTaken) {
			continue // somebody was there before: whose request it was, fresh finds
		}
		if err != nil {
			return 0, m.fail(err)
		}
		m.mu.Lock()
		m.failed = nil
		m.mu.Unlock()
		if again {
			return 0, nil
		}
		return len(fresh), nil
	}
}

// fail turns an error of the shelf into an answer.
func (m *marks) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over != nil:
		return m.over
	case errors.Is(err, keep.ErrFull):
		return wire.Problemf(wire.StorageFull, "the marks of issued tokens do not fit")
	case errors.Is(err, keep.ErrDropped): // by another process
		return wire.Problemf(wire.EpochOver, "the plan is over")
	}
	m.failed = fmt.Errorf("issuer: the marks of issued tokens: %w", err)
	return m.failed
}

// count returns how many marks there are.
func (m *marks) count() int {
	n, _ := m.shelf.Count(context.Background(), marksTable, 0) // 0 of one that was dropped
	return n
}

// healthy says why the last request could not be marked.
func (m *marks) healthy() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

func (m *marks) ended() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// end answers everybody who comes from now on with the reason.
func (m *marks) end(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = why
}

// orphans returns the shelves of plans that are not served.
func (s *Service) orphans() (names []string) {
	ctx := context.Background()
	all, _ := s.store.List(ctx)
	for _, name := range all {
		scope, ours := strings.CutPrefix(name, shelfPrefix)
		here := false
		err := s.main.Each(ctx, scopesTable, scope+"/", func(string, []byte) error { here = true; return nil })
		if ours && !here && err == nil {
			names = append(names, name)
		}
	}
	return names
}
