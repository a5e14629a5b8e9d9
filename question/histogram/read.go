package histogram

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// errorLaw is what is known of the errors of an attribute's estimates beside their
// standard errors.
type errorLaw struct {
	// cell is the law of a cell's count, where that is a sum of bits; nil for others.
	cell *estimate.Cell
	// mean is the same for the expectation only, of a count divided by the number of
	// fragments of each device; nil where the channels are not the cells.
	mean      *estimate.Cell
	fragments int
	// null bounds from above ln P(an estimate so large or larger) of a cell that
	// nobody holds; nil where there is no proved bound.
	null func(mean float64) float64
	// ends holds the number of holders with probability at least 1-alpha, given the
	// estimate, at any depth; nil where the normal law has to do.
	ends func(mean, alpha float64) [2]float64
	// independent says that those of different cells are, but for together.
	independent bool
	// together is what they have in common; sampled says that only some respondents are asked.
	together estimate.Together
	sampled  bool
	// tied reports that together is known though errors are not independent: each answer is one symbol, and in the count of
	// one cell alone.
	tied bool
	// exact says that ends are those of the very law, and not only bounds of them.
	exact bool
	// within bounds the noise of a mean's numbers, in rows, but for probability alpha; nil of others.
	within func(alpha float64) float64
	// weighted bounds a sum of the noise of so many cells of each of two weights, but for probability alpha; nil where
	// the normal law has to do.
	weighted func(alpha float64, cells [2]int, weights [2]float64) float64
}

// ofCell returns what the law of a count says.
func ofCell(c estimate.Cell) errorLaw {
	null := c.Null(0)
	return errorLaw{cell: &c, mean: &c, fragments: 1, null: func(mean float64) float64 { return null(ones(c, mean)) }}
}

// ones returns the count that an estimate was made from.
func ones(c estimate.Cell, mean float64) uint64 {
	return uint64(math.Max(0, math.Round(mean*(c.Keep-c.Flip)+float64(c.N)*c.Flip)))
}

// devices returns how many respondents made so many contributions.
func (h *Question) devices(contributions int) int { return contributions / h.plan.Contributions() }

// counted returns the numbers of all channels; of sums in two's complement, as some may be below
// zero.
func counted(c tally.Crowd) []uint64 {
	s, noised := c.Tally.(*tally.Sums)
	if !noised {
		return c.Tally.(*tally.Counts).N
	}
	counts := make([]uint64, len(s.N))
	for i, n := range s.N {
		counts[i] = uint64(n)
	}
	return counts
}

// Estimate lists the cells of all attributes, one after the other.
func (h *Question) Estimate(c tally.Crowd) []estimate.Value {
	counts := counted(c)
	var all []estimate.Value
	for i, t := range h.randomizers {
		all = append(all, t.read(h.Of(counts, i), h.devices(c.Respondents), h.share())...)
	}
	return all
}
