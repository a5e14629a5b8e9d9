package histogram

import "github.com/confetti-dp/confetti/plan"

// The reference of an attribute is the answer that holds no cell: one-hot
// sets no bit. Where the report is always of one cell, of the domain or of a row of a
// sketch, the reference is that of a cell drawn uniformly (symbols.commit, bits.fold).
//
// Both are promised what every other answer is. Removal compares each answer with the
// one that holds no cell by definition. A uniform cell is a mixture
// of answers of the domain, and every bound on pairs of these is one on pairs of their
// mixtures, since hockey sticks are jointly convex. A one-hot answer that holds no cell
// is no such mixture; but exchanging it for one that holds cells changes bits one way
// only, and exchanging two answers that hold disjoint cells changes as many that way
// and as many the other, of bits that are randomized independently: the second pair
// gives the first by leaving out the bits of the second answer, so that a bound on it
// is one on the first.

// standIn returns what an attribute's answer that does not fit counts as.
func (h *Question) standIn(a attribute, answer any) []uint32 {
	if h.plan.Question.Unfit == plan.UnfitClip && a.clip != nil {
		return a.clip(answer)
	}
	return nil
}
