package histogram

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Released returns the table of an attribute in a crowd as a release has it: the estimate of
// every cell, in their order, and how many respondents were counted there. It can be
// regrouped, as reports are private already; no law of its counts is known any more.
func (h *Question) Released(crowd, attribute, respondents int, values []estimate.Value) (*Table, error) {
	if attribute < 0 || attribute >= len(h.attributes) {
		return nil, fmt.Errorf("histogram: attribute %d of %d", attribute, len(h.attributes))
	}
	a := h.attributes[attribute]
	if size := a.cells.Size(); len(values) != size {
		return nil, fmt.Errorf("histogram: the release has %d of the %d cells of %s, and a group needs all", len(values), size, h.ask.Attributes[attribute].Name)
	}
	if respondents < 1 {
		return nil, fmt.Errorf("histogram: the release does not say how many respondents were counted")
	}
	e := errorLaw{}
	if _, symbol := h.randomizers[attribute].(*symbols); symbol || h.ask.Randomizer.OneHot() || h.noised() { // whose law needs no counts
		law := h.randomizers[attribute].errors(nil, respondents, h.share())
		e.independent, e.sampled, e.together, e.tied = law.independent, law.sampled, law.together, law.tied
	}
	return &Table{Crowd: crowd, Attribute: attribute, Respondents: respondents, Values: values, Asked: h.ask.Attributes[attribute], attribute: a, errors: e, atOnce: atOnce{1, len(values)}}, nil
}

// Group returns the number of respondents who hold one of the cells (of a set: who hold
// them in all, each counted), and what share of all respondents that is, with the
// share's interval at the given level. ok is false where the error of their sum is not
// known: of all answers but one-hot ones, and of a set that only some were asked.
func (t *Table) Group(cells []int, level float64) (count, share estimate.Value, low, high float64, ok bool) {
	if !t.errors.independent || t.errors.sampled && t.attribute.items > 1 {
		return count, share, 0, 0, false
	}
	in := make([]bool, len(t.Values))
	for _, cell := range cells {
		in[cell] = true
	}
	var part, rest []estimate.Value
	for cell, v := range t.Values {
		if in[cell] {
			part = append(part, v)
		} else {
			rest = append(rest, v)
		}
	}
	p, r, shared := t.errors.together.Parts(part, rest)
	count = p
	if t.attribute.all { // everybody holds one cell: together they are known
		all := estimate.Value{Mean: p.Mean + r.Mean, StdErr: math.Sqrt(max(0, p.StdErr*p.StdErr+r.StdErr*r.StdErr+2*shared))}
		count = count.Given(all, shared, float64(t.Respondents))
	}
	share, low, high = estimate.Share(p, r, shared, level)
	return count, share, low, high, true
}

// Weigh returns the estimate of a sum of all cells, each by its weight. ok is false where the covariance of their errors
// is not known: of sketches, of reports of several symbols, and of a set that only some were asked.
func (t *Table) Weigh(weights []float64) (sum estimate.Value, ok bool) {
	if !t.errors.independent && !t.errors.tied || t.errors.sampled && t.attribute.items > 1 {
		return sum, false
	}
	blocks := make([]estimate.Block, len(t.Values))
	for i, v := range t.Values {
		blocks[i] = estimate.BlockOf(v)
	}
	return t.errors.together.Sum(weights, blocks), true
}

// Together returns what the errors of the cells have in common, of which everybody holds one.
func (t *Table) Together() estimate.Together { return t.errors.together }

// together returns what the errors of two cells have in common where a share s of respondents is
// asked. A respondent who is not asked sets the bit of neither cell; others may set both. Bits are
// set with probability keep where they are held, and flip where they are not. Let nobody hold both
// cells a and b. Over the square of the gap g = keep - flip their counts have the covariance
//
//	s (1-s) (n flip^2 + flip g (n_a + n_b)) / (s g)^2 .
func together(respondents int, keep, flip, share float64) estimate.Together {
	gap, odds := keep-flip, (1-share)/share
	return estimate.Together{Fixed: odds * float64(respondents) * flip * flip / (gap * gap), Each: odds * flip / gap}
}
