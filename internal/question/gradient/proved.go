package gradient

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/plan"
)

// proved sums whole gradients in units of the plan's clip. Devices prove their length, and aggregators add noise to the
// sum.
type proved struct {
	whole *vector.Whole
	clip  float64
	route plan.Sum
}

// whole returns the mechanism of gradients of so many numbers.
func whole(ask plan.Gradient, dim, steps int) (*vector.Whole, error) {
	seed, err := encode.ParseSeed(ask.Seed)
	if err != nil {
		return nil, fmt.Errorf("gradient: the rotation: %w", err)
	}
	return vector.NewWhole(dim, vector.LeastRows(dim, 1), steps, seed)
}

func newProved(p plan.Plan, dim int) (reporter, error) {
	ask := *p.Question.Gradient
	w, err := whole(ask, dim, ask.Report.Steps)
	if err != nil {
		return nil, err
	}
	return proved{w, ask.Clip, *p.Route.Sum}, nil
}

// measured returns the whole numbers that a device splits for its gradient.
func (v proved) measured(r *rand.Rand, g []float64) []uint64 {
	unit := make([]float32, len(g))
	scale(g, v.clip, unit)
	return v.whole.Measured(r, unit)
}

// draw adds up what devices split, without the aggregators' noise.
func (v proved) draw(r *rand.Rand, gradients iter.Seq[[]float64], t tally.Tally) error {
	sums := t.(*tally.Sums).N
	for g := range gradients {
		for i, x := range v.measured(r, g) {
			sums[i] += int64(x)
		}
	}
	return nil
}

func (v proved) tally() tally.Tally { return tally.NewSums(v.whole.Rows()) }

func (v proved) mean(t tally.Tally, n int) ([]float64, float64, error) {
	sum, err := v.whole.Estimate(t.(*tally.Sums).N, n, vector.BothNoises(v.route))
	if err != nil {
		return nil, 0, err
	}
	return scaledBack(sum, v.clip/float64(n))
}

// says returns what a liar counts for, beside honest gradients of any length.
func (v proved) says() string {
	return v.whole.Says("gradient") + fmt.Sprintf(" Gradients shorter than the clip, %g, count for less than one.", v.clip)
}

// event returns the event of the noise that the plan relies on. No respondent adds any.
func (v proved) event(int) account.Event { return v.unknown(sumprivacy.Promised(v.route)) }

// unknown returns the event for somebody who does not know the noise of so many aggregators.
func (v proved) unknown(aggregators int) account.Event { return v.whole.Event(v.route, aggregators) }
