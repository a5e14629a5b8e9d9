package keeptest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// memoryShelf is a shelf that one process has opened.
type memoryShelf struct {
	p *process
	s *shelfRows
}

// enter locks the memory for a call of a shelf that is there.
func (s *memoryShelf) enter(ctx context.Context) error {
	if err := s.p.enter(ctx); err != nil {
		return err
	}
	if s.s.dropped && !s.is("dropped rows are read") {
		s.p.m.mu.Unlock()
		return keep.ErrDropped
	}
	return nil
}

func (s *memoryShelf) is(twin string) bool { return s.p.m.twin == twin }

// handed returns a value as its reader's own.
func (s *memoryShelf) handed(value []byte) []byte {
	if s.is("values are shared") {
		return value
	}
	return bytes.Clone(value)
}

func (s *memoryShelf) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	if err := keep.CheckKey(t, key); err != nil {
		return nil, false, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, false, err
	}
	defer s.p.m.mu.Unlock()
	r, there := s.s.rows[place{t, key}]
	if r.rotten {
		return nil, false, keep.ErrDamaged
	}
	return s.handed(r.value), there, nil
}

// each calls fn for those of a table that are in, in order, without the lock.
func (s *memoryShelf) each(t keep.Table, in func(string, memoryRow) bool, order func(a, b string) int, fn func(string, []byte) error) error {
	var keys []string
	rows := map[string]memoryRow{}
	for at, r := range s.s.rows {
		if at.t == t && in(at.key, r) {
			keys, rows[at.key] = append(keys, at.key), r
		}
	}
	s.p.m.mu.Unlock()
	slices.SortFunc(keys, order)
	for _, key := range keys {
		if rows[key].rotten {
			return keep.ErrDamaged
		}
		if err := fn(key, bytes.Clone(rows[key].value)); err != nil {
			if s.is("errors of a reader are lost") {
				return nil
			}
			return err
		}
	}
	return nil
}

func (s *memoryShelf) Each(ctx context.Context, t keep.Table, prefix string, fn func(string, []byte) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.each(t, func(key string, _ memoryRow) bool {
		if s.is("a prefix ends at FF") && strings.HasSuffix(prefix, "\xff") {
			return key >= prefix && key < prefix+"\xff"
		}
		return strings.HasPrefix(key, prefix)
	}, strings.Compare, fn)
}

func (s *memoryShelf) InOrder(ctx context.Context, t keep.Table, fn func(string, []byte) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if !s.s.sealed && !s.is("order of an open shelf") {
		s.p.m.mu.Unlock()
		return fmt.Errorf("keep: an open shelf has no order")
	}
	numbers := map[string]int{}
	for at, r := range s.s.rows {
		if at.t == t {
			numbers[at.key] = r.number
		}
	}
	order := func(a, b string) int { return numbers[a] - numbers[b] }
	if s.is("order by key") {
		order = strings.Compare
	}
	return s.each(t, func(_ string, r memoryRow) bool { return r.number > 0 || s.is("Update's rows in order") }, order, fn)
}

func (s *memoryShelf) Count(ctx context.Context, t keep.Table, tag uint32) (n int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.p.m.mu.Unlock()
	for at, r := range s.s.rows {
		if at.t == t && r.tag == tag && (r.number > 0 || s.is("Update's rows are counted")) {
			n++
		}
	}
	if s.is("deleted rows are counted") {
		n += s.s.deleted[tag]
	}
	return n, nil
}

func (s *memoryShelf) Secret(ctx context.Context, purpose string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.p.m.mu.Unlock()
	if s.is("one secret for all purposes") {
		purpose = ""
	}
	return digest(s.s.secret + purpose), nil
}

func (s *memoryShelf) Check(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.p.m.mu.Unlock()
	for _, r := range s.s.rows {
		if r.rotten {
			return keep.ErrDamaged
		}
	}
	return nil
}
