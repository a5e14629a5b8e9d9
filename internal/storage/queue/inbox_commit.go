package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// put is a content that waits for the committer, or a task for it.
type put struct {
	key  [16]byte
	mark mark
	body []byte
	task func(context.Context) error // instead of a content: done alone, in its turn

	done  chan struct{} // closed when it is answered
	again bool
	err   error
}

// enqueue returns when the committer has answered, which it does within
// callTimeout of each group before.
func (in *Inbox) enqueue(p *put) error {
	p.done = make(chan struct{})
	size := len(p.body) + contentHead
	in.mu.Lock()
	switch {
	case in.closed:
		in.mu.Unlock()
		return fmt.Errorf("%w: the queue is closed", ErrUnavailable)
	case in.bytes+size > maxBehind:
		in.mu.Unlock()
		return fmt.Errorf("%w: the disk is behind", ErrUnavailable)
	}
	in.waiting = append(in.waiting, p)
	in.bytes += size
	if len(in.waiting) == in.target || p.task != nil || in.bytes > in.most {
		in.poke()
	}
	in.mu.Unlock()
	<-p.done
	return p.err
}

func (in *Inbox) poke() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// run is the committer. Those who were answered last are back within
// microseconds: the first of them must not be written alone while the others
// gather. So it sleeps until nearly as many wait as were there before, or until
// half the time of a write has passed. When nobody waits, the next is written at
// once.
func (in *Inbox) run() {
	defer close(in.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(max(in.took/2, shortest))
		select {
		case <-in.wake:
		case <-timer.C:
			if in.idle() {
				<-in.wake
			}
		}
		if in.ended() {
			return
		}
		runtime.Gosched() // who can run puts first: else one of them and this one take turns on a single core
		in.commit()
	}
}

// idle reports whether nobody waits, and has the next one wake the committer.
func (in *Inbox) idle() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.waiting) > 0 {
		return false
	}
	in.target = 1
	return true
}

// ended reports whether the inbox is closed, and answers those who wait.
func (in *Inbox) ended() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		return false
	}
	for _, p := range in.waiting {
		p.err = fmt.Errorf("%w: the queue is closed", ErrUnavailable)
		close(p.done)
	}
	in.waiting = nil
	return true
}

// take returns what goes into the next group: as much as fits, or one task.
func (in *Inbox) take() []*put {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, size := 0, 0
	for ; n < len(in.waiting); n++ {
		p := in.waiting[n]
		size += len(p.body) + contentHead
		if n > 0 && (size > in.most || p.task != nil || in.waiting[0].task != nil) {
			break
		}
	}
	group := in.waiting[:n:n]
	in.waiting = in.waiting[n:]
	for _, p := range group {
		in.bytes -= len(p.body) + contentHead
	}
	if len(in.waiting) == 0 {
		in.waiting = nil // the array is the group's
	}
	in.target = 0
	return group
}

// commit writes one group and answers all who are in it.
func (in *Inbox) commit() {
	group := in.take()
	if len(group) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var err error
	if task := group[0].task; task != nil {
		err = task(ctx)
	} else {
		err = in.write(ctx, group)
	}
	in.mu.Lock()
	in.target = max(1, (len(group)+len(in.waiting))*15/16)
	if len(in.waiting) >= in.target || in.bytes > in.most || len(in.waiting) > 0 && in.waiting[0].task != nil {
		in.poke()
	}
	in.mu.Unlock()
	for _, p := range group {
		if err != nil {
			p.again, p.err = false, err
		}
		close(p.done)
	}
}

// write puts those of a group's contents on disk that are not there yet.
func (in *Inbox) write(ctx context.Context, group []*put) error {
	for {
		if err := in.fresh(ctx); err != nil {
			return err
		}
		if in.sealed {
			return ErrSealed
		}
		b := beginGroup(in.buf[:0], in.known.Contents)
		first := make(map[[16]byte]mark, len(group))
		for _, p := range group {
			was, there := in.marks[p.key]
			if !there {
				was, there = first[p.key]
			}
			p.again, p.err = there && was == p.mark, nil
			if there && was != p.mark {
				p.err = ErrTaken
			}
			if !there {
				first[p.key] = p.mark
				b = appendContent(b, p.key, p.mark.label, p.body)
			}
		}
		in.buf = b
		if len(first) == 0 {
			return nil // all of it is on disk
		}
		err := in.append(ctx, b)
		if errors.Is(err, errStale) {
			continue
		}
		if err != nil {
			return err
		}
		in.mu.Lock()
		for key, m := range first {
			in.marks[key] = m
			in.counts[m.label]++
		}
		in.known.Contents += uint64(len(first))
		in.mu.Unlock()
		in.advance()
		return nil
	}
}

// fresh reads what others may have written.
func (in *Inbox) fresh(ctx context.Context) error {
	if !in.stale {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return explain(err)
	}
	walk := hashchain.Walk{Skip: in.accepted()}
	if err := in.groups.Read(ctx, walk, in.enter); err != nil {
		return err
	}
	in.stale = false
	in.advance()
	return nil
}

// append puts a group on disk. After an error but ErrFull it may be there or not.
func (in *Inbox) append(ctx context.Context, contents []byte) error {
	if err := in.q.lastResort(); err != nil {
		return err
	}
	body := in.secret.seal(in.groups.End(), contents)
	start := time.Now()
	err := in.groups.Append(ctx, body)
	in.took = (3*in.took + time.Since(start)) / 4
	in.stale = err != nil && !errors.Is(err, ErrFull)
	return err
}
