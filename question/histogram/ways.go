package histogram

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/plan"
)

// randomizerAt is where a plan says how it is answered.
const randomizerAt = "question.histogram.randomizer."

// way is all that the package knows of a randomizer by its name: whoever decides asks for an
// ability. What is left out refuses.
type way struct {
	asymmetric bool // of its bits one that is set is sent half of the time
	compared   bool // it is worth comparing where a plan names none

	// fields are its own parameters, and valid checks them.
	fields []string
	valid  func(r plan.Randomizer, ps *plan.Problems)
	// fit chooses its other numbers at its epsilon, for the largest domain of an attribute.
	fit func(z *plan.Randomizer, ask plan.Histogram, respondents, cells int)
	// new is the mechanism over one domain: nil of bits.
	new func(z plan.Randomizer, size int) (made, error)
}

// made is a mechanism, with how many messages it sends and the law of a cell.
type made struct {
	symbolizer
	messages int
	cell     *estimate.Cell
}

// bitFields and tornFields are those of one-hot reports.
var (
	bitFields  = []string{"keep", "flip", "fragments"}
	tornFields = []string{"backstop", "backstop_keep", "backstop_flip"}
)

// ways are the randomizers.
var ways = map[string]way{
	"one-hot":            {compared: true, fields: bitFields, valid: validBits},
	"one-hot-asymmetric": {asymmetric: true, compared: true, fields: bitFields, valid: validBits},
	"krr": {compared: true, new: func(z plan.Randomizer, size int) (made, error) {
		k, e := float64(size), math.Exp(z.Epsilon)
		return made{kary{randomize.KRR{K: size, Epsilon: z.Epsilon}}, 1, &estimate.Cell{Keep: e / (e + k - 1), Flip: 1 / (e + k - 1)}}, nil
	}},
	"subset": {
		fields: []string{"subset"},
		valid: func(r plan.Randomizer, ps *plan.Problems) {
			ps.Require(r.Subset >= 1 && r.Subset <= plan.MaxEnvelopes, randomizerAt+"subset must be between 1 and %d", plan.MaxEnvelopes)
		},
		fit: func(z *plan.Randomizer, _ plan.Histogram, _, cells int) {
			z.Subset = randomize.SubsetSize(cells, z.Epsilon)
		},
		new: func(z plan.Randomizer, size int) (made, error) { // of w cells: e^epsilon w to k-w that the own cell is one of them
			k, w, e := float64(size), float64(z.Subset), math.Exp(z.Epsilon)
			keep := w * e / (w*e + k - w)
			return made{randomize.SubsetSelection{K: size, W: z.Subset, Epsilon: z.Epsilon}, z.Subset, &estimate.Cell{Keep: keep, Flip: (w - keep) / (k - 1)}}, nil
		},
	},
	"local-hash": {
		fields: []string{"range", "functions", "seed"},
		valid: func(r plan.Randomizer, ps *plan.Problems) {
			ps.Require(r.Range >= 2 && r.Range <= plan.MaxCells, randomizerAt+"range must be between 2 and %d", plan.MaxCells)
			ps.Require(r.Functions >= 1 && r.Functions <= plan.MaxCells, randomizerAt+"functions must be between 1 and %d", plan.MaxCells)
			ps.Seed(randomizerAt+"seed", r.Seed)
		},
		fit: func(z *plan.Randomizer, ask plan.Histogram, respondents, cells int) {
			z.Range = randomize.HashRange(z.Epsilon)
			if ask.Randomizer.Functions == 0 {
				most := plan.MaxCells / len(ask.Attributes) / z.Range
				z.Functions = max(1, min(most, randomize.HashFunctions(respondents, cells, z.Range, z.Epsilon)))
			}
		},
		new: func(z plan.Randomizer, size int) (made, error) {
			m := randomize.LocalHash{K: size, G: z.Range, Functions: z.Functions, Epsilon: z.Epsilon}
			var err error
			if m.Seed, err = encode.ParseSeed(z.Seed); err != nil {
				return made{}, fmt.Errorf("the randomizer: %w", err)
			}
			return made{hashes{m}, 1, nil}, nil
		},
	},
	"hadamard": {new: func(z plan.Randomizer, size int) (made, error) {
		e := math.Exp(z.Epsilon) // by a plus in the cell's row
		return made{randomize.Hadamard{K: size, Epsilon: z.Epsilon}, 1, &estimate.Cell{Keep: e / (e + 1), Flip: 0.5}}, nil
	}},
}

func validBits(r plan.Randomizer, ps *plan.Problems) {
	bit(ps, randomizerAt+"keep", randomizerAt+"flip", r.Keep, r.Flip)
	ps.Require(r.Fragments >= 0 && r.Fragments <= plan.MaxFragments, randomizerAt+"fragments must be between 0 and %d", plan.MaxFragments)
	if r.Fragments > 1 {
		bit(ps, randomizerAt+"backstop_keep", randomizerAt+"backstop_flip", r.BackstopKeep, r.BackstopFlip)
		ps.Require(r.Backstop > 0 && plan.Finite(r.Backstop), randomizerAt+"backstop must be a number above 0")
	}
}
