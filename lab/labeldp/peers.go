package labeldp

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/rng"
)

// Exchange is Algorithm 2 of LDC, of two labels: everybody flips their own, asks a random user of
// their cluster, perhaps themselves, for what came of it, and some pass that on to the learner.
// There is no curator. What the learner may learn is Peers.
type Exchange struct {
	Flip  float64 // alpha, in [0, 1/2]
	Share float64 // theta, in (0, 1]: how often a user passes a label on
}

// Validate says what is wrong with the parameters.
func (e Exchange) Validate() error {
	if !(e.Flip >= 0 && e.Flip <= 0.5 && e.Share > 0 && e.Share <= 1) {
		return fmt.Errorf("labeldp: labels flipped with %v, passed on by %v: give numbers in [0, 1/2] and (0, 1]", e.Flip, e.Share)
	}
	return nil
}

// Run gives the users who pass a label on, and the label of each.
func (e Exchange) Run(r *rand.Rand, labels, clusters []int) (who, passed []int) {
	if err := e.Validate(); err != nil {
		panic(err.Error())
	}
	members := make([][]int, slices.Max(clusters)+1)
	noisy, flip, answers := make([]int, len(labels)), rng.Prob(e.Flip), rng.Prob(e.Share)
	for i, y := range labels {
		if noisy[i] = y; rng.Bernoulli(r, flip) {
			noisy[i] = 1 - y
		}
		members[clusters[i]] = append(members[clusters[i]], i)
	}
	for i := range labels {
		peers := members[clusters[i]]
		asked := peers[r.IntN(len(peers))]
		if rng.Bernoulli(r, answers) {
			who, passed = append(who, i), append(passed, noisy[asked])
		}
	}
	return who, passed
}
