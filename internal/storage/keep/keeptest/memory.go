package keeptest

import (
	"context"
	"fmt"
	"slices"
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
	deleted         map[uint32]int // rows of Insert that are gone, by tag
	secret          string
	alone           chan struct{} // held by an Update or a Seal
}

type place struct {
	t   keep.Table
	key string
}

type memoryRow struct {
	value  []byte
	tag    uint32
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

func (p *process) Usage(ctx context.Context) (used, free int64, err error) {
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
