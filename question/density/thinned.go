package density

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// A hop is handed the envelopes of up to n_max respondents, and the next one is content
// with as many as n_h send. Between the two it can drop a share of everybody's, but
// those of a victim. Randomized response and Poisson noise do not mind: what comes
// through is what fewer bits, or a smaller mean, would have given. Noise that is divided
// (plan.Bitsum.Divided) is less spread out than what n_h whole respondents add.
//
//   - A single negative binomial: what is left of drops that treat respondents alike
//     is accounted for, of whatever number up to n_max (bitnoise.ThinnedNegativeBinomialSum).
//   - 3NB: no proof is known. By exact laws nothing is lost up to three times n_h, which
//     is therefore the n_max that Design sets; of a hundred times n_h, half of epsilon.
//   - Pure: no proof is known.

// thinnedTimes is how many times n_h respondents Design lets count.
const thinnedTimes = 3

// thinnable is a bitsum whose noise is accounted for among up to so many times the respondents whose
// noise is relied upon, where drops treat them alike.
type thinnable interface {
	thinned(times float64) account.Event
}

// thinned returns a channel's event for an observer who may have had messages dropped.
func thinned(p plan.Plan, bits summer) account.Event {
	if m, ok := bits.(thinnable); ok {
		return m.thinned(thinnings(p))
	}
	return bits.Event()
}

// thinnings returns n_max over n_h.
func thinnings(p plan.Plan) float64 {
	return max(1, float64(p.Crowd.Maximum)/float64(p.MinHonest()))
}

// thinning says in sentences what the guarantee rests on where a hop might drop
// messages; empty where it loses nothing by that.
func (d *Question) thinning() string {
	p := d.plan
	if !p.Question.Density.Bitsum.Divided() {
		return ""
	}
	s := fmt.Sprintf("Hops do not drop a share of the messages of everybody but one: at most %d respondents count, %.3g times those whose noise is relied upon, and less spread is left in a share of their noise. ", p.Crowd.Maximum, thinnings(p))
	if _, included := d.Bits.(thinnable); included {
		return s + "Drops that treat respondents alike are included in epsilon; others are not."
	}
	if m, ok := d.Bits.(computed); ok && thinnings(p) <= m.unharmed() {
		return s + "Drops that treat respondents alike cost nothing in cases that were computed, up to three times as many; no proof is known."
	}
	return s + "No proof is known of what such drops would cost."
}

// divisible is a bitsum that knows itself where only so many respondents add their share of the noise.
// Where the noise is divided among Users, fewer leave a share b = honest/Users of it, and more are
// left out, since what they add is post-processing.
type divisible interface {
	among(honest int) (bits summer, ok bool)
}

// share returns that of the noise of so many users which so many honest ones leave.
func share(honest, users int) float64 { return min(1, float64(honest)/float64(users)) }

// among gains by more respondents: each flips its own bit.
func (m flips) among(honest int) (summer, bool) { return flips{m.RR, honest}, true }

// among leaves NB(b r, p3) of the flood and NB(b, p) of the noises, for which there is no accountant.
// But NB(b, p) is the geometric NB(1, b p) and an independent number: the logarithm of the generating
// function of NB(r, p) has coefficients r p^k/k, and b p^k - (b p)^k >= 0 for all k >= 1. Leaving that
// number out is a bound, a crude one: what hides is then no wider than 1/(1-b).
func (m threeNoises) among(honest int) (summer, bool) {
	b := share(honest, m.Users)
	m.Users = min(honest, m.Users)
	m.Noise -= math.Log(b)
	m.FloodShape *= b
	return m, true
}

// among leaves Poisson(b m) of Poisson(m), exactly.
func (m poisson) among(honest int) (summer, bool) {
	m.Mean *= share(honest, m.Users)
	m.Users = min(honest, m.Users)
	return m, true
}

// among leaves NB(b r, p) of NB(r, p), exactly.
func (m negativeBinomial) among(honest int) (summer, bool) {
	m.Shape *= share(honest, m.Users)
	m.Users = min(honest, m.Users)
	return m, true
}

// among needs all Users: the proof of the pure protocol needs its whole flood.
func (m pure) among(honest int) (summer, bool) { return m, honest >= m.Users }
