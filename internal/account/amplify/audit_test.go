package amplify

import (
	"math"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/prob/confidence"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// An audit attacks a mechanism as an adversary who knows everything but the
// target's input would: run both worlds many times, choose a set of outcomes,
// and bound epsilon from below by how much more often one world lands in it.
//
// Runs are drawn from the exact law of the outcomes, merged into cells of
// nearly equal likelihood ratio: counts over cells are then a multinomial draw,
// the same law as that of so many single runs.
type audit struct {
	p, q []float64 // probabilities of the cells, the most telling first
}

const (
	auditRuns  = 25_000_000 // of each world; in all some 4e8 runs
	auditCells = 64
	auditDelta = 0.01
	// each of the cells' sets and of the two worlds gets its share of Alpha
	auditAlpha = stattest.Alpha / (2 * auditCells)
)

func newAudit(p, q []float64) audit {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if a, b := p[i]*q[j], p[j]*q[i]; a > b {
			return -1
		} else if a < b {
			return 1
		}
		return 0
	})
	// Cells of equal mass under both worlds together.
	a := audit{make([]float64, auditCells), make([]float64, auditCells)}
	before := 0.0
	for _, i := range order {
		cell := min(auditCells-1, int(before/2*auditCells))
		a.p[cell] += p[i]
		a.q[cell] += q[i]
		before += p[i] + q[i]
	}
	return a
}

// lower is the largest lower bound on epsilon over the sets of the first cells.
func (a audit) lower(countP, countQ []int) float64 {
	best, sumP, sumQ := 0.0, 0, 0
	for i := range countP {
		sumP, sumQ = sumP+countP[i], sumQ+countQ[i]
		least := confidence.Lower(sumP, auditRuns, auditAlpha)
		most := confidence.Upper(sumQ, auditRuns, auditAlpha)
		if least > auditDelta {
			best = math.Max(best, math.Log((least-auditDelta)/most))
		}
	}
	return best
}

// run draws the cells' counts in one world.
func (a audit) run(t testing.TB, law []float64) []int {
	r := stattest.Rand(t)
	counts, left, rest := make([]int, len(law)), auditRuns, 1.0
	for i, p := range law {
		if rest <= 0 || i == len(law)-1 {
			counts[i] = left
			break
		}
		counts[i] = rng.Binomial(r, left, rng.Prob(math.Min(1, math.Max(0, p/rest))))
		left, rest = left-counts[i], rest-p
	}
	return counts
}

func (a audit) attack(t testing.TB) float64 { return a.lower(a.run(t, a.p), a.run(t, a.q)) }

// pessimist is the bound if every set came out five deviations to the
// mechanism's advantage: what the attack finds with probability 1 - 1e-4, as
// 64 sets in two worlds fail with 3e-7 each.
func (a audit) pessimist() float64 {
	shift := func(law []float64, side float64) []int {
		counts, sum, last := make([]int, len(law)), 0.0, 0
		for i, p := range law {
			sum = math.Min(1, sum+p)
			now := int(math.Max(0, auditRuns*sum+side*5*math.Sqrt(auditRuns*sum*(1-sum))))
			counts[i], last = now-last, now
		}
		return counts
	}
	return a.lower(shift(a.p, -1), shift(a.q, +1))
}

// audited attacks a mechanism as claimed and its twin with 10 % too little noise.
func audited(t *testing.T, e account.Event, honest, broken audit) {
	t.Helper()
	g, err := account.Epsilon(e, auditDelta)
	if err != nil {
		t.Fatal(err)
	}
	if found := honest.attack(t); found > g.Epsilon || found < g.Epsilon/2 {
		t.Errorf("%+v: an attack shows epsilon %v of the claimed %v: above it, or too weak to tell", e, found, g.Epsilon)
	}
	if least := broken.pessimist(); least <= g.Epsilon {
		t.Errorf("%+v: no power: the twin may show only %v of the claimed %v", e, least, g.Epsilon)
	}
	if found := broken.attack(t); found <= g.Epsilon {
		t.Errorf("%+v: 10 %% too little noise was not caught: %v of %v", e, found, g.Epsilon)
	}
}

const auditUsers = 20

// bitWorlds are the worlds of randomized response with k ones among the others.
func bitWorlds(flip float64, k int) (one, zero []float64) {
	probabilities := make([]float64, auditUsers)
	for i := range probabilities {
		probabilities[i] = flip
		if i <= k { // the target is the first
			probabilities[i] = 1 - flip
		}
	}
	one = accounttest.OnesLaw(probabilities)
	probabilities[0] = flip
	return one, accounttest.OnesLaw(probabilities)
}

func TestAuditRandomizedResponse(t *testing.T) {
	const flip = 0.2
	for _, k := range []int{0, 9, 19} {
		one, zero := bitWorlds(flip, k)
		g, err := account.Epsilon(shuffle.RandomizedResponse{Users: auditUsers, Flip: flip}, auditDelta)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []audit{newAudit(one, zero), newAudit(zero, one)} {
			if found := a.attack(t); found > g.Epsilon {
				t.Errorf("%d ones among the others: %v of the claimed %v", k, found, g.Epsilon)
			}
		}
	}
	one, zero := bitWorlds(flip, 19)
	less, lessZero := bitWorlds(0.9*flip, 19)
	audited(t, shuffle.RandomizedResponse{Users: auditUsers, Flip: flip}, newAudit(one, zero), newAudit(less, lessZero))
}

// messages are the worlds of 3NB: counts up to 300 of each sign.
func messages(e bitnoise.ThreeNB) (one, zero []float64) {
	const grid = 300
	hidden := make([]float64, grid)
	for m := range hidden {
		hidden[m] = math.Exp(prob.LogNegativeBinomialPMF(m, e.FloodShape, e.FloodProb))
		if m > 0 {
			hidden[m] += math.Exp(-2*e.Noise) * hidden[m-1]
		}
	}
	noise := func(a, b int) float64 {
		if a < 0 {
			return 0
		}
		z := -math.Expm1(-e.Noise)
		return z * z * math.Exp(-e.Noise*math.Abs(float64(a-b))) * hidden[min(a, b)]
	}
	for a := range grid {
		for b := range grid {
			one, zero = append(one, noise(a-1, b)), append(zero, noise(a, b))
		}
	}
	return one, zero
}

func TestAuditThreeNB(t *testing.T) {
	honest := bitnoise.ThreeNB{Users: auditUsers, Noise: 0.5, FloodShape: 5, FloodProb: 0.8}
	broken := honest
	broken.Noise /= 0.9
	broken.FloodShape *= 0.9
	one, zero := messages(honest)
	less, lessZero := messages(broken)
	// The side that the flood leaves open: a zero shows as no message +1.
	audited(t, honest, newAudit(zero, one), newAudit(lessZero, less))
}

// symbolCounts are the worlds of ternary response whose others all hold the
// third symbol: the counts of the first two.
func symbolCounts(epsilon float64) (first, second []float64) {
	law := symbols(auditUsers, 3, epsilon)
	for a := 0; a <= auditUsers; a++ {
		for b := 0; a+b <= auditUsers; b++ {
			c := float64(auditUsers - a - b)
			trinomial := math.Exp(accounttest.LogFactorial(auditUsers)-accounttest.LogFactorial(a)-accounttest.LogFactorial(b)-accounttest.LogFactorial(auditUsers-a-b)) *
				math.Pow(law.rate, float64(a+b)) * math.Pow(1-2*law.rate, c) / auditUsers
			x, y := float64(a), float64(b)
			first = append(first, trinomial*(law.x*x+law.y*y+law.weight*c))
			second = append(second, trinomial*(law.y*x+law.x*y+law.weight*c))
		}
	}
	return first, second
}

func TestAuditKaryResponse(t *testing.T) {
	for _, epsilon := range []float64{1, 6} {
		// Noise is the probability of another symbol.
		noise := 2 / (math.Exp(epsilon) + 2)
		less := 0.9 * noise
		first, second := symbolCounts(epsilon)
		lessFirst, lessSecond := symbolCounts(math.Log(2 * (1 - less) / less))
		audited(t, KaryResponse{auditUsers, 3, epsilon}, newAudit(first, second), newAudit(lessFirst, lessSecond))
	}
}
