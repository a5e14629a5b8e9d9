package keeptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func (s *memoryShelf) Insert(ctx context.Context, rows ...keep.Row) (again bool, err error) {
	if s.is("keys end at NUL") {
		for i, r := range rows {
			rows[i].Key, _, _ = strings.Cut(r.Key, "\x00")
			rows[i].Key += "."
		}
	}
	if err := keep.CheckRows(rows); err != nil && !s.is("no bounds") {
		return false, err
	}
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.p.m.mu.Unlock()
	if s.s.sealed && !(s.is("Seal stops single rows alone") && len(rows) > 1) && !(s.is("again behind Seal") && s.there(rows) == len(rows)) {
		return false, keep.ErrSealed
	}
	there := s.there(rows)
	if there == len(rows) {
		return !s.is("again is forgotten"), nil
	}
	if taken := there > 0 || s.occupied(rows); taken && !s.is("taken rows leave others") && !(s.is("some rows again are enough") && there > 0) {
		return false, keep.ErrTaken
	}
	for _, r := range rows {
		at := place{r.Table, r.Key}
		if _, there := s.s.rows[at]; there {
			err = keep.ErrTaken
			continue
		}
		s.s.written++
		s.s.rows[at] = memoryRow{value: bytes.Clone(r.Value), tag: r.Tag, number: s.s.written}
	}
	if s.is("some rows again are enough") {
		err = nil
	}
	return false, err
}

// there returns how many of the rows are there as an Insert wrote them.
func (s *memoryShelf) there(rows []keep.Row) (n int) {
	for _, r := range rows {
		was, there := s.s.rows[place{r.Table, r.Key}]
		if there && (was.number > 0 || s.is("Update's rows come again")) && (was.tag == r.Tag || s.is("again whatever the tag")) && (bytes.Equal(was.value, r.Value) || s.is("again whatever the value")) {
			n++
		}
	}
	return n
}

// occupied reports whether something stands under one of the rows' keys.
func (s *memoryShelf) occupied(rows []keep.Row) bool {
	for _, r := range rows {
		if _, there := s.s.rows[place{r.Table, r.Key}]; there {
			return true
		}
	}
	return false
}

// lone returns when no Update and no Seal of the shelf runs.
func (s *memoryShelf) lone(ctx context.Context) (done func(), err error) {
	if s.is("Update is not alone") {
		return func() {}, nil
	}
	select {
	case s.s.alone <- struct{}{}:
		return func() { <-s.s.alone }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
}

func (s *memoryShelf) Seal(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.p.m.mu.Unlock()
	if !s.is("Seal waits for no Update") {
		done, err := s.lone(ctx)
		if err != nil {
			return err
		}
		defer done()
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.p.m.mu.Unlock()
	s.s.sealed = true
	return nil
}

func (s *memoryShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	if err := s.enter(ctx); err != nil { // an ended context runs nothing
		return err
	}
	s.p.m.mu.Unlock()
	done, err := s.lone(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.enter(ctx); err != nil {
		return err
	}
	tx := &memoryTx{s: s, ctx: ctx, sealed: s.s.sealed, put: map[place][]byte{}, deleted: map[place]bool{}}
	s.p.m.mu.Unlock()
	if err := fn(tx); err != nil {
		if s.is("a failed Update writes") {
			tx.write()
		}
		return err
	}
	if tx.err != nil {
		return tx.err
	}
	if s.is("Update runs twice") {
		fn(tx)
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.p.m.mu.Unlock()
	return tx.write()
}

// memoryTx writes when its fn has returned.
type memoryTx struct {
	s       *memoryShelf
	ctx     context.Context
	sealed  bool
	put     map[place][]byte
	deleted map[place]bool
	err     error
	size    int
}

func (tx *memoryTx) write() error {
	if err := keep.CheckSize(tx.size); err != nil && !tx.s.is("no bounds") {
		return err
	}
	tx.s.p.m.mu.Lock()
	defer tx.s.p.m.mu.Unlock()
	rows := tx.s.s.rows
	for at := range tx.deleted {
		if r := rows[at]; r.number > 0 {
			tx.s.s.deleted[r.tag]++
		}
		delete(rows, at)
		if tx.s.is("deleted keys are taken") {
			rows[at] = memoryRow{}
		}
	}
	for at, value := range tx.put {
		r := memoryRow{value: bytes.Clone(value)}
		if tx.s.is("put rows stay Insert's") {
			r.tag, r.number = rows[at].tag, rows[at].number
		}
		rows[at] = r
	}
	return nil
}

func (tx *memoryTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	if err := keep.CheckKey(t, key); err != nil {
		tx.err = err
		return nil, false, err
	}
	if at := (place{t, key}); !tx.s.is("Update reads what was") {
		if value, there := tx.put[at]; there {
			return bytes.Clone(value), true, nil
		}
		if tx.deleted[at] {
			return nil, false, nil
		}
	}
	return tx.s.Get(tx.ctx, t, key)
}

func (tx *memoryTx) Each(t keep.Table, prefix string, fn func(string, []byte) error) error {
	if err := tx.s.enter(tx.ctx); err != nil {
		tx.err = err
		return err
	}
	now := map[place]memoryRow{}
	for at, r := range tx.s.s.rows {
		if !tx.deleted[at] {
			now[at] = r
		}
	}
	for at, value := range tx.put {
		now[at] = memoryRow{value: value}
	}
	all := &memoryShelf{tx.s.p, &shelfRows{rows: now}}
	return all.each(t, func(key string, _ memoryRow) bool { return strings.HasPrefix(key, prefix) }, strings.Compare, fn)
}

func (tx *memoryTx) Put(t keep.Table, key string, value []byte) {
	if err := keep.CheckRow(t, key, value); err != nil && !tx.s.is("no bounds") {
		tx.err = err
	}
	delete(tx.deleted, place{t, key})
	tx.put[place{t, key}] = value
	tx.size += len(key) + len(value) + keep.RowMore
}

func (tx *memoryTx) Delete(t keep.Table, key string) {
	if err := keep.CheckKey(t, key); err != nil {
		tx.err = err
	}
	delete(tx.put, place{t, key})
	tx.deleted[place{t, key}] = true
	tx.size += len(key) + keep.RowMore
}

func (tx *memoryTx) Sealed() bool { return tx.sealed }
