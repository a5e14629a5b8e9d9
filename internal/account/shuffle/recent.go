package shuffle

import (
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
)

// recent are the last envelopes that were computed. A search for noise, the observers of
// a promise, a ledger and each of many devices ask for the same few, and each takes
// milliseconds. They are of public parameters alone, and the oldest makes room for the newest. An
// envelope has some thousand points: all of them are a few MB.
var recent struct {
	sync.Mutex
	of   [64]asked
	next int
}

// asked is all that envelopes depend on, and what they are.
type asked struct {
	bit             bit
	worlds          worlds
	step, neglect   float64
	rising, falling []float64
}

// envelopes are those of either direction: of a one told from a zero, and of a zero
// told from a one.
func (b bit) envelopes(c worlds, o account.Options) (rising, falling []float64) {
	now := asked{bit: b, worlds: c, step: o.Step, neglect: o.Neglect}
	recent.Lock()
	for _, e := range recent.of {
		if e.bit == now.bit && e.worlds == now.worlds && e.step == now.step && e.neglect == now.neglect {
			recent.Unlock()
			return slices.Clone(e.rising), slices.Clone(e.falling)
		}
	}
	recent.Unlock()
	rising, falling = b.walk(c, o)
	now.rising, now.falling = slices.Clone(rising), slices.Clone(falling)
	recent.Lock()
	defer recent.Unlock()
	recent.of[recent.next] = now
	recent.next = (recent.next + 1) % len(recent.of)
	return rising, falling
}
