package account

import (
	"fmt"
	"math"
)

// round is the paper's share of one of the target's rounds: the largest epsilon0
// that advanced composition keeps within Epsilon with slack Delta/2, and
// Delta/2 over the rounds.
func (t Target) round() (epsilon0, delta0 float64) {
	low, high := 0.0, t.Epsilon
	for high-low > 1e-15*high {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		n := float64(t.Rounds)
		if mid*math.Sqrt(2*n*math.Log(2/t.Delta))+n*mid*math.Expm1(mid) <= t.Epsilon*(1-1e-13) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, t.Delta / 2 / float64(t.Rounds)
}

// paperRR takes the flip probability of Cheu et al., Lemma 4.8, for each round,
// and claims what Theorem 3.2 of KDE makes of it. Outside the lemma's domain it
// is an error, where the authors' code goes on.
func paperRR(t Target) (RandomizedResponse, Guarantee, error) {
	epsilon0, delta0 := t.round()
	lambda, err := CheuLemma48(t.Users, epsilon0, delta0)
	if err != nil {
		return RandomizedResponse{}, Guarantee{}, err
	}
	bitsum := Guarantee{
		Epsilon: epsilon0, Delta: delta0, Adjacency: Replacement, Trust: Shuffled, Users: t.Users, Rounds: 1,
		Bound: Upper, Method: "randomized response, Lemma 4.8", Source: "Cheu et al. 2019, Lemma 4.8",
	}
	g, err := KDETheorem32(bitsum, 1, t.Rounds, t.Delta/2)
	return RandomizedResponse{t.Users, lambda / (2 * float64(t.Users))}, g, err
}

// paperThreeNB takes the constants of KDE, Appendix A.2, for each round. The
// appendix leaves a constant of the flood open, so its claim for one round is
// checked exactly before it is composed.
func paperThreeNB(t Target) (ThreeNB, Guarantee, error) {
	epsilon0, delta0 := t.round()
	flood, err := KDEAppendixA2(epsilon0, delta0, KDEPrintedShare)
	if err != nil {
		return ThreeNB{}, Guarantee{}, err
	}
	e := ThreeNB{t.Users, flood.Noise, flood.Shape, flood.Prob}
	bitsum, err := Delta(e, epsilon0)
	if err != nil {
		return ThreeNB{}, Guarantee{}, err
	}
	if bitsum.Delta > delta0 {
		return ThreeNB{}, Guarantee{}, fmt.Errorf("account: the constants of KDE, Appendix A.2, give delta %.3g in a round at epsilon %.3g, not the %.3g that Theorem 3.2 needs", bitsum.Delta, epsilon0, delta0)
	}
	bitsum.Delta = delta0
	bitsum.Method, bitsum.Source = "3NB, constants of Appendix A.2", "KDE, Appendix A.2; each round checked exactly"
	g, err := KDETheorem32(bitsum, 1, t.Rounds, t.Delta/2)
	return e, g, err
}
