//go:build libconfetti

package main

import (
	"errors"
	"sync"

	"github.com/confetti-dp/confetti/internal/client/embed"
)

// table hands out numbers for what C holds: never a pointer, and never the same twice. 0 is none.
type table[V any] struct {
	mu   sync.Mutex
	last uint64
	held map[uint64]V
}

func (t *table[V]) put(v V) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[uint64]V{}
	}
	t.last++
	t.held[t.last] = v
	return t.last
}

func (t *table[V]) get(n uint64) (V, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(n)
}

// take returns what a number is of, which is of nothing any more.
func (t *table[V]) take(n uint64) (V, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, err := t.of(n)
	delete(t.held, n)
	return v, err
}

func (t *table[V]) of(n uint64) (V, error) {
	v, there := t.held[n]
	if !there {
		return v, &embed.Error{As: embed.Ended, Err: errors.New("it was closed, or there never was one of this number")}
	}
	return v, nil
}
