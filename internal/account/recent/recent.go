// Package recent remembers the last results of functions that take long. Used by account and the packages of
// internal/account that price shuffled reports.
package recent

import "sync"

// Results remembers the last results of a function. A search for noise, the observers of a
// promise, a ledger and each of many devices ask for the same few, and each takes milliseconds
// or more. They are of public parameters alone, and the oldest makes room for the newest. What
// is remembered is handed to everybody, and nobody may change it.
type Results[K comparable, V any] struct {
	mu sync.Mutex
	of [64]struct {
		asked K
		found func() V
	}
	next int
}

// Find returns what is remembered, or else what work gives. Who asks for what another is at work on
// waits for it.
func (r *Results[K, V]) Find(asked K, work func() V) V {
	r.mu.Lock()
	for i := range r.of {
		if found := r.of[i].found; found != nil && r.of[i].asked == asked {
			r.mu.Unlock()
			return found()
		}
	}
	at := &r.of[r.next]
	at.asked, at.found = asked, sync.OnceValue(work)
	r.next = (r.next + 1) % len(r.of)
	found := at.found
	r.mu.Unlock()
	return found()
}
