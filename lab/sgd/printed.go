package sgd

import (
	"math"
	"sort"

	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/plan"
)

// batches are ESA's effective ones in Table XII, with the central epsilons of its columns.
var batches = map[string][]int{
	"mnist": {2000, 4000, 10000}, "fashion-mnist": {2000, 4000, 10000}, cifar: {5000, 10000, 25000},
}

var columns = []float64{5, 10, 18}

const cifar = "cifar10_subset"

// printedXII are ESA's accuracies, a row for each of batches with a column for each of columns.
var printedXII = map[string][][]float64{
	"mnist":         {{0.842, 0.889, 0.891}, {0.858, 0.920, 0.930}, {0.805, 0.912, 0.939}},
	"fashion-mnist": {{0.711, 0.733, 0.745}, {0.703, 0.743, 0.764}, {0.670, 0.733, 0.761}},
	cifar:           {{0.586, 0.612, 0.626}, {0.598, 0.639, 0.656}, {0.581, 0.640, 0.666}},
}

// printedXI are the differences of true and false positive rates that ESA prints for its own models
// and for DP-SGD's, and the epsilons that it claims for these.
var printedXI = map[string][2]struct{ difference, claimed float64 }{
	"mnist":         {{0.0017, 27}, {0.0017, 9.5}},
	"fashion-mnist": {{0.0130, 27}, {0.0122, 9.5}},
	cifar:           {{0.0097, 71.4}, {0.0095, 9}},
}

// localOf is ESA's local epsilon of a report.
func localOf(set string) float64 {
	if set == cifar {
		return 1.8
	}
	return 1.9
}

// respondentsOf returns how many ESA has.
func respondentsOf(set string) int {
	if set == cifar {
		return 50_000
	}
	return 60_000
}

// printedOrder is the accounting of ESA, section VII-C, as its orders print it with a constant of one:
// (e^local - 1) sqrt(ln(1/delta)/users) for the shuffled reports of a round (Theorem A.3), amplification by
// sampling, and advanced composition. It proves nothing. ESA does not say how many rounds it takes, and this
// is the one reading that we found of which as many are left as training takes: proved constants
// leave a few tens (literature.ESATheoremVI1).
type printedOrder struct {
	respondents, users int
	local, delta       float64
}

func (p printedOrder) epsilon(rounds int) float64 {
	k := float64(rounds)
	round := math.Expm1(p.local) * math.Sqrt(math.Log(2*k/p.delta)/float64(p.users))
	round = math.Log1p(float64(p.users) / float64(p.respondents) * math.Expm1(round))
	all, err := literature.DworkRothblumVadhan(round, rounds, p.delta/2)
	if err != nil {
		return math.Inf(1)
	}
	return all
}

// rounds returns how many it takes epsilon for.
func (p printedOrder) rounds(epsilon float64) int {
	return sort.Search(plan.MaxRounds, func(k int) bool { return p.epsilon(k+1) > epsilon })
}
