package shuffle

import (
	"math"

	"github.com/confetti-dp/confetti/account"
)

// Worlds is a set of numbers k of ones among the others that stands for every
// one. Of the n-1 other respondents leave out dropped: their reports are
// independent of the target's, so the full count is the smaller one plus
// independent noise, and by post-processing no hockey stick of n respondents
// with k ones exceeds that of n-dropped respondents with any k' in [k-dropped,
// k] ones. Hence k' = 0, dropped+1, 2(dropped+1), ..., and the largest, cover
// every k. The price is that of dropped fewer users: epsilon grows by about
// dropped/2n of itself.
type Worlds struct {
	Users, Dropped int
}

// cover returns the worlds of the rung at or below so many users, and the respondents left out are those
// down to the rung below it. So the envelope of a rung is not above what holds of every k on
// the rung below, which is not above that one's envelope: no epsilon rises with the number of
// users (docs/accounting-bits.md, 2). A certificate has so many worlds that each leaves out few, by n itself.
func (b bit) cover(users int, o account.Options) Worlds {
	switch {
	case o.Every && !o.Lower:
		most := int(math.Min(everyWorlds, everyTerms/b.spread(users)))
		return Worlds{users, (users - 1) / most}
	case o.Lower || users <= smallRR:
		return Worlds{users, 0}
	}
	rung, below := b.rungs(users)
	return Worlds{rung, rung - below}
}

// The share of respondents left out is the number of worlds upside down, and
// the law of one world takes time proportional to the spread of the count. Up to 40,000 users
// 5,000 worlds and the rounding down to a rung cost up to 0.02 % of epsilon; from there the price rises with
// sqrt(n), to 0.1 % at a million and 0.25 % at six. From there it is 0.1 % again, whatever the number of users, until
// the count spreads by 500; then the work stays the same, some 60 ms of one core, and the price rises with the spread.
// The price falls at once to less than half: nobody's rung is then further below than it was.
const (
	leastDropped    = 1. / 5000
	droppedByRoot   = 1e-6
	droppedOfMany   = 1. / 1000
	droppedBySpread = 2e-6
	smallRR         = 4096 // up to here every k is cheap

	everyWorlds = 100_000 // of a certificate, up to a spread of 2,000
	everyTerms  = 2e8
)

// spread returns the deviation of the count of ones of so many users, the largest of any data set.
func (b bit) spread(users int) float64 {
	return math.Sqrt(float64(users) * math.Max(b.keep*b.drop, b.flip*b.stay))
}

// apart returns how many users lie between two rungs at so many. The spread is rounded down to a power of two,
// so that a search for noise meets few ladders.
func (b bit) apart(users int) int {
	n := float64(users)
	_, power := math.Frexp(b.spread(users))
	share := math.Max(leastDropped, math.Sqrt(n)*droppedByRoot)
	if many := math.Max(droppedOfMany, math.Ldexp(droppedBySpread/2, power)); share > 2.5*many {
		share = many
	}
	return max(1, int(n*share))
}

// rungs returns the largest number of a ladder that is at most so many users, above smallRR, and
// the number below that. Rungs are one distance apart over an eighth of themselves.
func (b bit) rungs(users int) (rung, below int) {
	start, before := smallRR, 1
	for {
		apart := b.apart(start)
		end := start + (start/8/apart+1)*apart
		if users >= end {
			start, before = end, apart
			continue
		}
		rung = start + (users-start)/apart*apart
		if rung > start {
			before = apart
		}
		return rung, rung - before
	}
}

// CountedOn returns how many of so many users, of bits that keep a one and make one with these probabilities, a
// grid of losses is laid out for: the same for all that have one envelope.
func CountedOn(users int, keep, flip float64) int {
	return bit{keep, 1 - keep, flip, 1 - flip}.counted(users)
}

func (b bit) counted(users int) int { return b.cover(users, account.Options{}).Users }

// Others returns the number of other respondents left.
func (c Worlds) Others() int { return c.Users - 1 - c.Dropped }

// Count returns how many numbers of ones stand for all.
func (c Worlds) Count() int {
	stride := c.Dropped + 1
	return (c.Others()+stride-1)/stride + 1
}

// Ones returns the i-th number of ones.
func (c Worlds) Ones(i int) int { return min(c.Others(), i*(c.Dropped+1)) }
