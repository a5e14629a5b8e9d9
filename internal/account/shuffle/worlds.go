package shuffle

import (
	"iter"
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
	// of a certificate whose worlds leave out more the more they spread
	widening
}

// widening says how many more respondents a world leaves out for each other who spreads more than
// the rest: one who holds a one, or a zero.
type widening struct {
	rate  float64
	zeros bool
}

// cover returns the worlds of the rung at or below so many users, and the respondents left out are those
// down to the rung below it. So the envelope of a rung is not above what holds of every k on
// the rung below, which is not above that one's envelope: no epsilon rises with the number of
// users (docs/accounting-bits.md, 2). A certificate goes by n itself.
func (b bit) cover(users int, o account.Options) Worlds {
	switch {
	case o.Every && !o.Lower:
		return b.certificate(users, !b.symmetric())
	case o.Lower || users <= smallRR:
		return Worlds{Users: users}
	}
	rung, below := b.rungs(users)
	return Worlds{Users: rung, Dropped: rung - below}
}

// certificate returns worlds that take some seconds, and leave out as few as that allows. Where ones
// and zeros spread alike, all leave out as many. Where they do not, the least noisy world decides, and a
// noisier one may leave out half of what makes it noisier: then a handful of worlds is enough.
func (b bit) certificate(users int, widen bool) Worlds {
	c := Worlds{Users: users, Dropped: (users - 1) / everyWorlds}
	if c.takes(b) <= everyTerms {
		return c
	}
	ones, zeros := b.keep*b.drop, b.flip*b.stay
	if widen {
		c.Dropped, c.widening = 0, widening{(math.Max(ones, zeros)/math.Min(ones, zeros) - 1) / 2, zeros > ones}
	}
	for c.takes(b) > everyTerms {
		c.Dropped += 1 + c.Dropped/16
	}
	return c
}

// takes returns how many terms the laws of all worlds have, or more than a certificate may take.
func (c Worlds) takes(b bit) (terms float64) {
	ways := 1.
	if !b.symmetric() {
		ways = 2
	}
	number := 0
	for w := range c.all() {
		ones, zeros := float64(w.ones), float64(w.others-w.ones)
		terms += ways * window * (1 + math.Sqrt(ones*b.keep*b.drop+zeros*b.flip*b.stay))
		if number++; terms > everyTerms || number > everyWorlds+1 {
			return math.Inf(1)
		}
	}
	return terms
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

	everyWorlds = 100_000 // of a certificate, at most
	everyTerms  = 2.5e8   // some 2 s of one core
	window      = 17      // spreads that a law is long, at a delta of 1e-6
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

// complete reports that nobody is left out.
func (c Worlds) complete() bool { return c.Dropped == 0 && c.rate == 0 }

// world is one of them: of the others that are left, so many hold a one. It stands for up to as
// many ones more as are left out.
type world struct{ others, ones int }

// all yields the worlds, from the one without ones up; by the number of zeros where those who hold one spread more.
func (c Worlds) all() iter.Seq[world] {
	return func(yield func(world) bool) {
		if c.rate == 0 {
			for i := range c.Count() {
				if !yield(world{c.Others(), c.Ones(i)}) {
					return
				}
			}
			return
		}
		most := c.Users - 1
		for held := 0; held <= most; {
			out := int(math.Min(float64(most-held), float64(c.Dropped)+c.rate*float64(held)))
			w := world{most - out, held}
			if c.zeros {
				w.ones = w.others - held
			}
			if !yield(w) {
				return
			}
			held += out + 1
		}
	}
}

// Others returns the number of other respondents left, the same in every world where all spread alike.
func (c Worlds) Others() int { return c.Users - 1 - c.Dropped }

// Count returns how many numbers of ones stand for all, where all spread alike.
func (c Worlds) Count() int {
	stride := c.Dropped + 1
	return (c.Others()+stride-1)/stride + 1
}

// Ones returns the i-th number of ones, where all spread alike: from either end in full strides, so that the last
// worlds are the first ones upside down. What is left over lies beside the middle.
func (c Worlds) Ones(i int) int {
	stride, last := c.Dropped+1, c.Count()-1
	switch {
	case 2*i < last:
		return i * stride
	case 2*i > last:
		return c.Others() - (last-i)*stride
	}
	return c.Others() / 2
}
