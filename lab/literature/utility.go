package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// ESATheoremIII2 returns the error that no estimated frequency of k cells exceeds but with
// probability beta, where n respondents send one-hot reports whose bits flip at epsilonLocal (ESA,
// Theorem III.2), in shares of n. It is printed as an order, sqrt(ln(k/beta)/n) e^(-epsilonLocal/2), and so is the
// other form, sqrt(ln(k/beta) ln(1/delta))/(n epsilon), which follows with Theorem III.1. The number is that of its
// proof, a union over the cells, with Bernstein's inequality for the tail of each: the sub-Gaussian
// one that the proof names does not fall with epsilonLocal as printed. Domain: epsilonLocal in [1, ln n], as in
// Theorem III.1; above, single flips outweigh the order.
func ESATheoremIII2(n, k int, epsilonLocal, beta float64) (alpha float64, err error) {
	t := theorems.Theorem("ESA Theorem III.2")
	if err := cmp.Or(t.Count("n", n), t.Count("cells", k), t.Epsilon("epsilon local", epsilonLocal), t.Open01("beta", beta)); err != nil {
		return 0, err
	}
	people := float64(n)
	order := math.Sqrt(math.Log(float64(k)/beta)/people) * math.Exp(-epsilonLocal/2)
	if most := math.Log(people); !(epsilonLocal >= 1 && epsilonLocal <= most) {
		return 0, t.Outside(order, "1 <= epsilon local <= ln n = %.6g: it is %.6g", most, epsilonLocal)
	}
	flip := 1 / (1 + math.Exp(epsilonLocal))
	rare := math.Log(2*float64(k)/beta) / people
	linear := (1 - flip) * rare / 3
	return profile.Raised((linear + math.Sqrt(linear*linear+2*flip*(1-flip)*rare)) / math.Tanh(epsilonLocal/2)), nil
}

// ESATheoremV2 returns how many reports Algorithm 3 deletes from any of so many crowds at most, but with
// probability delta: (4/epsilon) ln(2 crowds/delta) (ESA, Theorem V.2). Crowds that are dropped whole, because their noisy size came
// out above the true one, are not within it: that is the event of probability delta/4 each that
// ESATheoremV1 charges, and in ESA ends the run.
func ESATheoremV2(epsilon, delta float64, crowds int) (deleted float64, err error) {
	t := theorems.Theorem("ESA Theorem V.2")
	if err := cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta), t.Count("crowds", crowds)); err != nil {
		return 0, err
	}
	return profile.Raised(4 / epsilon * math.Log(2*float64(crowds)/delta)), nil
}
