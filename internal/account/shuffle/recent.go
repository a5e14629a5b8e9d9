package shuffle

import (
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
)

// recent remembers the last results of a function. A search for noise, the observers of a
// promise, a ledger and each of many devices ask for the same few, and each takes milliseconds
// or more. They are of public parameters alone, and the oldest makes room for the newest. What
// is remembered is handed to everybody, and nobody may change it.
type recent[K comparable, V any] struct {
	mu sync.Mutex
	of [64]struct {
		asked K
		found V
		known bool
	}
	next int
}

// find returns what is remembered, or else what work gives.
func (r *recent[K, V]) find(asked K, work func() V) V {
	r.mu.Lock()
	for i := range r.of {
		if r.of[i].known && r.of[i].asked == asked {
			defer r.mu.Unlock()
			return r.of[i].found
		}
	}
	r.mu.Unlock()
	found := work()
	r.mu.Lock()
	defer r.mu.Unlock()
	at := &r.of[r.next]
	at.asked, at.found, at.known = asked, found, true
	r.next = (r.next + 1) % len(r.of)
	return found
}

// asked is all that envelopes depend on.
type asked struct {
	bit           bit
	worlds        worlds
	step, neglect float64
}

// An envelope has some thousand points: all of them are a few MB.
var recentEnvelopes recent[asked, [2][]float64]

// envelopes returns those of either direction: of a one told from a zero, and of a zero
// told from a one.
func (b bit) envelopes(c worlds, o account.Options) (rising, falling []float64) {
	both := recentEnvelopes.find(asked{b, c, o.Step, o.Neglect}, func() [2][]float64 {
		rising, falling := b.walk(c, o)
		return [2][]float64{rising, falling}
	})
	return slices.Clone(both[0]), slices.Clone(both[1])
}
