package rng

import (
	"iter"
	"math/bits"
	"math/rand/v2"
)

// Skipper draws the successes among many independent trials of one small
// probability, in time proportional to their number rather than to the number
// of trials: it asks whether a whole block of 2^j trials fails and bisects the
// blocks that do not.
//
// With q the probability that one trial fails, a block of 2h trials fails with
// probability q^2h. If it does not, its first half fails with probability
//
//	q^h (1 - q^h) / (1 - q^2h) = q^h / (1 + q^h),
//
// and then its second half certainly holds a success; otherwise the second half
// is independent of what is known and is asked afresh.
type Skipper struct {
	fails *Powers
}

// NewSkipper is for trials that succeed with probability p.
func NewSkipper(p Threshold) Skipper { return Skipper{NewPowers(p.Complement())} }

// Successes yields the indices in [0, trials) of the trials that succeed, in
// increasing order.
func (s Skipper) Successes(r *rand.Rand, trials int) iter.Seq[int] {
	if trials < 0 || trials>>maxLevels != 0 {
		panic("rng: number of trials outside [0, 2^62)")
	}
	return func(yield func(int) bool) {
		start := 0
		for j := bits.Len(uint(trials)) - 1; j >= 0; j-- {
			if trials>>j&1 == 0 {
				continue
			}
			if !Bernoulli(r, s.fails.level(j)) && !s.bisect(r, start, j, yield) {
				return
			}
			start += 1 << j
		}
	}
}

// bisect yields the successes of the 2^j trials from start on, which hold at
// least one. It returns false when the consumer has had enough.
func (s Skipper) bisect(r *rand.Rand, start, j int, yield func(int) bool) bool {
	for ; j > 0; j-- {
		half := 1 << (j - 1)
		if !s.fails.odds(r, j-1) {
			if !s.bisect(r, start, j-1, yield) {
				return false
			}
			if Bernoulli(r, s.fails.level(j-1)) {
				return true
			}
		}
		start += half
	}
	return yield(start)
}
