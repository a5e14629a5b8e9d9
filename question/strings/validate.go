package strings

import (
	"math/bits"

	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const maxRows = 1 << 28

// validate lists what is wrong with a plan of strings.
func validate(p plan.Plan, ps *plan.Problems) {
	const at = "question.strings."
	before := len(*ps)
	undesigned(p, ps)
	ask := *p.Question.Strings
	if err := shape(ask).Validate(); err != nil {
		ps.Require(false, at+"%v", err)
	}
	if len(*ps) > before {
		return
	}
	if summed(p) {
		ps.Require(ask.Pairs == 0 || ask.Pairs == shape(ask).Even(), at+"pairs must be 0, or %v of sums of these strings", shape(ask).Even())
		ps.Require(ask.Answered == 0 && ask.Rows == 0 && ask.Clip == 0 && ask.Flip == 0 && ask.Rare == 0, at+"answered, rows, clip, flip_probability and rare are of answers that are mixed: leave them out of sums")
		return
	}
	numbers := shape(ask).Numbers()
	ps.Require(ask.Rows >= numbers && ask.Rows <= maxRows && bits.OnesCount(uint(max(0, ask.Rows))) == 1, at+"rows must be a power of two, at least the %d numbers of a vector", numbers)
	terms.RequireBits(at, plan.BitsSent{Answered: ask.Answered, Rows: ask.Rows, Clip: ask.Clip, Flip: ask.Flip, Rare: ask.Rare}, p, ps)
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.strings."
	ask, b := *p.Question.Strings, p.Budget
	ps.Require(ask.Longest >= 1, at+"longest must be at least 1")
	ps.Require(!summed(p) || p.Route.Sum.Noise != plan.NoiseDevices, "route.sum.noise: sums are of strings as they are: name %q or %q, or have answers mixed", plan.NoiseAggregators, plan.NoiseShared)
	ps.Require(!summed(p) || p.Route.Sum.Law != plan.LawLaplace, "route.sum.law: intervals of strings are of normal noise alone: name %q, or leave it out", plan.LawGaussian)
	ps.Require(ask.Answered >= 0, at+"answered must be a number of rows")
	ps.Seed(at+"seed", ask.Seed)
	ps.Require(b.LabelEpsilon == 0, "budget.label_epsilon: strings have no class: leave it out")
	terms.RequireReplacement(p, ps)
	ps.Require(len(p.Crowd.Names) == 0, "crowd.names: strings of everybody are in one crowd: leave them out")
	terms.RequireSecret(p, ps)
}
