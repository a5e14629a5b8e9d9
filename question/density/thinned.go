package density

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
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

// thinning says in sentences what the guarantee rests on where a hop might drop
// messages; empty where it loses nothing by that.
func (d *Question) thinning() string {
	p, b := d.plan, d.plan.Question.Density.Bitsum
	if !b.Divided() {
		return ""
	}
	s := fmt.Sprintf("Hops do not drop a share of the messages of everybody but one: at most %d respondents count, %.3g times those whose noise is relied upon, and less spread is left in a share of their noise. ", p.Crowd.Maximum, thinnings(p))
	switch {
	case b.Name == "nb":
		return s + "Drops that treat respondents alike are included in epsilon; others are not."
	case b.Name == "3nb" && thinnings(p) <= thinnedTimes:
		return s + "Drops that treat respondents alike cost nothing in cases that were computed, up to three times as many; no proof is known."
	}
	return s + "No proof is known of what such drops would cost."
}

// thin is the event of one channel of which only so many respondents add their
// share of the noise. Where the noise is divided among Users, fewer leave a
// share b = honest/Users of it, and more are left out, since what they add is
// post-processing; randomized response gains by them.
//
// A share of NB(r, p) is NB(b r, p), and of Poisson(m) Poisson(b m), exactly. Of
// 3NB the flood becomes NB(b r, p3) and the noises NB(b, p), for which there is
// no accountant. But NB(b, p) is the geometric NB(1, b p) and an independent
// number: the logarithm of the generating function of NB(r, p) has coefficients
// r p^k/k, and b p^k - (b p)^k >= 0 for all k >= 1. Leaving that number out is a
// bound, a crude one: what hides is then no wider than 1/(1-b).
// The proof of the pure protocol needs its whole flood.
func thin(channel account.Event, honest int) account.Event {
	share := func(users int) float64 { return min(1, float64(honest)/float64(users)) }
	switch e := channel.(type) {
	case shuffle.RandomizedResponse:
		e.Users = honest
		return e
	case additive.ThreeNB:
		b := share(e.Users)
		e.Users = min(honest, e.Users)
		e.Noise -= math.Log(b)
		e.FloodShape *= b
		return e
	case additive.PoissonSum:
		e.Mean *= share(e.Users)
		e.Users = min(honest, e.Users)
		return e
	case additive.ThinnedNegativeBinomialSum: // of what those who are left add
		e.Sum.Shape *= share(e.Sum.Users)
		e.Sum.Users = min(honest, e.Sum.Users)
		return e
	case additive.Pure:
		if honest >= e.Users {
			return e
		}
	}
	return nil
}
