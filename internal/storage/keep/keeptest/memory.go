package keeptest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// memory is the reference: what keep.Store promises, in maps. Engines are compared with it.
// Its twins have one bug each, by name, and the suite must find all of them.
type memory struct {
	mu        sync.Mutex
	shelves   map[string]*shelfRows
	processes []*process
	twin      string
}

type shelfRows struct {
	dropped, sealed bool
	rows            map[place]memoryRow
	written         int            // rows of Insert so far
	lost            uint64         // rows that were set aside
	deleted         map[uint32]int // rows of Insert that are gone, by label
	secret          string
	alone           chan struct{} // held by an Update or a Seal
}

type place struct {
	t   keep.Table
	key string
}

type memoryRow struct {
	value  []byte
	label  uint32
	number int // of Insert's rows, from 1
	rotten bool
}

func newMemory(twin string) *memory {
	m := &memory{shelves: map[string]*shelfRows{}, twin: twin}
	m.shelves[keep.Main] = m.newShelf()
	return m
}

// reference returns the reference, or a twin of it, as an engine.
func reference(twin string) Engine {
	return Engine{Shared: true, New: func(testing.TB) Disk {
		m := newMemory(twin)
		return Disk{Open: func(context.Context) (keep.Store, error) { return m.open(), nil }, Kill: m.kill, Spoil: m.spoil}
	}}
}

func (m *memory) newShelf() *shelfRows {
	secret := make([]byte, 32)
	rng.Reader(rng.New()).Read(secret)
	return &shelfRows{rows: map[place]memoryRow{}, deleted: map[uint32]int{}, alone: make(chan struct{}, 1), secret: string(secret)}
}

// process is a memory that one process has opened.
type process struct {
	m      *memory
	closed bool
}

func (m *memory) open() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &process{m: m}
	m.processes = append(m.processes, p)
	return p
}

func (m *memory) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.processes {
		p.closed = true
	}
	for _, s := range m.shelves {
		for at := range s.rows {
			if m.twin == "a kill forgets" || m.twin == "a kill tears" && at.t == 2 {
				delete(s.rows, at)
			}
		}
	}
}

func (m *memory) spoil(_ testing.TB, shelf string, t keep.Table, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.shelves[shelf].rows[place{t, key}]
	r.rotten = true
	m.shelves[shelf].rows[place{t, key}] = r
}

// enter locks the memory for a call, which ends by m.mu.Unlock.
func (p *process) enter(ctx context.Context) error {
	p.m.mu.Lock()
	err := ctx.Err()
	if p.m.twin == "ended contexts go on" {
		err = nil
	}
	if err == nil && p.closed && p.m.twin != "closed answers" {
		p.m.mu.Unlock()
		return keep.ErrUnavailable
	}
	if err != nil {
		p.m.mu.Unlock()
		return fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
	}
	return nil
}

func (p *process) Create(ctx context.Context, shelf string) (keep.Shelf, error) {
	if err := keep.CheckName(shelf); err != nil {
		return nil, err
	}
	if shelf == keep.Main {
		return nil, fmt.Errorf("%w: %s", keep.ErrExists, shelf)
	}
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.m.mu.Unlock()
	was, there := p.m.shelves[shelf]
	if there && was.dropped && p.m.twin != "dropped names come again" {
		return nil, keep.ErrDropped
	}
	if there && !was.dropped {
		return nil, keep.ErrExists
	}
	p.m.shelves[shelf] = p.m.newShelf()
	return p.shelf(shelf), nil
}

func (p *process) shelf(name string) keep.Shelf {
	return &memoryShelf{p, p.m.shelves[name]}
}

func (p *process) Open(ctx context.Context, shelf string) (keep.Shelf, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.m.mu.Unlock()
	was, there := p.m.shelves[shelf]
	switch {
	case !there && p.m.twin == "Open makes":
		p.m.shelves[shelf] = p.m.newShelf()
	case !there:
		return nil, keep.ErrMissing
	case was.dropped:
		return nil, keep.ErrDropped
	}
	return p.shelf(shelf), nil
}

func (p *process) List(ctx context.Context) (names []string, err error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer p.m.mu.Unlock()
	for name, s := range p.m.shelves {
		if name != keep.Main && (!s.dropped || p.m.twin == "List has the dropped") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (p *process) Drop(ctx context.Context, shelf string) error {
	if shelf == keep.Main {
		return fmt.Errorf("keep: %s is never dropped", shelf)
	}
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.m.mu.Unlock()
	s, there := p.m.shelves[shelf]
	if !there {
		return keep.ErrMissing
	}
	s.dropped = true
	if p.m.twin != "dropped rows are read" {
		clear(s.rows)
	}
	return nil
}

func (p *process) SetAside(ctx context.Context, shelf string) (keep.Shelf, error) {
	if _, err := p.Open(ctx, shelf); err != nil {
		return nil, err
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	s, twin := p.m.shelves[shelf], p.m.twin
	if shelf == keep.Main {
		return nil, keep.ErrDamaged
	}
	marks, rotten := false, map[place]bool{}
	for at, r := range s.rows {
		if r.rotten || twin == "all is set aside" {
			rotten[at] = true
		}
		marks = marks || r.number == 0 && (r.rotten || twin != "rows beside marks go")
	}
	if len(rotten) > 0 && marks && twin != "marks are set aside" {
		return nil, keep.ErrDamaged
	}
	for at := range rotten {
		if twin == "nothing is set aside" {
			continue
		}
		delete(s.rows, at)
		if twin == "what is aside is taken" {
			s.rows[at] = memoryRow{}
		}
		if twin != "what is aside is not counted" {
			s.lost++
		}
	}
	s.sealed = s.sealed && twin != "aside opens a sealed shelf"
	if twin == "aside draws a secret" {
		s.secret = p.m.newShelf().secret
	}
	return p.shelf(shelf), nil
}

func (p *process) Lost(ctx context.Context, shelf string) (uint64, error) {
	if _, err := p.Open(ctx, shelf); err != nil {
		return 0, err
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.m.shelves[shelf].lost, nil
}

func (p *process) Room(ctx context.Context) (used, free int64, err error) {
	if err := p.enter(ctx); err != nil {
		return 0, 0, err
	}
	defer p.m.mu.Unlock()
	return 0, -1, nil
}

func (p *process) Close() error {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if p.m.twin == "a restart forgets" && !p.closed {
		for _, s := range p.m.shelves {
			clear(s.rows)
		}
	}
	if p.m.twin == "a restart draws secrets" && !p.closed {
		for _, s := range p.m.shelves {
			s.secret = p.m.newShelf().secret
		}
	}
	p.closed = true
	return nil
}

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

func (s *memoryShelf) Count(ctx context.Context, t keep.Table, label uint32) (n int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.p.m.mu.Unlock()
	for at, r := range s.s.rows {
		if at.t == t && r.label == label && (r.number > 0 || s.is("Update's rows are counted")) {
			n++
		}
	}
	if s.is("deleted rows are counted") {
		n += s.s.deleted[label]
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
