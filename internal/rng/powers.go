package rng

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// Powers draws with probabilities q^k, for integers k however large, by way of
// the binary digits of k: it holds q^(2^j).
type Powers struct {
	levels []Threshold // q^(2^j); what comes after is below 2^-128
}

// maxLevels bounds exponents by 2^maxLevels, which an int can hold.
const maxLevels = 62

// NewPowers is for the powers of q.
//
// In units of 2^-128, squaring doubles an error and cutting off adds at most one:
// q^(2^j) is too small by less than 2^j.
//
// The last ones are kept and handed to whoever asks for the same, since noise is drawn of one law many times. A law is
// public, and nobody changes its powers.
func NewPowers(q Threshold) *Powers {
	if p := lastPowers.Load(); p != nil && p.levels[0] == q {
		return p
	}
	p := &Powers{}
	for len(p.levels) < maxLevels && q != (Threshold{}) {
		p.levels = append(p.levels, q)
		q = q.square()
	}
	if len(p.levels) > 0 {
		lastPowers.Store(p)
	}
	return p
}

var lastPowers atomic.Pointer[Powers]

// Levels returns the number of binary digits of the exponents that matter: q^k is
// below 2^-128 for k = 2^Levels, unless Levels is 62.
func (p *Powers) Levels() int { return len(p.levels) }

// Bernoulli returns true with probability q^k, k >= 0; it is too small by less than
// k 2^-128.
func (p *Powers) Bernoulli(r *rand.Rand, k int) bool {
	// The largest power says no most often.
	for k > 0 {
		j := bits.Len(uint(k)) - 1
		if !Bernoulli(r, p.level(j)) {
			return false
		}
		k -= 1 << j
	}
	return true
}

// odds returns true with odds q^(2^j) to one, probability x/(1+x) for x = q^(2^j): of two
// coins, of which the second shows heads with probability x, the first to win.
func (p *Powers) odds(r *rand.Rand, j int) bool {
	x := p.level(j)
	for {
		if r.Uint64()>>63 == 0 {
			return false
		}
		if Bernoulli(r, x) {
			return true
		}
	}
}

// Geometric draws k >= 0 with P(at least k) = q^k: how many trials come before the
// first that does not succeed. Its binary digits are independent, digit j being
// one with odds q^(2^j) to one. It panics if q is nearer to one than 2^-54 or so, when
// 62 digits are not enough.
func (p *Powers) Geometric(r *rand.Rand) int {
	if len(p.levels) == maxLevels {
		panic("rng: geometric draw with a probability too near one")
	}
	k := 0
	for j := range p.levels {
		if p.odds(r, j) {
			k |= 1 << j
		}
	}
	return k
}

func (p *Powers) level(j int) Threshold {
	if j < len(p.levels) {
		return p.levels[j]
	}
	return Threshold{}
}
