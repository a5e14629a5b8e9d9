package journal

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// tx is what fn of an Update reads and writes by. It runs while the committer waits, in the
// goroutine of its caller: a panic is the caller's.
type tx struct {
	s     *shelf
	batch *batch // of the calls before it in the group
	ops   []op
	own   map[rowName]int // where in ops a row is
	size  int
	fault error
}

// errUnfinished is the error of an fn that did not return.
var errUnfinished = errors.New("journal: the function of an Update did not return")

// Update implements keep.Shelf.
func (s *shelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	return s.update(ctx, func(t *tx) error { return fn(t) })
}

func (s *shelf) update(ctx context.Context, fn func(*tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	req := &request{tx: &tx{s: s}, turn: make(chan struct{}), ran: make(chan struct{}), size: keep.RowMore}
	if err := s.queue.join(req); err != nil {
		return err
	}
	select {
	case <-req.turn:
	case <-req.done:
		return req.err
	case <-ctx.Done():
		if s.queue.giveUp(req) {
			return unavailable(ctx)
		}
		<-req.turn
	}
	req.run(ctx, fn)
	return s.answer(ctx, req)
}

// giveUp takes an Update out of the queue whose turn has not come.
func (q *queue) giveUp(req *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	req.left = !req.running
	return req.left
}

// run runs fn in its turn.
func (req *request) run(ctx context.Context, fn func(*tx) error) {
	defer close(req.ran)
	req.err = errUnfinished
	if ctx.Err() != nil {
		req.err = unavailable(ctx)
		return
	}
	err := fn(req.tx)
	if err == nil {
		err = req.tx.fault
	}
	if err == nil {
		err = keep.CheckSize(req.tx.size)
	}
	req.err = err
}

// Sealed implements keep.Tx.
func (t *tx) Sealed() bool { return t.batch.sealed }

// Get implements keep.Tx.
func (t *tx) Get(table keep.Table, key string) ([]byte, bool, error) {
	if err := keep.CheckKey(table, key); err != nil {
		return nil, false, t.fail(err)
	}
	return t.get(table, key)
}

func (t *tx) get(table keep.Table, key string) ([]byte, bool, error) {
	o, over := t.changed(table, key)
	if over {
		return bytes.Clone(o.value), o.kind != deleted, nil
	}
	o, there, err := t.s.read(table, key)
	return o.value, there, t.fail(err)
}

// changed returns what this Update or a call before it in the group made of a row.
func (t *tx) changed(table keep.Table, key string) (op, bool) {
	if i, own := t.own[rowName{table, key}]; own {
		return t.ops[i], true
	}
	return t.batch.find(table, key)
}

func (t *tx) fail(err error) error {
	if t.fault == nil {
		t.fault = err
	}
	return err
}

// Each implements keep.Tx.
func (t *tx) Each(table keep.Table, prefix string, fn func(key string, value []byte) error) error {
	if err := keep.CheckTable(table); err != nil {
		return t.fail(err)
	}
	keys, err := t.s.keys(table, prefix)
	if err != nil {
		return t.fail(err)
	}
	known := len(keys)
	more := func(o op) {
		if o.t == table && o.kind != deleted && strings.HasPrefix(o.key, prefix) {
			keys = append(keys, o.key)
		}
	}
	for _, i := range t.batch.over {
		more(t.batch.ops[i])
	}
	for _, o := range t.ops {
		more(o)
	}
	if len(keys) > known {
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	for _, key := range keys {
		value, there, err := t.get(table, key)
		if err != nil {
			return err
		}
		if there {
			if err := fn(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Put implements keep.Tx.
func (t *tx) Put(table keep.Table, key string, value []byte) {
	if t.fail(keep.CheckRow(table, key, value)) == nil {
		t.set(op{t: table, kind: put, key: key, value: value})
	}
}

// Delete implements keep.Tx.
func (t *tx) Delete(table keep.Table, key string) {
	if t.fail(keep.CheckKey(table, key)) != nil {
		return
	}
	there := t.s.index.at(table, key) > 0
	if o, over := t.changed(table, key); over {
		there = o.kind != deleted
	}
	if there {
		t.set(op{t: table, kind: deleted, key: key})
	}
}

func (t *tx) set(o op) {
	name := rowName{o.t, o.key}
	t.size += o.size()
	if i, own := t.own[name]; own {
		t.size -= t.ops[i].size()
		t.ops[i] = o
		return
	}
	if t.own == nil {
		t.own = map[rowName]int{}
	}
	t.own[name] = len(t.ops)
	t.ops = append(t.ops, o)
}
