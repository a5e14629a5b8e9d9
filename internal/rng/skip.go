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
	// The entries for blocks of 2^j trials, of which the second is used when the
	// block is the first half of one known to hold a success. Longer blocks than
	// are listed fail with probability below 2^-128.
	fails, failsFirst []Threshold
}

// maxLevels bounds the number of trials by 2^maxLevels, which an int can count.
const maxLevels = 62

// NewSkipper is for trials that succeed with probability p.
func NewSkipper(p Threshold) *Skipper {
	s := &Skipper{}
	one := new(big.Int).Lsh(big.NewInt(1), 128)
	q := new(big.Int).Sub(one, p.fixed())
	for len(s.fails) < maxLevels && q.Sign() > 0 {
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
func (s *Skipper) Successes(r *rand.Rand, trials int) iter.Seq[int] {
	if trials < 0 || trials>>maxLevels != 0 {
		panic("rng: number of trials outside [0, 2^62)")
	}
	return func(yield func(int) bool) {
		start := 0
		for j := bits.Len(uint(trials)) - 1; j >= 0; j-- {
			if trials>>j&1 == 0 {
				continue
			}
			if !Bernoulli(r, at(s.fails, j)) && !s.bisect(r, start, j, yield) {
				return
			}
			start += 1 << j
		}
	}
}

// bisect yields the successes of the 2^j trials from start on, which hold at
// least one. It returns false when the consumer has had enough.
func (s *Skipper) bisect(r *rand.Rand, start, j int, yield func(int) bool) bool {
	for ; j > 0; j-- {
		half := 1 << (j - 1)
		if !Bernoulli(r, at(s.failsFirst, j-1)) {
			if !s.bisect(r, start, j-1, yield) {
				return false
			}
			if Bernoulli(r, at(s.fails, j-1)) {
				return true
			}
		}
		start += half
	}
	return yield(start)
}

// Failures draws how many trials fail before the first success: a geometric
// number, P(at least k) = q^k. Its binary digits are independent, digit j being
// one with odds q^(2^j) to one. A success must have probability 2^-50 at least, so
// that 62 digits are enough.
func (s *Skipper) Failures(r *rand.Rand) int {
	k := 0
	for j, t := range s.failsFirst {
		if Bernoulli(r, t) {
			k |= 1 << j
		}
	}
	return k
}

func at(levels []Threshold, j int) Threshold {
	if j < len(levels) {
		return levels[j]
	}
	return Threshold{}
}

// Rounding bounds the total variation between the law of Successes and that of
// independent trials of exactly the threshold's probability.
//
// In units of 2^-128: q is exact, squaring doubles an error and cutting off adds
// at most one, so q^(2^j) is off by less than 2^j, and q^h/(1+q^h), whose slope
// is at most one, by at most one more. A tree over m trials has at most m/2^j nodes
// of 2^j trials, each asked at most twice: less than 4m for each of its levels.
func (s *Skipper) Rounding(trials int) float64 {
	return 4 * float64(trials) * float64(bits.Len(uint(trials))) * 0x1p-128
}
