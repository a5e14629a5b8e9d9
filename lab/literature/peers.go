package literature

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

const peers = theorems.Theorem("LDC, Lemma 9")

// PeerToPeer is LDC, Lemma 9 (of which Theorem 3 takes xi = 4 sqrt(ln s)) as printed, for clusters
// of at least size, of whom a share answers, and labels flipped with probability flip. Its proof
// takes for granted that at least that share of a cluster's labels are ones after flipping, and
// as many zeros, which half of the flips of equal labels miss: it is printed beside the exact law
// (labeldp.Peers), never promised.
func PeerToPeer(size int, share, flip, delta float64) (account.Guarantee, error) {
	s := float64(size)
	most := 3 * flip * math.Sqrt(share*s*(1-flip))
	xi := math.Sqrt(-math.Log(delta) * 4 * (flip + 1/s) * (1 - flip) / flip)
	epsilon := share*math.Log(math.E+3/(s*flip)) + math.Sqrt(share)*xi*math.Log1p(3/math.Sqrt(s*flip))
	for _, err := range []error{
		peers.Count("size", size), peers.Need(share > 0 && share <= 1, "0 < share <= 1: it is %v", share),
		peers.Need(flip > 0 && flip <= 0.5, "0 < flip <= 1/2: it is %v", flip), peers.Open01("delta", delta),
		peers.Need(s*flip >= 2, "clusters of at least 2/flip = %v: %d", 2/flip, size),
	} {
		if err != nil {
			return account.Guarantee{}, err
		}
	}
	if xi > most {
		return account.Guarantee{}, peers.Outside(epsilon, "xi at most %.4g: delta %g takes %.4g", most, delta, xi)
	}
	return account.Guarantee{
		Epsilon: epsilon, Delta: delta, Adjacency: account.Label, Trust: account.Peers, Users: size, Rounds: 1, Bound: account.Upper,
		Method: string(peers), Source: "LDC, appendix B",
	}, nil
}

// PeerFlip returns the flip that Theorem 3 of LDC prescribes for clusters of at least size. It is above
// 1/2, where there is none, for clusters of less than some eleven thousand.
func PeerFlip(size int, share float64) (float64, error) {
	s := float64(size)
	flip := 4 * math.Sqrt2 * math.Log(s) / math.Sqrt(share*s)
	return flip, theorems.Theorem("LDC, Theorem 3").Need(size >= 2 && share > 0 && share <= 1 && flip <= 0.5, "a flip of at most 1/2: 4 sqrt2 ln(%d)/sqrt(%v %d) is %v", size, share, size, flip)
}
