package histogram

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/plan"
)

// What tests compare of the ways to ask.
type (
	Collecting = ofCollect
	ToldDay    = toldDay
)

var (
	CompareCollect     = compareCollect
	CompareRandomizers = compareRandomizers
	Preferred          = preferred
)

// Said are the chances that a report speaks for a cell that is held, and for another, and the coin's share.
func (h *Question) Said() (held, other, coin float64) {
	t := h.randomizers[0].(teller)
	held, other = t.said()
	return held, other, h.coin(0, t)
}

// SpokenFor are the cells that reports speak for, of the first attribute.
func (h *Question) SpokenFor(channels []uint32) []int {
	return told(h.randomizers[0].(teller), channels)
}

// WorstWindow returns the deviation of the window that errs most, of a plan's both aggregators.
func WorstWindow(t testing.TB, p plan.Plan) float64 {
	h, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	worst, _, _ := h.correlated.rows.Windows.Worst()
	return sumprivacy.Both(*p.Route.Sum) * worst
}
