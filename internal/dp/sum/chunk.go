package sum

import (
	"math/bits"

	"github.com/confetti-dp/confetti/plan"
)

// Chunk returns how many numbers a proof of the circuit should check at once: that with the
// shortest proof. A proof has 2 chunk + 2p - 1 numbers, p the power of two above the
// number of checks, so that p - 1 checks are the most for a power p.
func Chunk(c plan.Circuit) int {
	encoded, squared := encoded(c), 0
	if c.Square > 0 {
		squared = c.Length // which are checked after the others
	}
	best, shortest := encoded, 0
	for p := 2; p/2 <= encoded+squared; p *= 2 {
		chunk := (encoded + squared + p - 2) / (p - 1)
		calls := func() int { return (encoded+chunk-1)/chunk + (squared+chunk-1)/chunk }
		for calls() > p-1 && chunk < encoded {
			chunk++
		}
		if chunk > encoded || calls() > p-1 {
			continue
		}
		if length := 2*chunk + 2*p; shortest == 0 || length < shortest {
			best, shortest = chunk, length
		}
	}
	return best
}

// encoded returns how many numbers a vector is encoded to.
func encoded(c plan.Circuit) int {
	switch c.Kind {
	case plan.CircuitMultihot:
		return c.Length + bits.Len(uint(c.Weight))
	case plan.CircuitSumVec:
		return c.Length*bits.Len(uint(c.Max)) + bits.Len(uint(c.Square))
	}
	return c.Length
}
