package histogram

// What tests compare of the ways to ask.
type Collecting = ofCollect

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
