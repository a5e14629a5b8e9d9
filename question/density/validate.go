package density

import (
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// validate lists what is wrong with a plan as a density. It expands no feature map.
func validate(p plan.Plan, ps *plan.Problems) {
	d, b := *p.Question.Density, p.Budget
	validateFeatures(d, ps)
	validateBitsum(d.Bitsum, ps)
	terms.RequireReplacement(p, ps)
	ps.Require(b.LabelEpsilon != 0, `budget.label_epsilon is missing: give a number above 0, or "none" for labels that are sent as they are`)
	ps.Require(len(p.Crowd.Names) > 0, "crowd.names is missing: name the classes of a density, at least one")
	ps.Require(!d.Bitsum.Divided() || p.Crowd.Maximum > 0, "crowd.maximum is missing: the noise of %s is divided among respondents, and a hop that drops messages of many leaves less of it than of few: say how many respondents may count, or use rr or poisson", d.Bitsum.Name)
	terms.RequireWhole(p, ps)
	terms.RequireUnfit(p, ps)
}

// validateFeatures lists what encode says of the feature map.
func validateFeatures(d plan.Density, ps *plan.Problems) {
	const at = "question.density."
	spec, err := densities.Spec(d)
	ps.Require(err == nil, at+"%v", err)
	if kernels := kernelmap.Kernels(); !slices.Contains(kernels, d.Kernel.Name) {
		ps.Require(false, at+"kernel.name must be one of %s", strings.Join(kernels, ", "))
		return
	}
	if all, ok := spec.Validate().(interface{ Unwrap() []error }); ok {
		for _, fault := range all.Unwrap() {
			ps.Require(false, at+"%v", fault)
		}
	}
}

// bitsumFields are the parameters of the bitsums: whose they are, and what they may be.
var bitsumFields = []struct {
	bitsum, name string
	of           func(plan.Bitsum) float64
	low, high    float64 // both excluded, but a low of -1 lets 0 in
}{
	{"rr", "flip_probability", func(b plan.Bitsum) float64 { return b.FlipProbability }, -1, 0.5},
	{"3nb", "noise", func(b plan.Bitsum) float64 { return b.Noise }, 0, math.Inf(1)},
	{"3nb", "flood_shape", func(b plan.Bitsum) float64 { return b.FloodShape }, 0, math.Inf(1)},
	{"3nb", "flood_probability", func(b plan.Bitsum) float64 { return b.FloodProbability }, 0, 1},
	{"pure", "channel_epsilon", func(b plan.Bitsum) float64 { return b.ChannelEpsilon }, 0, math.Inf(1)},
	{"pure", "theta", func(b plan.Bitsum) float64 { return b.Theta }, 0, math.Inf(1)},
	{"pure", "drop", func(b plan.Bitsum) float64 { return b.Drop }, 0, 1},
	{"pure", "size", func(b plan.Bitsum) float64 { return float64(b.Size) }, 0, 1 << 24},
	{"poisson", "mean", func(b plan.Bitsum) float64 { return b.Mean }, 0, math.Inf(1)},
	{"nb", "shape", func(b plan.Bitsum) float64 { return b.Shape }, 0, math.Inf(1)},
	{"nb", "probability", func(b plan.Bitsum) float64 { return b.Probability }, 0, 1},
}

func validateBitsum(b plan.Bitsum, ps *plan.Problems) {
	const at = "question.density.bitsum."
	ps.Require(b.Accounting == "exact" || b.Accounting == "paper", at+`accounting must be "exact" or "paper"`)
	if !slices.Contains(plan.Bitsums, b.Name) {
		ps.Require(false, at+"name must be one of %s", strings.Join(plan.Bitsums, ", "))
		return
	}
	for _, f := range bitsumFields {
		value := f.of(b)
		switch {
		case f.bitsum != b.Name:
			ps.Require(value == 0, at+"%s belongs to %s: leave it out for %s", f.name, f.bitsum, b.Name)
		case f.low < 0:
			ps.Require(value >= 0 && value < f.high, at+"%s must be in [0, %g)", f.name, f.high)
		default:
			ps.Require(value > f.low && value < f.high && plan.Finite(value), at+"%s must be above %g and below %g", f.name, f.low, f.high)
		}
	}
}
