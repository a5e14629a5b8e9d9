package shelves

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Steps are tasks that processes share, on a shelf of their own: each is held by one of them at
// a time, and is another's when its holder has said nothing for as long as a lease. That saves
// work and guards nothing: a task may be done twice, and by two at once. It is safe for
// concurrent use.
//
// No time of day is compared: a process takes a task over that it has itself seen unchanged for
// a lease, by a clock that runs evenly.
type Steps struct {
	shelf keep.Shelf
	lease time.Duration
	me    string

	mu   sync.Mutex
	seen map[string]sighting // of tasks that others hold
}

// Tables of the shelf of steps.
const (
	tasks keep.Table = 1 // name -> held
	posts keep.Table = 2 // of those that are never done
)

// held is a task on the shelf.
type held struct {
	Body  []byte    `json:"body,omitempty"`
	By    string    `json:"by,omitempty"` // process; "": nobody
	Beat  uint64    `json:"beat"`         // goes up each time that a holder says something
	Added time.Time `json:"added,omitzero"`
}

// sighting is when a process has seen what a holder said last.
type sighting struct {
	by   string
	beat uint64
	at   time.Time
	wait time.Duration // after which the task is free
}

const (
	stepsShelf = "steps"
	look       = 100 * time.Millisecond // how soon a process looks for a task again
	mostLook   = time.Second            // and at most, where it has found none for as long
	pause      = 2 * time.Second        // before a process takes a task again that it has failed in, at most
)

// OpenSteps opens the shelf of steps, and makes it if it is not there.
func OpenSteps(ctx context.Context, store keep.Store, lease time.Duration) (*Steps, error) {
	shelf, err := store.Open(ctx, stepsShelf)
	if errors.Is(err, keep.ErrMissing) {
		if shelf, err = store.Create(ctx, stepsShelf); errors.Is(err, keep.ErrExists) { // another process was quicker
			shelf, err = store.Open(ctx, stepsShelf)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Steps{shelf: shelf, lease: lease, me: fmt.Sprintf("%016x", rng.New().Uint64()), seen: map[string]sighting{}}, nil
}

// Lease returns how long a task stays its holder's.
func (s *Steps) Lease() time.Duration { return s.lease }

func parseHeld(value []byte) (h held, err error) {
	return h, Unmarshal(tasks, value, &h)
}

// Add puts a task there under a name, unless it is there and nobody has done it yet.
func (s *Steps) Add(ctx context.Context, name string, body []byte) error {
	return s.shelf.Update(ctx, func(tx keep.Tx) error {
		_, err := First(tx, tasks, name, Marshal(held{Body: body, Added: time.Now()}))
		return err
	})
}

// free reports whether a task may be taken, and takes note of what its holder has said.
func (s *Steps) free(name string, h held, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.seen[name]
	if known && was.by == h.By && was.beat == h.Beat {
		return now.Sub(was.at) >= was.wait
	}
	if h.By == "" {
		delete(s.seen, name)
		return true
	}
	s.seen[name] = sighting{h.By, h.Beat, now, s.lease}
	return false
}

// Task is one that was taken.
type Task struct {
	Body []byte

	steps *Steps
	table keep.Table
	name  string
	beat  uint64
}

// errFree ends a reading: there is a free task.
var errFree = errors.New("shelves: a task is free")

// Take waits for a task, at most so long; false: there was none. The longer there is none, the less often it looks.
func (s *Steps) Take(ctx context.Context, wait time.Duration) (task Task, there bool, err error) {
	begin := time.Now()
	for end := begin.Add(wait); ; {
		// Without the lock of an Update, which is for those who find something.
		names := map[string]bool{}
		err = s.shelf.Each(ctx, tasks, "", func(name string, value []byte) error {
			h, err := parseHeld(value)
			if err == nil {
				names[name] = true
				if s.free(name, h, time.Now()) {
					err = errFree
				}
			}
			return err
		})
		if errors.Is(err, errFree) {
			if task, there, err = s.take(ctx); there || err != nil {
				return task, there, err
			}
		} else if err != nil {
			return Task{}, false, err
		} else {
			s.keepSeen(names)
		}
		if !time.Now().Before(end) {
			return Task{}, false, nil
		}
		select {
		case <-ctx.Done():
			return Task{}, false, ctx.Err()
		case <-time.After(min(max(look, time.Since(begin)/2), mostLook, max(time.Until(end), look))):
		}
	}
}

// ofPost begins the names of posts in seen. No task's name begins so.
const ofPost = "post "

// keepSeen forgets tasks that are done, and keeps posts: a process that looks for tasks may wait for a lead too.
func (s *Steps) keepSeen(names map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.seen {
		if !names[name] && !strings.HasPrefix(name, ofPost) {
			delete(s.seen, name)
		}
	}
}

// take takes the first task that is free.
func (s *Steps) take(ctx context.Context) (task Task, there bool, err error) {
	err = s.shelf.Update(ctx, func(tx keep.Tx) error {
		task, there = Task{}, false
		err := tx.Each(tasks, "", func(name string, value []byte) error {
			h, err := parseHeld(value)
			if err != nil || !s.free(name, h, time.Now()) {
				return err
			}
			task, there = s.hold(tx, tasks, name, h), true
			return errFree
		})
		if errors.Is(err, errFree) {
			err = nil
		}
		return err
	})
	return task, there && err == nil, err
}

// hold writes that a task is this process's.
func (s *Steps) hold(tx keep.Tx, t keep.Table, name string, h held) Task {
	h.By, h.Beat = s.me, h.Beat+1
	tx.Put(t, name, Marshal(h))
	return Task{h.Body, s, t, name, h.Beat}
}

// Lead runs fn if no other process leads under a name, and holds the lead meanwhile; without an
// error from it for a lease more. led is false where another leads.
func (s *Steps) Lead(ctx context.Context, name string, fn func(context.Context) error) (led bool, err error) {
	var task Task
	err = s.shelf.Update(ctx, func(tx keep.Tx) error {
		led = false
		var h held
		value, there, err := tx.Get(posts, name)
		if err == nil && there {
			h, err = parseHeld(value)
		}
		if err != nil {
			return err
		}
		if h.By == s.me || !there || s.free(ofPost+name, h, time.Now()) {
			task, led = s.hold(tx, posts, name, h), true
		}
		return nil
	})
	if err != nil || !led {
		return false, err
	}
	return true, task.held(ctx, fn)
}

// Resign lets another process lead at once.
func (s *Steps) Resign(ctx context.Context, name string) error {
	return s.change(ctx, posts, name, func(h held) (held, bool) { h.By = ""; return h, true })
}

// change writes a task of this process's anew, or takes it away.
func (s *Steps) change(ctx context.Context, t keep.Table, name string, next func(held) (h held, stays bool)) error {
	return s.shelf.Update(ctx, func(tx keep.Tx) error {
		value, there, err := tx.Get(t, name)
		if err != nil || !there {
			return err
		}
		h, err := parseHeld(value)
		if err != nil || h.By != s.me {
			return err
		}
		h, stays := next(h)
		if !stays {
			tx.Delete(t, name)
			return nil
		}
		h.Beat++
		tx.Put(t, name, Marshal(h))
		return nil
	})
}

// held runs fn, and says all the while that the task is held.
func (t Task) held(ctx context.Context, fn func(context.Context) error) error {
	ended, last := make(chan struct{}), make(chan struct{})
	beats, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(last)
		for {
			select {
			case <-ended:
				return
			case <-time.After(t.steps.lease / 3):
				t.steps.change(beats, t.table, t.name, func(h held) (held, bool) { return h, true }) // or another does it too
			}
		}
	}()
	err := fn(ctx)
	close(ended)
	stop()
	<-last
	return err
}

// Do runs what a task asks for, and holds it meanwhile. Done without an error, it is there no
// more; with one, it is anybody's, and this process's again some seconds later.
func (t Task) Do(ctx context.Context, fn func(context.Context) error) error {
	err := t.held(ctx, fn)
	end := context.WithoutCancel(ctx)
	if err == nil {
		return t.steps.shelf.Update(end, func(tx keep.Tx) error {
			tx.Delete(t.table, t.name)
			return nil
		})
	}
	return errors.Join(err, t.steps.change(end, t.table, t.name, func(h held) (held, bool) {
		h.By = ""
		t.steps.mu.Lock()
		defer t.steps.mu.Unlock()
		t.steps.seen[t.name] = sighting{"", h.Beat + 1, time.Now(), min(t.steps.lease, pause)}
		return h, true
	}))
}

// Backlog returns how many tasks wait for somebody, how many somebody is at or was when their
// process ended, and since when the oldest of all is there; the zero time: there is none.
func (s *Steps) Backlog(ctx context.Context) (ready, leased int, oldest time.Time, err error) {
	err = s.shelf.Each(ctx, tasks, "", func(_ string, value []byte) error {
		h, err := parseHeld(value)
		if err != nil {
			return err
		}
		if h.By == "" {
			ready++
		} else {
			leased++
		}
		if oldest.IsZero() || h.Added.Before(oldest) {
			oldest = h.Added
		}
		return nil
	})
	return ready, leased, oldest, err
}
