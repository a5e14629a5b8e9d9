package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// run does the committer's work. Those who were answered last are back within microseconds: the
// first of them must not be written alone while the others gather. So it sleeps until nearly
// as many wait as were there before, or until half the time of a write has passed. When
// nobody waits, the next is written at once.
func (s *shelf) run() {
	q := &s.queue
	defer close(q.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(max(q.took/2, shortest))
		select {
		case <-q.wake:
		case <-timer.C:
			if q.idle() {
				<-q.wake
			}
		}
		if q.ended() {
			return
		}
		runtime.Gosched() // who can run joins first: else one of them and this one take turns on a single core
		s.commit()
	}
}

// commit writes one group, which hashchain.Log.Append syncs, and then answers all who are in it.
func (s *shelf) commit() {
	r := &round{built: make(chan struct{})}
	group := s.queue.take(r)
	if len(group) == 0 {
		return
	}
	b := &s.batch
	b.begin(s, len(group) > 1)
	n := 0
	for ; n < len(group); n++ {
		if n > 0 && b.size+group[n].size > mostGroup {
			break
		}
		b.add(group[n])
	}
	s.queue.back(group[n:])
	group = group[:n]
	err := s.write(b, r)
	b.end()
	s.queue.next(group)
	for _, req := range group {
		if err != nil { // what it was told may rest on what was not written
			req.again, req.retry, req.err = false, false, err
		}
		close(req.done)
	}
	if err == nil {
		s.compactIfDue(s.o.mostMoved)
	}
}

type rowName struct {
	t   keep.Table
	key string
}

// batch is the rows of a group, in the order of its calls. Each call sees those before it.
type batch struct {
	s      *shelf
	ops    []op
	over   map[rowName]int // the last of ops for a row, if there are several calls
	many   bool
	size   int
	sealed bool // by a call before
}

// mostKept is how many rows a batch has room for when the next one begins.
const mostKept = 4096

// begin starts a batch in the memory of the last one.
func (b *batch) begin(s *shelf, many bool) {
	if b.over == nil {
		b.over = map[rowName]int{}
	}
	*b = batch{s: s, ops: b.ops, over: b.over, many: many, sealed: s.known.Sealed}
}

// end lets go of the rows.
func (b *batch) end() {
	if len(b.ops) > mostKept {
		b.ops, b.over = nil, nil
		return
	}
	clear(b.ops)
	clear(b.over)
	b.ops = b.ops[:0]
}

func (b *batch) find(t keep.Table, key string) (op, bool) {
	i, there := b.over[rowName{t, key}]
	if !there {
		return op{}, false
	}
	return b.ops[i], true
}

func (b *batch) put(o op) {
	if b.many {
		b.over[rowName{o.t, o.key}] = len(b.ops)
	}
	b.ops = append(b.ops, o)
	b.size += o.size()
}

func (b *batch) add(req *request) {
	switch {
	case req.tx != nil:
		b.update(req)
	case req.rows != nil:
		b.insert(req)
	case !b.sealed:
		b.put(op{t: own, kind: put, key: sealedKey})
		b.sealed = true
	}
}

// insert adds the rows of an Insert, all or none.
func (b *batch) insert(req *request) {
	if b.sealed {
		req.err = keep.ErrSealed
		return
	}
	there, same := 0, 0
	for _, r := range req.rows {
		o, over := b.find(r.Table, r.Key)
		if !over && b.s.index.at(r.Table, r.Key) > 0 {
			req.retry = true // it was written since the caller looked, who reads it
			return
		}
		if over && o.kind != deleted {
			there++
			if o.kind == inserted && o.tag == r.Tag && bytes.Equal(o.value, r.Value) {
				same++
			}
		}
	}
	switch {
	case there == 0:
		for _, r := range req.rows {
			b.put(op{t: r.Table, kind: inserted, tag: r.Tag, key: r.Key, value: r.Value})
		}
	case same == len(req.rows):
		req.again = true
	default:
		req.err = keep.ErrTaken
	}
}

// update lets the caller run fn, and adds what it put and deleted.
func (b *batch) update(req *request) {
	q := &b.s.queue
	q.mu.Lock()
	req.running = !req.left
	q.mu.Unlock()
	if !req.running {
		return
	}
	req.tx.batch = b
	close(req.turn)
	<-req.ran
	if req.err == nil {
		for _, o := range req.tx.ops {
			b.put(o)
		}
	}
}

// write puts a group on disk. Its rows are found when that is done, and no sooner.
func (s *shelf) write(b *batch, r *round) error {
	if len(b.ops) == 0 {
		close(r.built)
		return nil
	}
	s.mu.RLock()
	err := s.broken
	s.mu.RUnlock()
	if err != nil {
		close(r.built)
		return err
	}
	s.writer.begin(s.known.Rows)
	for _, o := range b.ops {
		s.writer.add(o)
	}
	close(r.built)
	if s.name == keep.Main {
		s.writer.pad()
	}
	at, start := s.vol.log.Next(), time.Now()
	err = s.vol.log.Append(s.writer.group)
	s.queue.took = (3*s.queue.took + time.Since(start)) / 4
	switch {
	case errors.Is(err, hashchain.ErrFull):
		return keep.ErrFull
	case err != nil:
		return s.fail(err)
	}
	s.mu.Lock()
	s.known.End = s.vol.log.End()
	s.known.Rows += uint64(len(b.ops))
	sealing := b.sealed && !s.known.Sealed
	s.known.Sealed = b.sealed
	for _, o := range b.ops {
		s.known.take(o)
	}
	s.mu.Unlock()
	if s.prompt || sealing {
		if err := s.save(); err != nil {
			return s.fail(err)
		}
	} else {
		s.saveLate()
	}
	s.mu.Lock()
	for i, o := range b.ops {
		p := s.writer.places[i]
		p.at += at
		s.index.apply(o, p)
	}
	s.mu.Unlock()
	s.writer.trim()
	return nil
}

// fail makes every later write fail: nobody knows what is on disk until the store is opened
// again.
func (s *shelf) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = fmt.Errorf("%w: the shelf %s cannot be written until the store is opened again: %w", keep.ErrUnavailable, s.name, err)
	return s.broken
}

// enter gives a request to the committer and waits for its answer.
func (s *shelf) enter(ctx context.Context, req *request) error {
	if err := s.queue.join(req); err != nil {
		return err
	}
	return s.answer(ctx, req)
}

// answer waits for the answer to a request, no longer than the context.
func (s *shelf) answer(ctx context.Context, req *request) error {
	select {
	case <-req.done:
		return req.err
	case <-ctx.Done():
		s.queue.leave(req)
		return unavailable(ctx)
	}
}

func unavailable(ctx context.Context) error {
	return fmt.Errorf("%w: %w", keep.ErrUnavailable, context.Cause(ctx))
}
