package latent

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob/confidence"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Right returns how often the model is right: an unbiased share, and the exact interval (Clopper, Pearson 1934) that covers
// with probability 1 - alpha that of those whom a crowd's respondents were drawn from, since the number who say
// yes is then binomial. Only a report of plan.LatentRight has it.
func (m *Model) Right(t *histogram.Table, alpha float64) (share estimate.Value, low, high float64, ok bool) {
	if m.Asked.Report != plan.LatentRight || t.Respondents == 0 || m.Asked.Randomizer == nil {
		return share, 0, 0, false
	}
	n, answer := float64(t.Respondents), randomize.KRR{K: 2, Epsilon: m.Asked.Randomizer.Epsilon}
	lie := answer.Prob(0, 1)
	gap := answer.Prob(0, 0) - lie
	v := t.Values[1]
	said := int(math.Round(v.Mean*gap + n*lie)) // it is a whole number
	from, to := confidence.Interval(said, t.Respondents, alpha)
	inside := func(p float64) float64 { return min(1, max(0, (p-lie)/gap)) }
	return estimate.Value{Mean: v.Mean / n, StdErr: v.StdErr / n}, inside(from), inside(to), true
}
