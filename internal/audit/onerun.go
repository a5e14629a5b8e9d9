package audit

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Guessed are the scores of records that each took one of two values by a fair coin of
// their own, in one run: Second where it was the second.
type Guessed struct {
	Score  []float64
	Second []bool
}

// guessShares are the shares of all canaries that are guessed in turn, half of them
// "second" and half "first".
var guessShares = []float64{0.02, 0.05, 0.1, 0.25, 0.6}

// Lower returns a bound of epsilon at delta that is too large with probability at most alpha,
// whatever the mechanism (Steinke, Nasr and Jagielski 2023, Theorem 5.2): the canaries of
// the largest scores are guessed to be second, those of the least to be first. Of r
// guesses the right ones are, under (epsilon, 0)-DP, at most as many as
// Binomial(r, e^epsilon/(1+e^epsilon)); delta adds to that (chance). How many are guessed is fixed
// beforehand, and alpha divided by the number of tries.
func (c Guessed) Lower(delta, alpha float64) float64 {
	best := 0.0
	for _, share := range guessShares {
		side := int(share / 2 * float64(len(c.Score)))
		if side < 1 {
			continue
		}
		best = math.Max(best, oneRun(c.right(side), 2*side, len(c.Score), delta, alpha/float64(len(guessShares))))
	}
	return best
}

// right returns how many guesses are, so many on either side.
func (c Guessed) right(side int) (n int) {
	order := make([]int, len(c.Score))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.Score[i], c.Score[j]) })
	for i := range side {
		if !c.Second[order[i]] {
			n++
		}
		if c.Second[order[len(order)-1-i]] {
			n++
		}
	}
	return n
}

// oneRun returns the least epsilon under which so many right guesses of r, among m canaries, are
// not rarer than alpha: it is lowered to a multiple of 2^-20.
func oneRun(right, r, m int, delta, alpha float64) float64 {
	const grid = 1 << 20
	steps := sort.Search(50*grid, func(step int) bool {
		return chance(right, r, m, float64(step)/grid, delta) > alpha
	})
	return math.Max(0, float64(steps-1)/grid)
}

// chance bounds P(at least so many right) under (epsilon, delta)-DP:
//
//	f(right) + 2 m delta max over i = 1..right of (f(right-i) - f(right))/i,
//
// f(v) the probability that Binomial(r, e^epsilon/(1+e^epsilon)) is at least v.
func chance(right, r, m int, epsilon, delta float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon))
	f := func(v int) float64 { return math.Exp(prob.LogBinomialSurvival(v-1, r, p)) }
	all := f(right)
	if delta == 0 {
		return all
	}
	most := 0.0
	for i := 1; i <= right; i++ {
		most = math.Max(most, (f(right-i)-all)/float64(i))
		if 1/float64(i+1) <= most { // no later one is larger
			break
		}
	}
	return all + 2*float64(m)*delta*most
}

// Gaussian returns the bound of epsilon at delta that holds if scores are normal with one
// deviation, whatever the coin: then the mechanism behaves as a Gaussian one whose shift is
// the difference of the means in deviations. Its estimate has, for n canaries on the one
// side and k on the other, a variance of about 1/n + 1/k + shift^2/(2(n+k-2)).
func (c Guessed) Gaussian(delta, alpha float64) (float64, error) {
	var n, sum, squares [2]float64
	for i, x := range c.Score {
		side := 0
		if c.Second[i] {
			side = 1
		}
		n[side]++
		sum[side] += x
	}
	for i, x := range c.Score {
		side := 0
		if c.Second[i] {
			side = 1
		}
		d := x - sum[side]/n[side]
		squares[side] += d * d
	}
	free := n[0] + n[1] - 2
	if n[0] < 2 || n[1] < 2 {
		return 0, nil
	}
	shift := (sum[1]/n[1] - sum[0]/n[0]) / math.Sqrt((squares[0]+squares[1])/free)
	low := shift + prob.NormalQuantile(alpha)*math.Sqrt(1/n[0]+1/n[1]+shift*shift/(2*free))
	if !(low > 1e-3) {
		return 0, nil
	}
	return profile.Normal(low).Epsilon(delta)
}
