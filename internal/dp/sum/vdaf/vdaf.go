// Package vdaf makes of a plan's sum what splits and verifies vectors, at all three roles. Used by internal/dap/task,
// and by internal/dp/routes, internal/release/statement and cmd/confetti/internal/plan/describe for what it costs.
package vdaf

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/plan"
)

// New makes a route runnable in one context. It refuses what package sum refuses.
func New(route *plan.Sum, context []byte) (*prio3.VDAF, error) {
	if route == nil {
		return nil, errors.New("vdaf: the plan's answers are mixed: no aggregator takes them")
	}
	switch c := route.Circuit; c.Kind {
	case plan.CircuitHistogram:
		return prio3.New(prio3.Histogram{Length: c.Length}, route.Chunk, context)
	case plan.CircuitMultihot:
		return prio3.New(prio3.Multihot{Length: c.Length, Weight: c.Weight}, route.Chunk, context)
	case plan.CircuitSumVec:
		if c.Square > 0 {
			return prio3.New(prio3.Bounded{Length: c.Length, Max: uint64(c.Max), Square: uint64(c.Square)}, route.Chunk, context)
		}
		return prio3.New(prio3.SumVec{Length: c.Length, Max: uint64(c.Max)}, route.Chunk, context)
	}
	return nil, fmt.Errorf("vdaf: no code for a circuit of kind %s", plan.Quoted(route.Circuit.Kind))
}
