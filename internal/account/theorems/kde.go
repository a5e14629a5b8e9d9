package theorems

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// KDETheorem32 composes the bitsum instances of a private density (KDE, Theorem
// 3.2): one of `coordinates` (epsilon0, delta0)-DP instances per repetition is
// basic composition, the repetitions are advanced composition with slack
// delta' in (0, 1):
//
//	epsilon = S e0 (e^(S e0) - 1) I + S e0 sqrt(2 I ln(1/delta'))
//	delta   = I S delta0 + delta'
//
// coordinates is how many instances of one repetition a neighbour can change.
// The paper writes S, the sparsity, which is right where the support of the
// features does not depend on the record; a replaced record of a hashing family
// leaves S coordinates and enters S others, so there it is 2S (the proof omits
// the record instead of replacing it).
func KDETheorem32(bitsum account.Guarantee, coordinates, repetitions int, slack float64) (account.Guarantee, error) {
	t := Theorem("KDE Theorem 3.2")
	if err := cmp.Or(t.bitsum(bitsum), t.Count("coordinates", coordinates), t.Count("repetitions", repetitions), t.Open01("slack delta'", slack)); err != nil {
		return account.Guarantee{}, err
	}
	s, i := float64(coordinates), float64(repetitions)
	e := s * bitsum.Epsilon
	g := bitsum
	g.Epsilon = profile.Raised(e*math.Expm1(e)*i + e*math.Sqrt(2*i*math.Log(1/slack)))
	g.Delta = profile.Raised(i*s*bitsum.Delta + slack)
	g.Rounds, g.Bound, g.Certified = coordinates*repetitions, account.Upper, ""
	g.Method = "Theorem 3.2, advanced composition of: " + bitsum.Method
	g.Source = "KDE, Theorem 3.2; " + bitsum.Source
	return g, t.result(g)
}

func (t Theorem) bitsum(b account.Guarantee) error {
	return cmp.Or(t.Epsilon("epsilon0 of a bitsum", b.Epsilon),
		t.Need(b.Delta >= 0 && b.Delta < 1, "0 <= delta0 < 1: it is %v", b.Delta),
		t.Need(b.Bound != account.Lower, "an upper bound on each bitsum: it is a lower bound"),
		t.Need(b.Rounds <= 1, "the guarantee of one bitsum: it is of %d rounds", b.Rounds))
}

// result refuses numbers that promise nothing.
func (t Theorem) result(g account.Guarantee) error {
	return cmp.Or(t.Need(g.Epsilon < math.MaxFloat64, "a finite epsilon: it is %v", g.Epsilon),
		t.Need(g.Delta < 1, "a total delta below 1: it is %.6g", g.Delta))
}

// KDERound returns the paper's share of one of the target's rounds: the largest epsilon0
// that advanced composition keeps within Epsilon with slack Delta/2, and
// Delta/2 over the rounds.
func KDERound(t calibrate.Target) (epsilon0, delta0 float64) {
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
