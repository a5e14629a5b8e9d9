package shuffle

import (
	"sync"

	"github.com/confetti-dp/confetti/account"
)

// Recent remembers the last results of a function. A search for noise, the observers of a
// promise, a ledger and each of many devices ask for the same few, and each takes milliseconds
// or more. They are of public parameters alone, and the oldest makes room for the newest. What
// is remembered is handed to everybody, and nobody may change it.
type Recent[K comparable, V any] struct {
	mu sync.Mutex
	of [64]struct {
		asked K
		found func() V
	}
	next int
}

// Find returns what is remembered, or else what work gives. Who asks for what another is at work on
// waits for it.
func (r *Recent[K, V]) Find(asked K, work func() V) V {
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

// asked is all that envelopes depend on.
type asked struct {
	bit           bit
	worlds        Worlds
	step, neglect float64
}

// An envelope has some thousand points: all of them are a few MB.
var recentEnvelopes Recent[asked, [2][]float64]

// envelopes returns those of either direction: of a one told from a zero, and of a zero
// told from a one. On a grid of several pitches they are those of the finer grid, at every so many of its points.
func (b bit) envelopes(c Worlds, o account.Options) (rising, falling []float64) {
	every := max(1, o.Pitches)
	o.Step, o.Pitches = o.Step/float64(every), 1
	both := recentEnvelopes.Find(asked{b, c, o.Step, o.Neglect}, func() [2][]float64 {
		rising, falling := b.walk(c, o)
		return [2][]float64{rising, falling}
	})
	return thin(both[0], every), thin(both[1], every)
}

// thin returns every so many points of a profile, of which the last holds from there on.
func thin(h []float64, every int) (some []float64) {
	for i := 0; i < len(h)-1; i += every {
		some = append(some, h[i])
	}
	return append(some, h[len(h)-1])
}
