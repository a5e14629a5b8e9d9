package histogram

import (
	"sort"

	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// Tell returns the attribute and the cell that a message names, where its channel is a cell's
// (question.Describer).
func (h *Question) Tell(body []byte) string {
	channel, _, err := tally.ParseMessage(body)
	if err != nil || int(channel) >= h.channels || !ways[h.ask.Randomizer.Name].tells || h.ask.Sketch != nil {
		return ""
	}
	i := sort.SearchInts(h.first, int(channel)+1) - 1
	cells := h.attributes[i].cells
	cell := int(channel) - h.first[i]
	if cell >= cells.Size() {
		return ""
	}
	return h.ask.Attributes[i].Name + ": " + cells.Name(cell)
}
