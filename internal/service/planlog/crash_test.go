package planlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/journal"
)

// seen is what witnesses were shown, by the size that a checkpoint names.
type seen struct {
	mu  sync.Mutex
	all map[string]string
	bad []string
}

// before has a witness's requests pass by.
func (s *seen) before(t *testing.T, w planlog.Witness) planlog.Witness {
	behind := w.URL
	at := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, checkpoint, _ := bytes.Cut(body, []byte("\n\n"))
		size := strings.Split(string(checkpoint), "\n")[1]
		s.mu.Lock()
		if was, there := s.all[size]; there && was != string(checkpoint) {
			s.bad = append(s.bad, size)
		}
		s.all[size] = string(checkpoint)
		s.mu.Unlock()
		answer, err := http.Post(behind+r.URL.Path, "", bytes.NewReader(body))
		if err != nil {
			to.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		to.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		to.WriteHeader(answer.StatusCode)
		io.Copy(to, answer.Body)
	}))
	t.Cleanup(at.Close)
	w.URL = at.URL
	return w
}

// A log that ends between an entry and its checkpoint, or between what witnesses have signed and what is shown, loses
// nothing that it gave evidence of, and never has two checkpoints of one size signed that differ.
func TestALogThatEndsBetweenAnEntryAndItsCheckpoint(t *testing.T) {
	for _, point := range []string{"entered", "checkpoint signed"} {
		t.Run(point, func(t *testing.T) {
			w := newWorld(t)
			if err := w.log.Close(); err != nil {
				t.Fatal(err)
			}
			s := &seen{all: map[string]string{}}
			for i := range w.options.Witnesses {
				w.options.Witnesses[i] = s.before(t, w.options.Witnesses[i])
			}
			has := map[string]int64{}
			for round := range 4 {
				crashed := make(chan struct{})
				var once sync.Once
				o := w.options
				armed := false
				var mu sync.Mutex
				o.Failpoint = func(name string) error {
					mu.Lock()
					defer mu.Unlock()
					if !armed || name != point {
						return nil
					}
					once.Do(func() { close(crashed) })
					return errors.New("crashed")
				}
				log := w.start(o)
				for title, at := range has {
					if e, err := log.Add(t.Context(), w.signed(title)); err != nil || e.Index != at {
						t.Errorf("%s was entry %d and is %d: %v", title, at, e.Index, err)
					}
				}
				title := fmt.Sprint("plan ", round)
				has[title] = w.logged(log, title).Evidence.Index
				mu.Lock()
				armed = true
				mu.Unlock()
				var adding sync.WaitGroup
				adding.Go(func() {
					if _, err := log.Add(t.Context(), w.signed(title+", lost")); err == nil {
						t.Error("it was acknowledged")
					}
				})
				<-crashed
				if err := log.Close(); err != nil {
					t.Error(err)
				}
				adding.Wait()
				// What comes first now is another entry than was lost, or was not.
				w.open()
				if e := w.logged(w.log, title+", lost").Evidence; e.Index != int64(2*round+1) {
					t.Errorf("it is entry %d", e.Index)
				}
				has[title+", lost"] = int64(2*round + 1)
				if err := w.log.Close(); err != nil {
					t.Error(err)
				}
			}
			if len(s.bad) > 0 || len(s.all) < 8 {
				t.Errorf("checkpoints of one size differ: %q of %d", s.bad, len(s.all))
			}
		})
	}
}

// shared is a store that outlives who stands on it.
type shared struct{ keep.Store }

func (shared) Close() error { return nil }

// standing returns a world whose log has ended, and the store that it stood on.
func standing(t *testing.T) (*world, keep.Store) {
	t.Helper()
	w := newWorld(t)
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := journal.Open(filepath.Join(w.options.Folder, "shelves"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return w, store
}

// Processes that share a store are one log: an entry has one number whoever is asked, a round has one version, and
// each shows what the others have added. On a store that keeps nobody out of an Update two take the same number, which
// is caught.
func TestSeveralProcessesAreOneLog(t *testing.T) {
	t.Run("together", func(t *testing.T) {
		w, store := standing(t)
		for _, v := range oneLog(t, w, shared{store}, 90*time.Second) {
			t.Error(v)
		}
	})
	t.Run("in each other's way", func(t *testing.T) {
		w, store := standing(t)
		said := oneLog(t, w, loose{shared{store}, &meeting{both: make(chan struct{})}}, 5*time.Second)
		t.Logf("%q", said)
		if !slices.ContainsFunc(said, func(v string) bool {
			return strings.Contains(v, "its entries are not those of the checkpoint") || strings.Contains(v, "does not sign: status 409")
		}) {
			t.Error("not caught")
		}
	})
}

// oneLog has three processes on a store add plans at once, and returns what must not come of it. An alarm ends it after
// patience.
func oneLog(t *testing.T, w *world, store keep.Store, patience time.Duration) (violations []string) {
	t.Helper()
	var mu sync.Mutex
	violate := func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		violations = append(violations, fmt.Sprintf(format, a...))
	}
	s := &seen{all: map[string]string{}}
	w.options.Witnesses[0] = s.before(t, w.options.Witnesses[0])
	w.options.Store = store
	var processes [3]*planlog.Service
	for i := range processes {
		log, err := planlog.New(t.Context(), w.options)
		if err != nil {
			t.Fatal(err)
		}
		processes[i] = log
		defer processes[i].Close()
	}
	// A process whose log is not the one that was shown waits for good. So do all where each witness has signed
	// another one: its refusals are an alarm that stays.
	ctx, fork := context.WithCancelCause(t.Context())
	defer fork(nil)
	go func() {
		for since := time.Now(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			for _, log := range processes {
				for _, alarm := range log.Status(ctx).Alarms {
					if strings.Contains(alarm, "not those of the checkpoint") || time.Since(since) > patience {
						fork(errors.New(alarm))
					}
				}
			}
		}
	}()
	add := func(log *planlog.Service, title string) (at int64) {
		signed := w.signed(title)
		e, err := log.Add(ctx, signed)
		if err != nil {
			violate("plan %s is not added: %v: %v", title, err, context.Cause(ctx))
			return -1
		}
		signed.Evidence = &e
		if err := signed.Verify(w.trusts()); err != nil {
			violate("%v", err)
		}
		return e.Index
	}
	const n = 40
	numbers := make([][n]int64, len(processes))
	var all sync.WaitGroup
	own := [len(processes)]int64{}
	for p, log := range processes {
		all.Go(func() { own[p] = add(log, fmt.Sprint("of process ", p)) })
	}
	all.Wait()
	if len(violations) > 0 {
		return violations
	}
	for p, log := range processes {
		for i := range n {
			all.Go(func() { numbers[p][i] = add(log, fmt.Sprint(i)) })
		}
	}
	all.Wait()
	taken := map[int64]bool{}
	for p := range processes {
		taken[own[p]] = true
		for i, at := range numbers[p] {
			taken[at] = true
			if at != numbers[0][i] {
				violate("plan %d has the entries %d and %d", i, numbers[0][i], at)
			}
		}
	}
	if most := int64(len(processes) + n); int64(len(taken)) != most || taken[most] {
		violate("%d plans have %d entries", most, len(taken))
	}
	if len(s.bad) > 0 {
		violate("checkpoints of one size differ: %q", s.bad)
	}
	round := versions(t, w)
	var took, refused int
	for i, log := range processes {
		if _, err := log.Add(ctx, round(1, i)); err == nil {
			took++
		} else {
			refused++
		}
	}
	if took != 1 || refused != 2 {
		violate("of three versions of a round %d stand in the log", took)
	}
	return violations
}

// loose is a store on which the first two who add an entry have both read before either writes.
type loose struct {
	shared
	meet *meeting
}

func (l loose) Open(ctx context.Context, name string) (keep.Shelf, error) {
	s, err := l.shared.Open(ctx, name)
	return looseShelf{s, l.meet}, err
}

type looseShelf struct {
	keep.Shelf
	meet *meeting
}

func (s looseShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	if s.meet.came.Load() > 1 {
		return s.Shelf.Update(ctx, fn)
	}
	tx := looseTx{ctx: ctx, shelf: s.Shelf, put: &[]keep.Row{}}
	if err := fn(tx); err != nil {
		return err
	}
	if slices.ContainsFunc(*tx.put, func(r keep.Row) bool { return r.Table == 1 }) {
		s.meet.wait(ctx)
	}
	return s.Shelf.Update(ctx, func(to keep.Tx) error {
		for _, r := range *tx.put {
			to.Put(r.Table, r.Key, r.Value)
		}
		return nil
	})
}

// looseTx reads what is there, and writes nothing yet.
type looseTx struct {
	keep.Tx
	ctx   context.Context
	shelf keep.Shelf
	put   *[]keep.Row
}

func (tx looseTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	return tx.shelf.Get(tx.ctx, t, key)
}

func (tx looseTx) Put(t keep.Table, key string, value []byte) {
	*tx.put = append(*tx.put, keep.Row{Table: t, Key: key, Value: value})
}

// meeting lets nobody pass before a second one has come.
type meeting struct {
	came atomic.Int64
	both chan struct{}
}

func (m *meeting) wait(ctx context.Context) {
	if m.came.Add(1) == 2 {
		close(m.both)
	}
	select {
	case <-m.both:
	case <-ctx.Done():
	}
}

// older is a store that is put back as it was under who stands on it: the newest entries are gone.
type older struct {
	shared
	gone atomic.Bool
}

func (o *older) Open(ctx context.Context, name string) (keep.Shelf, error) {
	s, err := o.shared.Open(ctx, name)
	return &olderShelf{s, &o.gone}, err
}

type olderShelf struct {
	keep.Shelf
	gone *atomic.Bool
}

func (s *olderShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	return s.Shelf.Update(ctx, func(tx keep.Tx) error { return fn(olderTx{tx, s.gone.Load()}) })
}

type olderTx struct {
	keep.Tx
	gone bool
}

func (tx olderTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	if tx.gone && t == 1 && key >= fmt.Sprintf("%016x", 1) {
		return nil, false, nil
	}
	return tx.Tx.Get(t, key)
}

// A log whose store is put back as it was while it runs adds nothing: another entry would get a number that was shown.
func TestAStoreThatIsPutBackUnderALog(t *testing.T) {
	w, store := standing(t)
	under := &older{shared: shared{store}}
	w.options.Store = under
	log, err := planlog.New(t.Context(), w.options)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, title := range []string{"one", "two"} {
		w.logged(log, title)
	}
	under.gone.Store(true)
	if e, err := log.Add(t.Context(), w.signed("three")); err == nil || !strings.Contains(err.Error(), "older copy") {
		t.Errorf("on an older copy: entry %d, %v", e.Index, err)
	}
	under.gone.Store(false)
	if e := w.logged(log, "three").Evidence; e.Index != 2 {
		t.Errorf("with the newest put back: entry %d", e.Index)
	}
}
