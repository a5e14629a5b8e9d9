package vector

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const (
	maxFeatures = 1 << 20
	maxMoments  = 1 << 14 // features whose second moments are asked for
	maxRounds   = 64      // that differ from each other
	maxRows     = 1 << 28
)

// Validate lists what is wrong with a plan of vectors.
func Validate(p plan.Plan, ps *plan.Problems) {
	undesigned(p, ps)
	v := *p.Question.Vector
	for i, r := range v.Rounds[:min(len(v.Rounds), maxRounds)] {
		at := fmt.Sprintf("question.vector.rounds[%d]", i)
		if p.Route.Sum.AggregatorNoise() {
			ps.Require(r == plan.VectorRound{Sums: r.Sums, Steps: r.Steps, Alike: r.Alike}, "%s: where the length of vectors is proved a device answers with all of its vector: leave answered, rows, clip, flip_probability and rare at 0", at)
			ps.Require(r.Steps == v.Rounds[0].Steps, "%s.steps: all rounds have the same", at)
			_, err := wholeOf(p, r)
			ps.Require(err == nil, "%s.steps: %v", at, err)
			continue
		}
		ps.Require(r.Steps == 0, "%s.steps is of sums with the noise of aggregators: leave it out", at)
		length, _ := layout(v, r.Sums, publicFeatures(p))
		ps.Require(r.Rows >= length && r.Rows <= maxRows && bits.OnesCount(uint(max(0, r.Rows))) == 1, "%s.rows must be a power of two, at least the %d coordinates of a vector", at, length)
		terms.RequireBits(at+".", plan.BitsSent{Answered: r.Answered, Rows: r.Rows, Clip: r.Clip, Flip: r.Flip, Rare: r.Rare}, p, ps)
	}
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.vector."
	v := *p.Question.Vector
	ps.Require(v.Features >= 1 && v.Features <= maxFeatures, at+"features must be between 1 and %d", maxFeatures)
	ps.Require(len(v.Classes) != 1 && len(v.Classes) <= plan.MaxClasses, at+"classes: name at least two, or none, and at most %d", plan.MaxClasses)
	if len(v.Classes) <= plan.MaxClasses {
		ps.Names(at+"classes", v.Classes)
	}
	ps.Seed(at+"seed", v.Seed)
	if n := v.Number; n != nil {
		ps.Names(at+"number.name", []string{n.Name})
		ps.Require(n.High > n.Low && n.High-n.Low <= math.MaxFloat64, at+"number: give finite ends, of which high is the larger")
		ps.Require(len(v.Classes) == 0, at+"number: a respondent has a number or a class beside its features: name one of them")
	}
	ps.Require(len(v.Rounds) >= 1 && len(v.Rounds) <= maxRounds, at+"rounds: describe between 1 and %d, the last of which stands for all later ones", maxRounds)
	if p.Route.Sum.AggregatorNoise() {
		ps.Require(!publicFeatures(p), `budget.adjacency must be "replacement": the length of a vector is proved, and not its features`)
	}
	for i, r := range v.Rounds[:min(len(v.Rounds), maxRounds)] {
		here := fmt.Sprintf("%srounds[%d]", at, i)
		labelled := r.Sums == plan.SumsClasses || r.Sums == plan.SumsMoments || r.Sums == plan.SumsGradients
		ps.Require(labelled || r.Sums == plan.SumsFeatures || r.Sums == plan.SumsSquares, "%s.sums must be %q, %q, %q, %q or %q", here, plan.SumsFeatures, plan.SumsClasses, plan.SumsMoments, plan.SumsSquares, plan.SumsGradients)
		if r.Sums == plan.SumsSquares {
			ps.Require(v.Number != nil || len(v.Classes) == 2, "%s.sums: squares are of a number beside the features, or of two classes: name the number or both", here)
		} else {
			ps.Require(labelled == (len(v.Classes) > 0), "%s.sums: classes belong to sums of classes, moments and gradients: name them there, and leave them out for features", here)
			ps.Require(v.Number == nil, "%s.sums: a number belongs to squares: leave it out", here)
		}
		ps.Require(r.Sums != plan.SumsMoments && r.Sums != plan.SumsSquares || v.Features <= maxMoments, "%s.sums: moments and squares are of at most %d features", here, maxMoments)
		ps.Require(r.Sums == plan.SumsClasses || !publicFeatures(p), "%s.sums: where features are public, sums are of %q: the rest is no secret", here, plan.SumsClasses)
		ps.Require(r.Alike >= 0 && r.Alike <= 1, "%s.alike must be between 0 and 1: a guess of the inner product of vectors that are alike", here)
	}
	b := p.Budget
	ps.Require(b.LabelEpsilon == 0, "budget.label_epsilon: the class is within the vector, and the budget speaks of both: leave it out")
	ps.Require(b.Adjacency == "replacement" || publicFeatures(p), `budget.adjacency must be "replacement", or "label" where features are public: whoever is removed answers no row, and how many answered one is seen`)
	ps.Require(len(p.Crowd.Names) == 0, "crowd.names: vectors of everybody are summed in one crowd, and classes stand in question.vector.classes: leave them out")
	terms.RequireSecret(p, ps)
}
