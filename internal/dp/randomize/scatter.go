package randomize

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
)

// scatter adds total balls to the given urns, each ball to any urn alike. For
// simulations.
func scatter(r *rand.Rand, total int, urns []uint64) {
	if total < len(urns) {
		for range total {
			urns[r.IntN(len(urns))]++
		}
		return
	}
	for i := range urns {
		k := prob.DrawBinomial(r, total, 1/float64(len(urns)-i))
		urns[i] += uint64(k)
		total -= k
	}
}
