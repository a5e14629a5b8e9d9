package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// ESALemmaII5 is amplification of any epsilonLocal-DP randomizer by shuffling
// (ESA, Lemma II.5, citing Balle, Bell, Gascon, Nissim 2019, Corollary 5.3.1).
// The lemma is printed as O((e^epsilonLocal - 1) sqrt(ln(1/delta)/n)) without a
// constant, so its domain, epsilonLocal <= ln(n/ln(1/delta))/2, is enforced and
// the number is that of the theorem that the corollary simplifies: the privacy
// blanket of a generic randomizer with Hoeffding's inequality.
func ESALemmaII5(n int, epsilonLocal, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("ESA Lemma II.5")
	if err := t.Amplification(n, epsilonLocal, delta); err != nil {
		return account.Guarantee{}, err
	}
	order := math.Expm1(epsilonLocal) * math.Sqrt(math.Log(1/delta)/float64(n))
	most := math.Log(float64(n)/math.Log(1/delta)) / 2
	if !(epsilonLocal <= most) {
		return account.Guarantee{}, t.Outside(order, "epsilon local <= ln(n/ln(1/delta))/2 = %.6g: it is %.6g", most, epsilonLocal)
	}
	g, err := BlanketAny(n, epsilonLocal, delta, Hoeffding)
	if err != nil {
		return account.Guarantee{}, err
	}
	g.Method = "Lemma II.5 (printed as an order only) by the " + g.Method
	g.Source = "ESA, Lemma II.5; " + g.Source
	return g, nil
}

// ESALemmaII6 is shuffled randomized response of bits, flip probability
// lambda/(2n), lambda in [14 ln(4/delta), n] (ESA, Lemma II.6; the statement of
// CheuCorollary47). Upper bound, replacement of one bit.
func ESALemmaII6(n int, lambda, delta float64) (account.Guarantee, error) {
	g := account.Guarantee{Method: "Lemma II.6, closed form", Source: "ESA, Lemma II.6"}
	return shuffledCoins("ESA Lemma II.6", g, n, lambda, delta)
}

// ESATheoremIII1 returns the central guarantee of attribute-fragmented one-hot
// reports, each bit sent by randomized response of epsilonLocal (ESA, Theorem
// III.1): sqrt(64 e^epsilonLocal ln(4/delta)/n) for epsilonLocal in
// [1, ln n - ln(14 ln(4/delta))] and delta >= n^(-ln n). Upper bound, removal
// adjacency; the local guarantee is removal epsilonLocal.
func ESATheoremIII1(n int, epsilonLocal, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("ESA Theorem III.1")
	if err := t.Amplification(n, epsilonLocal, delta); err != nil {
		return account.Guarantee{}, err
	}
	logN := math.Log(float64(n))
	epsilon := math.Sqrt(64 * math.Exp(epsilonLocal) * math.Log(4/delta) / float64(n))
	if err := domainIII1(t, epsilon, logN, epsilonLocal, delta); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Epsilon: profile.Raised(epsilon), Delta: delta,
		Adjacency: account.Removal, Trust: account.Shuffled, Users: n, Rounds: 1, Bound: account.Upper,
		Method: "Theorem III.1, closed form", Source: "ESA, Theorem III.1",
	}, nil
}

func domainIII1(t theorems.Theorem, formula, logN, epsilonLocal, delta float64) error {
	if most := logN - math.Log(14*math.Log(4/delta)); !(epsilonLocal <= most) {
		return t.Outside(formula, "epsilon local <= ln n - ln(14 ln(4/delta)) = %.6g: it is %.6g", most, epsilonLocal)
	}
	if !(epsilonLocal >= 1) {
		return t.Outside(formula, "epsilon local >= 1: it is %.6g", epsilonLocal)
	}
	if !(math.Log(delta) >= -logN*logN) {
		return t.Outside(formula, "delta >= n^(-ln n) = %.6g: it is %.6g", math.Exp(-logN*logN), delta)
	}
	return nil
}

// ESACorollaryA2 returns the epsilon of a pure epsilon2-DP randomizer applied to the
// output of a pure epsilon1-DP one (ESA, Corollary A.2):
// ln((e^(e1+e2)+1)/(e^e1+e^e2)), that is tanh(e/2) = tanh(e1/2) tanh(e2/2).
// Tight, and rounded up. It has the adjacency of the first randomizer.
func ESACorollaryA2(epsilon1, epsilon2 float64) (float64, error) {
	t := theorems.Theorem("ESA Corollary A.2")
	if err := cmp.Or(t.Epsilon("epsilon1", epsilon1), t.Epsilon("epsilon2", epsilon2)); err != nil {
		return 0, err
	}
	return theorems.ESATheoremIV1(epsilon1, epsilon2, 1) // the same number
}

// ESATheoremIV2 returns the central guarantee of report fragments of one-hot reports
// (ESA, Theorem IV.2), delta < 1/2 and epsilonFragment > 1. The second term of
// its minimum is Theorem III.1 at the backstop. The first, the tau rows of
// fragments composed, is legible in our copy only without its exponents and
// does not follow from its proof in any reading we tried, so it is computed as
// that proof goes: Lemma II.6 for each row, Theorem II.7 over the rows, delta
// split half and half. A term outside its own domain is left out. Upper bound,
// removal adjacency.
func ESATheoremIV2(n int, epsilonBackstop, epsilonFragment float64, tau int, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("ESA Theorem IV.2")
	if err := cmp.Or(t.Amplification(n, epsilonBackstop, delta), t.Epsilon("epsilon of a fragment", epsilonFragment), t.Count("tau", tau),
		t.Need(epsilonFragment > 1, "epsilon of a fragment > 1: it is %.6g", epsilonFragment),
		t.Need(delta < 0.5, "delta < 1/2: it is %v", delta)); err != nil {
		return account.Guarantee{}, err
	}
	rows, rowsErr := rows(t, n, epsilonFragment, tau, delta)
	whole, wholeErr := ESATheoremIII1(n, epsilonBackstop, delta)
	if rowsErr != nil && wholeErr != nil {
		return account.Guarantee{}, t.Outside(math.NaN(), "one of its two terms: (%v), (%v)", rowsErr, wholeErr)
	}
	g := whole
	g.Rounds = tau
	g.Method, g.Source = "Theorem IV.2, second term (Theorem III.1 at the backstop)", "ESA, Theorem IV.2"
	if wholeErr != nil || rowsErr == nil && rows < whole.Epsilon {
		g = account.Guarantee{
			Epsilon: rows, Delta: delta,
			Adjacency: account.Removal, Trust: account.Shuffled, Users: n, Rounds: tau, Bound: account.Upper,
			Method: "Theorem IV.2, first term as its proof composes it (Lemma II.6, Theorem II.7)",
			Source: "ESA, Appendix B",
		}
	}
	return g, nil
}

func rows(t theorems.Theorem, n int, epsilonFragment float64, tau int, delta float64) (float64, error) {
	lambda := 2 * float64(n) / (1 + math.Exp(epsilonFragment))
	row, err := ESALemmaII6(n, lambda, delta/(2*float64(tau)))
	if err != nil {
		return 0, err
	}
	if tau == 1 {
		return row.Epsilon, nil
	}
	return BunSteinke(row.Epsilon, tau, delta/2)
}

// ESATheoremV1 returns the paper's own statement: Laplace(2/epsilon) noise less a
// margin of (2/epsilon) ln(2/delta) makes the counts of crowds (epsilon,
// delta)-DP (ESA, Theorem V.1; replacement). Its proof charges the probability
// of running over, delta/4, where the observation that tells the neighbours
// apart has probability (e^(epsilon/2)-1) delta/4; these agree up to
// e^(epsilon/2) = 5, which is enforced. It returns the margin.
func ESATheoremV1(epsilon, delta float64) (account.Guarantee, float64, error) {
	t := theorems.Theorem("ESA Theorem V.1")
	if err := cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return account.Guarantee{}, 0, err
	}
	margin := 2 / epsilon * math.Log(2/delta)
	if most := 2 * math.Log(5); !(epsilon <= most) {
		return account.Guarantee{}, 0, t.Outside(margin, "epsilon <= 2 ln 5 = %.6g, where its proof stops: it is %.6g", most, epsilon)
	}
	return account.Guarantee{
		Epsilon: epsilon, Delta: delta,
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: 1, Rounds: 2, Bound: account.Upper,
		Method: "Theorem V.1, Laplace noise", Source: "ESA, Theorem V.1",
	}, profile.Raised(margin), nil
}

// ESATheoremVI1 returns the central guarantee of LDP-SGD over so many rounds, each answered by the same
// n respondents (ESA, Theorem VI.1): epsilonLocal of a round at most ln(n)/4. It is printed as
// O((e^epsilonLocal - 1)/sqrt(n) sqrt(T ln^2(T/delta))) without a constant, so the number is
// that of its proof: the amplification of ESALemmaII5 for each round and advanced composition
// (Dwork, Rothblum, Vadhan 2010) over the rounds, delta split half and half. Upper bound, replacement.
func ESATheoremVI1(n int, epsilonLocal float64, rounds int, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("ESA Theorem VI.1")
	if err := cmp.Or(t.Amplification(n, epsilonLocal, delta), t.Count("rounds", rounds)); err != nil {
		return account.Guarantee{}, err
	}
	k := float64(rounds)
	order := math.Expm1(epsilonLocal) * math.Sqrt(k/float64(n)) * math.Log(k/delta)
	if most := math.Log(float64(n)) / 4; !(epsilonLocal <= most) {
		return account.Guarantee{}, t.Outside(order, "epsilon local <= ln(n)/4 = %.6g: it is %.6g", most, epsilonLocal)
	}
	g, err := BlanketAny(n, epsilonLocal, delta/(2*k), Hoeffding)
	if err != nil {
		return account.Guarantee{}, err
	}
	if g.Epsilon, err = DworkRothblumVadhan(g.Epsilon, rounds, delta/2); err != nil {
		return account.Guarantee{}, err
	}
	g.Epsilon, g.Delta, g.Rounds = profile.Raised(g.Epsilon), delta, rounds
	g.Method, g.Source = "Theorem VI.1 (printed as an order only) by the "+g.Method+" and advanced composition", "ESA, Theorem VI.1; "+g.Source
	return g, nil
}
