package estimate

import (
	"fmt"
	"math"
)

// Joint returns the level that each of k intervals must have for all of them to hold at
// once with probability level, in (0, 1): Bonferroni's 1 - (1-level)/k, which asks
// nothing of how the k errors depend on each other. Sidak's level^(1/k) needs their
// independence and gains little: at 95 % and k = 1000 an interval shorter by 0.2 %.
// As it covers all cells it also covers whatever cells somebody picks afterwards,
// such as the largest.
func Joint(level float64, k int) float64 {
	if !(level > 0 && level < 1) || k < 1 {
		panic(fmt.Sprintf("estimate: joint level %v for %d intervals: give a level in (0, 1) and at least one", level, k))
	}
	return 1 - (1-level)/float64(k)
}

// exactUpTo is the largest variance of a count whose interval is computed from the
// exact law. Above it the normal law does: its tails at z are wrong by about
// e^(+-z^3/(6 sd)), one for each side, from the count's skewness, at most 1/sd. With
// sd = 100 the two together are wrong by cosh of that, 4 % at z = 5.5 (a family of 3
// million cells at 95 % fails to hold in 5.2 % of cases), and by 1 % at z = 1.96,
// where it is the count's being whole that shows. The tests compute both.
const exactUpTo = 1e4

// Interval holds the number of respondents who hold the cell with probability at
// least level, whatever that number is; a bound of a possible number of holders, so
// within 0 to N. It covers the noise of the collection: the respondents themselves
// are the population.
//
// While the variance of the count is at most 10,000 it is exact, after Clopper and
// Pearson: it leaves out the numbers of holders under which a count this large, or
// this small, has probability at most (1-level)/2. Above that it is the score
// interval after Wilson, the same with normal tails and the variance of the number of
// holders in question.
func (c Cell) Interval(ones uint64, level float64) (lo, hi float64) {
	ends := c.Intervals([]uint64{ones}, level)
	return ends[0][0], ends[0][1]
}

// Intervals returns the Interval of each count; exact ones are worked out once. For all
// of them to hold at once the level is Joint(level, cells).
func (c Cell) Intervals(ones []uint64, level float64) [][2]float64 {
	c.must()
	z := Quantile(level)
	known := map[uint64][2]float64{} // the exact ones
	ends := make([][2]float64, len(ones))
	for i, x := range ones {
		e := c.score(x, z)
		if v := c.Estimate(x).StdErr * (c.Keep - c.Flip); v*v <= exactUpTo {
			exact, ok := known[x]
			if !ok {
				exact = c.exact(x, (1-level)/2, e)
				known[x] = exact
			}
			e = exact
		}
		ends[i] = e
	}
	return ends
}

// score solves (ones - mean(h))^2 <= z^2 variance(h) for the holders h, in 0 to N.
// With a = ones - N Flip, s = Keep - Flip and variance(h) = v + w h this reads
//
//	s^2 h^2 - (2 a s + z^2 w) h + a^2 - z^2 v <= 0.
func (c Cell) score(ones uint64, z float64) [2]float64 {
	n, s := float64(c.N), c.Keep-c.Flip
	a := float64(ones) - n*c.Flip
	v := c.variance(0)
	w := (c.variance(n) - v) / n
	half := a*s + z*z*w/2
	// half^2 - s^2 (a^2 - z^2 v), with a^2 s^2 cancelled by hand.
	root := math.Sqrt(max(0, z*z*(a*s*w+z*z*w*w/4+s*s*v)))
	return [2]float64{within((half-root)/(s*s), n), within((half+root)/(s*s), n)}
}

func within(x, n float64) float64 { return min(max(x, 0), n) }

// exact finds the ends by the exact tails, near those of the guess. Each tail is
// monotone in the holders. The tables leave out 1e-6 of miss, and charge it.
func (c Cell) exact(ones uint64, miss float64, guess [2]float64) [2]float64 {
	x := int(min(ones, uint64(c.N)))
	// lo is the first number of holders that a count so large does not rule out.
	lo := first(c.N, int(guess[0]), func(h int) bool {
		_, atLeast := c.law(h, miss*2.5e-7).tails(x)
		return atLeast > miss
	})
	// hi is the last before those that a count so small rules out.
	hi := first(c.N, int(guess[1])+1, func(h int) bool {
		atMost, _ := c.law(h, miss*2.5e-7).tails(x)
		return atMost <= miss
	}) - 1
	return [2]float64{float64(min(lo, c.N)), float64(max(hi, 0))}
}

// first returns the smallest h in [0, n] for which the monotone ok holds, n+1 if there is
// none: steps that double away from the guess, then bisection.
func first(n, guess int, ok func(h int) bool) int {
	no, yes := -1, n+1 // what is known
	h := min(max(guess, 0), n)
	for step := 1; ; step *= 2 {
		if ok(h) {
			yes = h
			h -= step
		} else {
			no = h
			h += step
		}
		if h <= no || h >= yes {
			break
		}
	}
	for yes-no > 1 {
		if h := no + (yes-no)/2; ok(h) {
			yes = h
		} else {
			no = h
		}
	}
	return yes
}
