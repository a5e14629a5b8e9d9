package measure

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
)

const forNoiseless = 0x90e // stream of the bits that Noiseless rounds

// Noiseless returns the accuracy that a plan's features allow: from exact sums of bits that are
// rounded as devices round them, and the true classes.
func Noiseless(p plan.Plan, set *dataset.Set) (float64, error) {
	proto, err := protocol.New(p)
	if err != nil {
		return 0, err
	}
	p.Budget.LabelEpsilon = plan.Unprotected
	records := distribution.Records{Classes: set.Train.Y, Row: func(i int) []float32 { return row(set.Train.X, i) }}
	rounded, err := distribution.Round(p, records, func(part ...uint64) *rand.Rand { return seeded.New(forNoiseless, part...) }, func(int) {})
	if err != nil {
		return 0, err
	}
	densities := make([]kde.Density, len(set.Classes))
	for class, batches := range rounded.Batches {
		d := &densities[class]
		d.Features, d.Respondents = proto.Question.(*density.Question).Features, len(batches[0].Members)
		for _, ones := range batches[0].Ones {
			d.Sums = append(d.Sums, estimate.Exact(float64(ones)))
		}
	}
	model, err := hdc.New(set.Classes, densities)
	if err != nil {
		return 0, err
	}
	e, err := model.Evaluate(set.Test.X, set.Test.Y)
	return e.Accuracy, err
}
