package gradient

import (
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// maxClip bounds the length of gradients, and with the other numbers of a step what single
// precision has to hold.
const maxClip = 1e6

const maxDimension = 1 << 20

// validate lists what is wrong with a plan as a question of gradients.
func validate(p plan.Plan, ps *plan.Problems) {
	ask := *p.Question.Gradient
	const at = "question.gradient."
	ps.Require(ask.Dimension >= 1 && ask.Dimension <= maxDimension, at+"dimension must be between 1 and %d", maxDimension)
	ps.Require(len(ask.Classes) >= 2 && len(ask.Classes) <= plan.MaxClasses, at+"classes must name between 2 and %d classes", plan.MaxClasses)
	if len(ask.Classes) <= plan.MaxClasses {
		ps.Names(at+"classes", ask.Classes)
	}
	ps.Seed(at+"seed", ask.Seed)
	ps.Require(inside(ask.Clip, 1e-6, maxClip), at+"clip must be a number from 1e-6 to %g", float64(maxClip))
	validateModel(ask, ps)
	validateReport(p, ps)
	validateStep(ask.Step, ps)
	ps.Require(len(p.Crowd.Names) == 0, "crowd.names: a model is learned from everybody: leave them out")
	terms.RequireReplacement(p, ps)
	ps.Require(p.Crowd.Deletion == nil, "crowd.deletion: there is one crowd, whose size is no secret: leave it out")
	ps.Require(p.Budget.LabelEpsilon == 0, "budget.label_epsilon: the class is within the gradient: leave it out")
	terms.RequireWhole(p, ps)
	validateEnvelopes(p, ps)
	terms.RequireUnfit(p, ps)
}

func validateModel(ask plan.Gradient, ps *plan.Problems) {
	if !slices.Contains(plan.Networks, ask.Model) {
		ps.Require(false, "question.gradient.model must be one of %s", strings.Join(plan.Networks, ", "))
		return
	}
	layers, err := network(ask.Model, ask.Dimension, len(ask.Classes))
	if err != nil {
		ps.Require(false, "question.gradient.model: %v", err)
		return
	}
	ps.Require(params(layers) <= maxParams, "question.gradient.model learns more than %d numbers, of which a state would not hold as many as it must", maxParams)
}

// maxParams keeps a state, which has three numbers for each and the rounds beside, within
// plan.MaxState.
const maxParams = (plan.MaxState - maxDescription) / 12

func validateReport(p plan.Plan, ps *plan.Problems) {
	const at = "question.gradient.report."
	ask := *p.Question.Gradient
	z := ask.Report
	if p.Route.Sum.AggregatorNoise() && z.Name == Vector {
		ps.Require(z == plan.GradientReport{Name: Vector, Steps: z.Steps}, at+"name: where the length of vectors is proved a device answers with all of its gradient: leave epsilon, share, bits, radius, flip and rare at 0")
		ps.Require(p.Budget.LocalEpsilon == 0, "budget.local_epsilon: a device adds no noise: leave it out")
		if layers, err := network(ask.Model, ask.Dimension, len(ask.Classes)); err == nil { // as is said above
			_, err = whole(ask, params(layers), z.Steps)
			ps.Require(err == nil, at+"steps: %v", err)
		}
		return
	}
	ps.Require(z.Steps == 0, at+"steps is of sums with the noise of aggregators: leave it out")
	if !slices.Contains(plan.GradientReports, z.Name) {
		ps.Require(false, at+"name must be one of %s", strings.Join(plan.GradientReports, ", "))
		return
	}
	directed := z.Name != Vector
	for _, f := range []struct {
		name      string
		belongs   bool
		value     float64
		low, high float64
	}{
		{"epsilon", directed, z.Epsilon, direction.MinEpsilon, direction.MaxEpsilon},
		{"share", z.Name == Cap, z.Share, direction.LeastShare, 0.5},
		{"bits", !directed, float64(z.Bits), 1, plan.MaxEnvelopes},
		{"radius", !directed, z.Radius, 0.5, 100},
		{"flip", !directed, z.Flip, 1e-6, 0.4999999},
	} {
		if f.belongs {
			ps.Require(inside(f.value, f.low, f.high), at+"%s must be a number from %g to %g", f.name, f.low, f.high)
		} else {
			ps.Require(f.value == 0, at+"%s does not belong to %s: leave it out", f.name, z.Name)
		}
	}
	ps.Require(z.Rare == 0 || !directed && inside(z.Rare, 0, 1), at+"rare belongs to vector, and is a chance below 1")
}

func validateStep(s plan.GradientStep, ps *plan.Problems) {
	const at = "question.gradient.step."
	ps.Require(inside(s.Rate, 1e-12, 1e12), at+"rate must be a number above 0, up to 1e12")
	ps.Require(s.Momentum >= 0 && s.Momentum < 1, at+"momentum must be in [0, 1)")
	ps.Require(s.Average >= 0 && s.Average < 1, at+"average must be in [0, 1)")
	ps.Require(inside(s.Bound, 1e-6, 1e12), at+"bound must be a number above 0, up to 1e12: the largest length of all that the model learns")
}

// validateEnvelopes checks that a report finds room.
func validateEnvelopes(p plan.Plan, ps *plan.Problems) {
	e, z := p.Envelopes, p.Question.Gradient.Report
	switch {
	case z.Name == Vector && p.Route.Sum.AggregatorNoise():
		return
	case z.Name == Vector:
		ps.Require(p.MostMessages() >= z.Bits, "envelopes.per_device must be at least the %d bits that a device answers on average", z.Bits)
		return
	}
	ps.Require(e.PayloadBytes >= directionPayload, "envelopes.payload_bytes must be at least %d: a direction takes as many", directionPayload)
}

func inside(x, low, high float64) bool { return x >= low && x <= high }
