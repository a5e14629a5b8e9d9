package journal

import (
	"fmt"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

const (
	// maxBehind is how many bytes may wait for the disk.
	maxBehind = 64 << 20

	// shortest is the least that the committer waits for others, as a timer can.
	shortest = 20 * time.Microsecond
)

// job is an Insert, an Update or a Seal that waits for the committer.
type job struct {
	rows []keep.Row // of an Insert
	tx   *tx        // of an Update
	size int

	turn, ran chan struct{} // of an Update: closed when fn may run, and when it has
	done      chan struct{} // closed when it is answered
	again     bool
	retry     bool // ask once more: meanwhile a row came under one of the keys
	err       error

	// Under the line's lock.
	round   *round // in which it is; nil: it waits
	running bool   // fn's turn has come
	left    bool   // nobody waits for it
}

// round is a group that is being built. What jobs point to is not read any more when built
// is closed.
type round struct{ built chan struct{} }

// line is those who wait for the committer.
type line struct {
	mu      sync.Mutex
	waiting []*job
	target  int // how many wait when the committer is woken; 0: it is at work
	bytes   int // of jobs that are not answered
	closed  error

	wake chan struct{}
	done chan struct{} // closed when the committer has ended
	took time.Duration // of the committer
}

// join puts a job into the line.
func (l *line) join(j *job) error {
	j.done = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed != nil:
		return l.closed
	case l.bytes+j.size > maxBehind:
		return fmt.Errorf("%w: the disk is behind", keep.ErrUnavailable)
	}
	l.waiting = append(l.waiting, j)
	l.bytes += j.size
	if len(l.waiting) == l.target || l.bytes > mostGroup {
		l.poke()
	}
	return nil
}

func (l *line) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// leave takes a job out of the line whose caller waits no more, or waits until the committer
// has no use for what it points to.
func (l *line) leave(j *job) {
	for {
		l.mu.Lock()
		r := j.round
		j.left = r == nil
		l.mu.Unlock()
		if r == nil {
			return
		}
		<-r.built
		l.mu.Lock()
		in := j.round == r // else it was put back into the line
		l.mu.Unlock()
		if in {
			return
		}
	}
}

// idle reports whether nobody waits, and has the next one wake the committer.
func (l *line) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) > 0 {
		return false
	}
	l.target = 1
	return true
}

// ended reports whether the shelf is closed, and answers those who wait.
func (l *line) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed == nil {
		return false
	}
	for _, j := range l.waiting {
		j.err = l.closed
		close(j.done)
	}
	l.waiting = nil
	return true
}

// take returns who waits.
func (l *line) take(r *round) (group []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	group = l.waiting[:0]
	for _, j := range l.waiting {
		if j.left {
			l.bytes -= j.size
			continue
		}
		j.round = r
		group = append(group, j)
	}
	l.waiting, l.target = nil, 0
	return group
}

// back puts those back at the head of the line for whom a group had no room.
func (l *line) back(rest []*job) {
	if len(rest) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range rest {
		j.round = nil
	}
	l.waiting = append(rest[:len(rest):len(rest)], l.waiting...)
}

// next takes note of who was answered, and wakes the committer when nearly as many wait.
func (l *line) next(group []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range group {
		l.bytes -= j.size
	}
	l.target = max(1, (len(group)+len(l.waiting))*15/16)
	if len(l.waiting) >= l.target || l.bytes > mostGroup {
		l.poke()
	}
}
