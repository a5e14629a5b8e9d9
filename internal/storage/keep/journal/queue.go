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

// request is an Insert, an Update or a Seal that waits for the committer.
type request struct {
	rows []keep.Row // of an Insert
	tx   *tx        // of an Update
	size int

	turn, ran chan struct{} // of an Update: closed when fn may run, and when it has
	done      chan struct{} // closed when it is answered
	again     bool
	retry     bool // ask once more: meanwhile a row came under one of the keys
	err       error

	// Under the queue's lock.
	round   *round // in which it is; nil: it waits
	running bool   // fn's turn has come
	left    bool   // nobody waits for it
}

// round is a group that is being built. What requests point to is not read any more when built
// is closed.
type round struct{ built chan struct{} }

// queue is those who wait for the committer.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	target  int // how many wait when the committer is woken; 0: it is at work
	bytes   int // of requests that are not answered
	closed  error

	wake chan struct{}
	done chan struct{} // closed when the committer has ended
	took time.Duration // of the committer
}

// join puts a request into the queue.
func (q *queue) join(req *request) error {
	req.done = make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed != nil:
		return q.closed
	case q.bytes+req.size > maxBehind:
		return fmt.Errorf("%w: the disk is behind", keep.ErrUnavailable)
	}
	q.waiting = append(q.waiting, req)
	q.bytes += req.size
	if len(q.waiting) == q.target || q.bytes > mostGroup {
		q.poke()
	}
	return nil
}

func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// leave takes a request out of the queue whose caller waits no more, or waits until the committer
// has no use for what it points to.
func (q *queue) leave(req *request) {
	for {
		q.mu.Lock()
		r := req.round
		req.left = r == nil
		q.mu.Unlock()
		if r == nil {
			return
		}
		<-r.built
		q.mu.Lock()
		in := req.round == r // else it was put back into the queue
		q.mu.Unlock()
		if in {
			return
		}
	}
}

// idle reports whether nobody waits, and has the next one wake the committer.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return false
	}
	q.target = 1
	return true
}

// ended reports whether the shelf is closed, and answers those who wait.
func (q *queue) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		return false
	}
	for _, req := range q.waiting {
		req.err = q.closed
		close(req.done)
	}
	q.waiting = nil
	return true
}

// take returns who waits.
func (q *queue) take(r *round) (group []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	group = q.waiting[:0]
	for _, req := range q.waiting {
		if req.left {
			q.bytes -= req.size
			continue
		}
		req.round = r
		group = append(group, req)
	}
	q.waiting, q.target = nil, 0
	return group
}

// back puts those back at the head of the queue for whom a group had no room.
func (q *queue) back(rest []*request) {
	if len(rest) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, req := range rest {
		req.round = nil
	}
	q.waiting = append(rest[:len(rest):len(rest)], q.waiting...)
}

// next takes note of who was answered, and wakes the committer when nearly as many wait.
func (q *queue) next(group []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, req := range group {
		q.bytes -= req.size
	}
	q.target = max(1, (len(group)+len(q.waiting))*15/16)
	if len(q.waiting) >= q.target || q.bytes > mostGroup {
		q.poke()
	}
}
