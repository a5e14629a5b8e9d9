package rng

import (
	"iter"
	"math/big"
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
	trials int
	// The entries for blocks of 2^j trials, of which the second is used when
	// the block is the first half of one known to hold a success.
	fails, failsFirst []Threshold
}

// NewSkipper is for trials >= 0 trials of probability p in [0, 1] each.
func NewSkipper(p float64, trials int) Skipper {
	if trials < 0 {
		panic("rng: negative number of trials")
	}
	s := Skipper{trials: trials}
	one := new(big.Int).Lsh(big.NewInt(1), 128)
	q := new(big.Int).Sub(one, Prob(p).fixed())
	for range bits.Len(uint(trials)) {
		first := new(big.Int).Lsh(q, 128)
		first.Quo(first, new(big.Int).Add(one, q))
		s.fails = append(s.fails, fromFixed(q))
		s.failsFirst = append(s.failsFirst, fromFixed(first))
		q = new(big.Int).Rsh(new(big.Int).Mul(q, q), 128)
	}
	return s
}

// Successes yields the indices in [0, trials) of the trials that succeed, in
// increasing order.
func (s Skipper) Successes(r *rand.Rand) iter.Seq[int] {
	return func(yield func(int) bool) {
		start := 0
		for j := len(s.fails) - 1; j >= 0; j-- {
			if s.trials>>j&1 == 0 {
				continue
			}
			if !Bernoulli(r, s.fails[j]) && !s.bisect(r, start, j, yield) {
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
		if !Bernoulli(r, s.failsFirst[j-1]) {
			if !s.bisect(r, start, j-1, yield) {
				return false
			}
			if Bernoulli(r, s.fails[j-1]) {
				return true
			}
		}
		start += half
	}
	return yield(start)
}

// Rounding bounds the total variation between the law of Successes and that of
// independent trials of probability p, for p of 2^-75 and above (smaller ones
// are themselves rounded to a multiple of 2^-128).
//
// In units of 2^-128: q is exact, squaring doubles an error and cutting off adds
// at most one, so q^(2^j) is off by less than 2^j, and q^h/(1+q^h), whose slope
// is at most one, by at most one more. A tree over m trials has at most m/2^j nodes
// of 2^j trials, each asked at most twice: less than 4m for each of its levels.
func (s Skipper) Rounding() float64 {
	return 4 * float64(s.trials) * float64(len(s.fails)) * 0x1p-128
}
