package protocol

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/plan"
)

// A hop is handed the envelopes of up to n_max respondents, and the next one is content
// with as many as n_h send. Between the two it can drop a share of everybody's, but
// those of a victim. Randomized response and Poisson noise do not mind: what comes
// through is what fewer bits, or a smaller mean, would have given. Noise that is divided
// (plan.Bitsum.Divided) is less spread out than what n_h whole respondents add.
//
//   - A single negative binomial: what is left of drops that treat respondents alike
//     is accounted for, of whatever number up to n_max (additive.ThinnedNegativeBinomialSum).
//   - 3NB: no proof is known. By exact laws nothing is lost up to three times n_h, which
//     is therefore the n_max that Design sets; of a hundred times n_h, half of epsilon.
//   - Pure: no proof is known.

// thinnedTimes is how many times n_h respondents Design lets count.
const thinnedTimes = 3

// thinnable is a channel's event for an observer who may have had messages dropped.
func thinnable(p plan.Plan, channel account.Event) account.Event {
	if e, ok := channel.(additive.NegativeBinomialSum); ok {
		return additive.ThinnedNegativeBinomialSum{Sum: e, Times: thinnings(p)}
	}
	return channel
}

// thinnings is n_max over n_h.
func thinnings(p plan.Plan) float64 {
	return max(1, float64(p.Crowd.Maximum)/float64(p.HonestMinimum()))
}

// Thinning says in sentences what the guarantee rests on where a hop might drop
// messages; empty where it loses nothing by that.
func (p *Protocol) Thinning() string {
	d := p.Plan.Question.Density
	if d == nil || !d.Bitsum.Divided() {
		return ""
	}
	s := fmt.Sprintf("Hops do not drop a share of the messages of everybody but one: at most %d respondents count, %.3g times those whose noise is relied upon, and less spread is left in a share of their noise. ", p.Plan.Crowd.Maximum, thinnings(p.Plan))
	switch {
	case d.Bitsum.Name == "nb":
		return s + "Drops that treat respondents alike are included in epsilon; others are not."
	case d.Bitsum.Name == "3nb" && thinnings(p.Plan) <= thinnedTimes:
		return s + "Drops that treat respondents alike cost nothing in cases that were computed, up to three times as many; no proof is known."
	}
	return s + "No proof is known of what such drops would cost."
}

// counting is which of a batch count: at most n_max of them, drawn at random, as an
// entry hop does.
func counting[T any](r *rand.Rand, p plan.Plan, batch []T) []T {
	most := p.Crowd.Maximum
	if most == 0 || len(batch) <= most {
		return batch
	}
	for i := range most {
		j := i + r.IntN(len(batch)-i)
		batch[i], batch[j] = batch[j], batch[i]
	}
	return batch[:most]
}
