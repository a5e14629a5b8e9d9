package histogram

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// teller says in words what messages of one attribute say.
type teller interface {
	// names calls say for each cell that a message of the channel speaks for, until it returns false.
	names(channel uint32, say func(cell int) bool)
	// said returns the probabilities that a report speaks for a cell that the device holds, and for
	// another one.
	said() (held, other float64)
}

// Tell returns the cells that messages speak for (question.Describer).
func (h *Question) Tell(bodies [][]byte) string {
	return h.TellBy(bodies, func(attribute, cell int) string { return h.attributes[attribute].cells.Name(cell) })
}

// TellBy returns Tell with other names of cells.
func (h *Question) TellBy(bodies [][]byte, name func(attribute, cell int) string) string {
	channels := make([][]uint32, len(h.attributes))
	for _, body := range bodies {
		if channel, _, err := tally.ParseMessage(body); err == nil && int(channel) < h.channels {
			i := sort.SearchInts(h.first, int(channel)+1) - 1
			channels[i] = append(channels[i], channel-uint32(h.first[i]))
		}
	}
	var clauses []string
	coin := 1.
	for i, of := range channels {
		t, tells := h.randomizers[i].(teller)
		cells := told(t, of)
		if !tells || len(cells) == 0 {
			continue
		}
		names := make([]string, len(cells))
		for j, cell := range cells {
			names[j] = name(i, cell)
		}
		clause := terms.List(names...)
		if len(h.attributes) > 1 {
			clause = terms.List(h.attributes[i].name) + ": " + clause
		}
		clauses, coin = append(clauses, clause), min(coin, h.coin(i, t))
	}
	if len(clauses) == 0 {
		return terms.Nothing
	}
	return strings.Join(append(clauses, terms.Coin(coin, "word")), "; ")
}

// Chance returns in words how a report tells what a device holds of an attribute; "" where it is not told by cells.
func (h *Question) Chance(attribute int) string {
	t, tells := h.randomizers[attribute].(teller)
	if !tells {
		return ""
	}
	held, other := t.said()
	cells := float64(h.attributes[attribute].cells.Size())
	if h.attributes[attribute].items == 1 && math.Abs(held+(cells-1)*other-1) < 1e-9 {
		return fmt.Sprintf("as it is with probability %.3g, otherwise one of %.0f at random", held-other, cells)
	}
	return fmt.Sprintf("each with probability %.3g, and every other one of %.0f with %.3g", held, cells, other)
}

// told returns cells that messages of the channels speak for, each once, and one more than a sentence
// lists at most.
func told(t teller, channels []uint32) []int {
	found := map[int]bool{}
	for _, channel := range channels {
		t.names(channel, func(cell int) bool {
			found[cell] = true
			return len(found) <= terms.Listed
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// coin returns the share that cells which a device does not hold are of those that it says. A person
// who may hold several is one who holds as many as may be, and one less than all.
func (h *Question) coin(attribute int, t teller) float64 {
	a := h.attributes[attribute]
	held, other := t.said()
	holds := float64(max(1, min(a.items, a.cells.Size()-1)))
	others := (float64(a.cells.Size()) - holds) * other
	return others / (holds*held + others)
}

func (t *bits) names(channel uint32, say func(cell int) bool) {
	if t.sketch == nil {
		if int(channel) < t.size {
			say(int(channel))
		}
		return
	}
	row := int(channel) / t.sketch.Cells()
	for cell := range t.size {
		if t.sketch.Channel(row, t.sketch.Cell(row, uint32(cell))) == channel && !say(cell) {
			return
		}
	}
}

// said leaves out that values of a sketch share cells, by which more is not what the device holds.
func (t *bits) said() (held, other float64) {
	tau := float64(t.tau())
	some := func(kept float64) float64 {
		none := func(sent float64) float64 { return math.Pow(1-sent, tau) }
		return kept*(1-none(t.mechanism.Fragment.Keep)) + (1-kept)*(1-none(t.mechanism.Fragment.Flip))
	}
	return some(t.mechanism.Backstop.Keep), some(t.mechanism.Backstop.Flip)
}

// speaker is a mechanism whose messages speak for several cells: those that make them likelier.
type speaker interface {
	Prob(channel uint32, cell int) float64
}

func (t *symbols) names(channel uint32, say func(cell int) bool) {
	m, several := t.mechanism.(speaker)
	if !several {
		say(int(channel))
		return
	}
	even := 1 / float64(t.channels())
	for cell := range t.size {
		if m.Prob(channel, cell) > even && !say(cell) {
			return
		}
	}
}

// said of hash functions is that of a symbol that is drawn for each cell by itself.
func (t *symbols) said() (held, other float64) {
	if t.cell != nil {
		return t.cell.Keep, t.cell.Flip
	}
	m := t.mechanism.(hashes)
	e, others := math.Exp(m.Epsilon), float64(m.G-1)
	return e / (e + others), 1 / float64(m.G)
}
