package randomize

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// support is what an analyzer needs to know of a mechanism whose reports either
// support a cell or do not: a device that holds the cell supports it with probability
// hold, any other with probability other.
type support struct {
	hold, miss, other float64 // miss = 1 - hold
	gap               float64 // hold - other, without cancellation
}

// estimate returns how many of n devices hold the cell, given that c support it, unbiased.
//
// c has variance t hold miss + (n-t) other (1-other) when t devices hold the cell.
// Putting the unbiased (c - n other)/gap for t gives
// (n-c) hold other + c miss (1-other), an unbiased estimate of that variance, which is
// never negative unless more devices support the cell than there are: then c counts
// as n there.
func (s support) estimate(c uint64, n int) estimate.Value {
	total := float64(n)
	within := math.Min(float64(c), total)
	return estimate.Value{
		Mean:   (float64(c) - total*s.other) / s.gap,
		StdErr: math.Sqrt((total-within)*s.hold*s.other+within*s.miss*(1-s.other)) / s.gap,
	}
}

// estimateAll is estimate of each of k cells.
func (s support) estimateAll(counts []uint64, n, k int, out []estimate.Value) {
	checkLength("counts", len(counts), k)
	checkLength("estimates", len(out), k)
	for cell, c := range counts {
		out[cell] = s.estimate(c, n)
	}
}

// variance returns that of the estimate when holders of n devices hold the cell.
func (s support) variance(holders, n int) float64 {
	checkHolders(holders, n)
	t := float64(holders)
	return (t*s.hold*s.miss + (float64(n)-t)*s.other*(1-s.other)) / (s.gap * s.gap)
}
