package estimate

import (
	"cmp"
	"fmt"
	"slices"
)

// Poison says what malicious devices may do: each of them is counted as one of the
// respondents, and instead of a report sends any messages that the plan lets it.
// Lying about the own value is included, which no mechanism can prevent.
type Poison struct {
	Devices  int // malicious ones, whom the respondents include
	Messages int // that one device may send and that count: the plan's number per device
	// PerCell is how many of one device's messages may count in one cell. Unlinkable
	// messages hide that two are of one device, so that without a check in the
	// protocol it is Messages.
	PerCell int
	// Holds is how many cells an honest device holds at most: 1, or the size of a set.
	Holds int
}

// Validate says what is wrong with the numbers.
func (p Poison) Validate() error {
	if p.Devices < 0 || p.Messages < 0 || p.PerCell < 0 || p.Holds < 1 {
		return fmt.Errorf("estimate: %d malicious devices of %d messages, %d in a cell, in place of %d cells held: give none below zero and at least one cell",
			p.Devices, p.Messages, p.PerCell, p.Holds)
	}
	return nil
}

// Shift returns how far the devices can move the estimate of one cell, down and up, both
// given as numbers of respondents >= 0, compared with what its expectation would be
// had they been honest; the honest devices' noise is untouched by it. A device whose
// messages add a to the count adds (a - Flip) / (Keep - Flip) to the estimate instead
// of 1 or 0, so that the worst it does is, exactly,
//
//	up:   (hits - Flip) / (Keep - Flip)      by hits messages instead of holding nothing
//	down:  Keep / (Keep - Flip)              by silence instead of holding the cell
//
// where hits = min(Messages, PerCell); up is no less than zero, and for an honest
// device that may not hold nothing it is a bound. Counts clipped or projected
// afterwards may shift by more in one cell.
func (p Poison) Shift(c Cell) (down, up float64) {
	return p.ShiftSum(c, []float64{1})
}

// ShiftSum is Shift for the weighted sum of the estimates of cells of the law c: a
// marginal has weights 0 and 1, a mean the middles of its buckets over the
// respondents. A sum improved by a known total (Given) has its weights less
// the share named there. An honest device holds up to Holds of all cells, those
// with no weight here included.
func (p Poison) ShiftSum(c Cell, weights []float64) (down, up float64) {
	c.must()
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	descending := slices.Clone(weights)
	slices.SortFunc(descending, func(a, b float64) int { return cmp.Compare(b, a) })
	up = p.gain(c, descending)
	for i := range descending {
		descending[i] = -descending[i]
	}
	slices.Reverse(descending)
	return p.gain(c, descending), up
}

// gain returns the most that the devices add to the sum: each puts its messages into the
// cells of largest weight, in place of an honest report of the cells of smallest.
func (p Poison) gain(c Cell, descending []float64) float64 {
	total, sent, honest := 0.0, 0.0, 0.0
	left := p.Messages
	for _, w := range descending {
		total += w
		if hits := min(left, p.PerCell); w > 0 {
			sent += w * float64(hits)
			left -= hits
		}
	}
	for i := 0; i < min(p.Holds, len(descending)); i++ {
		honest += min(0, descending[len(descending)-1-i])
	}
	return max(0, float64(p.Devices)*((sent-c.Flip*total)/(c.Keep-c.Flip)-honest))
}
