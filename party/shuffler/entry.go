package shuffler

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
)

// Collected is a crowd as an epoch leaves it, which the entry's Hop mixes: see admission.Collected, which it is.
type Collected = admission.Collected

// Enter opens the contributions of a crowd at the entry, and orders their envelopes as Mix does.
func (h *Hop) Enter(c Collected) (envelope.Batch, Receipt, error) { return h.enter(NewKey(), c) }

func (h *Hop) enter(k Key, c Collected) (envelope.Batch, Receipt, error) {
	if h.hop > 0 {
		return envelope.Batch{}, Receipt{}, errors.New("shuffler: contributions come to the entry, and this is a later hop")
	}
	head := h.in.Head(c.Crowd, len(c.Bodies))
	head.Plan, head.Instance = c.Plan, c.Instance
	return h.mix(k, head, c.Bodies)
}

// errEarlier refuses the entry of a plan that seals every envelope for the entry.
func errEarlier(version int) error {
	return fmt.Errorf("shuffler: the plan is of version %d, whose contributions no entry of this build takes: let the build that began the collection end it, or have the plan signed anew (confetti plan new)", version)
}

// takeOff takes this hop's layer off what came.
func (h *Hop) takeOff(k Key, crowd uint32, came [][]byte) opened {
	if h.hop > 0 {
		return h.open(k, crowd, came)
	}
	return h.openContributions(k, crowd, came)
}

// openContributions opens what came to the entry, on all cores, each one by itself: of one that is long two
// are in a core's memory. What orders an envelope is the envelope within, so that copies of it have one place,
// whoever sealed them.
func (h *Hop) openContributions(k Key, crowd uint32, bodies [][]byte) opened {
	all, cores := make([][]record, len(bodies)), runtime.GOMAXPROCS(0)
	key := k.derive("order")
	var wg sync.WaitGroup
	for w := range cores {
		wg.Go(func() {
			place := ordering(key)
			for i := w; i < len(bodies); i += cores {
				envelopes, err := h.in.Open(h.key, crowd, bodies[i])
				if err != nil {
					continue
				}
				all[i] = make([]record, len(envelopes))
				for j, e := range envelopes {
					all[i][j] = record{place(e), e}
				}
			}
		})
	}
	wg.Wait()
	out := opened{records: make([]record, 0, len(bodies)*h.in.Envelopes)}
	for _, records := range all {
		if records == nil {
			out.dropped += h.in.Envelopes
		}
		out.records = append(out.records, records...)
	}
	return out
}
