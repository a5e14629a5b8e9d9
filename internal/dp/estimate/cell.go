package estimate

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Cell is the law of the count of one cell of a histogram. Each of N respondents
// adds one to the count by an independent draw: with probability Keep if they hold
// the cell, with probability Flip if they do not. The count is therefore
//
//	Binomial(holders, Keep) + Binomial(N - holders, Flip).
//
// One-hot randomized response has this law, and so has the support of a cell under
// k-ary response, subset selection, local hashing and Hadamard response (the pure
// protocols of LDC): what differs is how the cells of one respondent depend on each
// other, which is nothing here and matters in HeavyHitters.
type Cell struct {
	N          int     // respondents, public, >= 1
	Keep, Flip float64 // 0 <= Flip < Keep <= 1
}

// Validate says what is wrong with the numbers.
func (c Cell) Validate() error {
	if c.N < 1 {
		return fmt.Errorf("estimate: a cell counted over %d respondents: give at least 1", c.N)
	}
	if !(c.Flip >= 0 && c.Flip < c.Keep && c.Keep <= 1) {
		return fmt.Errorf("estimate: a bit kept with probability %v and flipped with %v: give 0 <= flip < keep <= 1", c.Keep, c.Flip)
	}
	return nil
}

func (c Cell) must() {
	if err := c.Validate(); err != nil {
		panic(err.Error())
	}
}

// variance returns that of the count when so many hold the cell.
func (c Cell) variance(holders float64) float64 {
	return holders*c.Keep*(1-c.Keep) + (float64(c.N)-holders)*c.Flip*(1-c.Flip)
}

// Estimate returns the number of respondents who hold the cell, from its count: unbiased,
// hence below zero half of the time for a cell that nobody holds. The square of the
// standard error is unbiased too: the variance of the count is linear in its holders,
// so that the estimate may be put for them, which gives
//
//	(N - ones) Keep Flip + ones (1-Keep) (1-Flip).
func (c Cell) Estimate(ones uint64) Value {
	c.must()
	n, slope := float64(c.N), c.Keep-c.Flip
	x := min(float64(ones), n)
	return Value{
		Mean:   (float64(ones) - n*c.Flip) / slope,
		StdErr: math.Sqrt((n-x)*c.Keep*c.Flip+x*(1-c.Keep)*(1-c.Flip)) / slope,
	}
}

// Null returns the test of "at most so many respondents hold this cell": the logarithm of
// its p-value, the largest probability that the hypothesis gives to a count at least
// as large. The count grows stochastically with its holders, as Keep exceeds Flip,
// so the largest is that of exactly so many.
//
// For holders = 0 it is the tail of Binomial(N, Flip), right at any depth. Otherwise
// it is the tail of the sum of two binomials, with at most 1e-24 added: a bound from
// above. It costs the width of the law, about 20 standard deviations.
func (c Cell) Null(holders int) func(ones uint64) float64 {
	c.must()
	if holders < 0 || holders > c.N {
		panic("estimate: more holders than respondents, or fewer than none")
	}
	if holders == 0 {
		return func(ones uint64) float64 {
			if ones > uint64(c.N) {
				return math.Inf(-1)
			}
			return prob.LogBinomialSurvival(int(ones)-1, c.N, c.Flip)
		}
	}
	law := c.law(holders, 2.5e-25)
	return func(ones uint64) float64 {
		if ones > uint64(c.N) {
			return math.Inf(-1)
		}
		_, atLeast := law.tails(int(ones))
		return math.Log(atLeast)
	}
}

// twoBinomials is the law of the count for one number of holders: the count of the
// holders and that of the others, each tabulated.
type twoBinomials struct{ held, other prob.Window }

// law tabulates the count, leaving out at most tail on each of four sides.
func (c Cell) law(holders int, tail float64) twoBinomials {
	held, err := prob.BinomialWindow(holders, c.Keep, tail)
	other, err2 := prob.BinomialWindow(c.N-holders, c.Flip, tail)
	if err != nil || err2 != nil {
		panic(fmt.Sprintf("estimate: %v, %v", err, err2)) // Validate holds
	}
	return twoBinomials{held, other}
}

// tails returns P(count <= x) and P(count >= x), both from above: what the windows left
// out is charged to both.
func (l twoBinomials) tails(x int) (atMost, atLeast float64) {
	left := l.held.Below + l.held.Above + l.other.Below + l.other.Above
	// As the holders' count i grows, x - i falls through the others' window: what
	// lies at or above x - i is summed from the top, smallest terms first.
	atLeast = left
	above, j := 0.0, len(l.other.P)-1
	for i, p := range l.held.P {
		for ; j >= 0 && l.other.Lo+j >= x-l.held.Lo-i; j-- {
			above += l.other.P[j]
		}
		atLeast += p * above
	}
	atMost = left
	below, j := 0.0, 0
	for i := len(l.held.P) - 1; i >= 0; i-- {
		for ; j < len(l.other.P) && l.other.Lo+j <= x-l.held.Lo-i; j++ {
			below += l.other.P[j]
		}
		atMost += l.held.P[i] * below
	}
	return min(1, atMost), min(1, atLeast)
}
