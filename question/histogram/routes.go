package histogram

// Flipped says of a plan whose devices flip the bits of one attribute's cells how many cells
// there are, and by how much a count of equally many holders errs; not ok for plans that sums
// of cells as they are cannot ask.
func (h *Question) Flipped() (cells int, deviation float64, ok bool) {
	p := h.plan
	if h.noised() || len(h.attributes) > 1 || h.ask.Sketch != nil || h.attributes[0].items > 1 || p.Budget.LocalEpsilon > 0 || h.attributes[0].cells.Size() < 2 {
		return 0, 0, false
	}
	n, size := p.Crowd.Minimum, h.attributes[0].cells.Size()
	return size, h.randomizers[0].deviation(n/size, n, h.share()), true
}
