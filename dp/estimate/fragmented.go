package estimate

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// FragmentedCell is the law of the count of one cell where every respondent sends Tau
// report fragments behind a backstop (ESA, Algorithm 2). The backstop's bit is one
// with probability BackstopKeep if the respondent holds the cell and BackstopFlip if
// not; it is drawn once. Each fragment then adds one with probability Keep if that bit
// is one and Flip if not. The count is over all fragments, from 0 to N Tau.
type FragmentedCell struct {
	N, Tau                     int     // respondents and fragments of each, >= 1
	BackstopKeep, BackstopFlip float64 // 0 <= flip < keep <= 1
	Keep, Flip                 float64 // 0 <= flip < keep <= 1
}

// Validate says what is wrong with the numbers.
func (c FragmentedCell) Validate() error {
	if c.Tau < 1 {
		return fmt.Errorf("estimate: %d fragments of each respondent: give at least 1", c.Tau)
	}
	if err := (Cell{c.N, c.BackstopKeep, c.BackstopFlip}).Validate(); err != nil {
		return err
	}
	return Cell{c.N, c.Keep, c.Flip}.Validate()
}

// Null is the test of "at most so many respondents hold this cell", as Cell.Null. The
// fragments of one respondent share the backstop, so that the count has heavier tails
// than a binomial. The p-value is Chernoff's bound,
//
//	log P(count >= x) <= min over s >= 0 of log E e^(s count) - s x,
//
// for any number of respondents and at any depth; it exceeds the tail by a factor of
// about 2.5 z at z standard deviations.
func (c FragmentedCell) Null(holders int) func(ones uint64) float64 {
	if err := c.Validate(); err != nil {
		panic(err.Error())
	}
	if holders < 0 || holders > c.N {
		panic("estimate: more holders than respondents, or fewer than none")
	}
	held, other := float64(holders), float64(c.N-holders)
	// cumulants are log E e^(s count) and its derivative.
	cumulants := func(s float64) (log, slope float64) {
		log1, slope1 := c.respondent(c.BackstopKeep, s)
		log0, slope0 := c.respondent(c.BackstopFlip, s)
		return held*log1 + other*log0, held*slope1 + other*slope0
	}
	return func(ones uint64) float64 {
		x := float64(ones)
		if x > float64(c.N)*float64(c.Tau) {
			return math.Inf(-1)
		}
		// The bound is convex in s, and right wherever the search for its minimum
		// ends. e^50 in place of infinity serves the largest counts.
		lo, hi := 0.0, 50.0
		for range 60 {
			if mid := (lo + hi) / 2; second(cumulants(mid)) < x {
				lo = mid
			} else {
				hi = mid
			}
		}
		log, _ := cumulants(lo)
		return min(0, log-lo*x)
	}
}

func second(_, b float64) float64 { return b }

// respondent is log E e^(s y) and its derivative in s for the ones y of a respondent
// whose backstop bit is one with probability b.
func (c FragmentedCell) respondent(b, s float64) (log, slope float64) {
	tau := float64(c.Tau)
	one, zero := math.Log1p(c.Keep*math.Expm1(s)), math.Log1p(c.Flip*math.Expm1(s))
	log1, log0 := math.Log(b)+tau*one, math.Log1p(-b)+tau*zero
	log = prob.LogAdd(log1, log0)
	slope = tau * (c.Keep*math.Exp(s-one+log1-log) + c.Flip*math.Exp(s-zero+log0-log))
	return log, slope
}
