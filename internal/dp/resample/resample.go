// Package resample exchanges labels of a cluster for draws of the cluster's shares (LDC, Algorithm 1). Used by
// internal/question/label, for whoever holds a table.
package resample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/rng"
)

// Mechanism is the second step of Algorithm 1 of "Label differential privacy via clustering" (LDC): whoever holds all
// symbols of a cluster exchanges each, with probability Resample, for a draw of the cluster's shares.
//
// No share is below Least, so that the report of a symbol is at most 1 + (1-Resample)/(Resample Least) times as likely
// as from any other (Theorem 1). What finding the shares costs is apart from that.
type Mechanism struct {
	K        int     // symbols, >= 2
	Least    float64 // tau, in [leastShare, 1/K]
	Resample float64 // lambda, in (0, 1]
}

// leastShare bounds the least share from below: of smaller ones roundings are a large part.
const leastShare = 1e-6

// rounded bounds what part of the least share roundings take, in finding shares and in drawing by them. A sum of K numbers up to one, of
// which each is the end of a few steps, is off by some K^2 roundings of one.
func (m Mechanism) rounded() float64 { return 16 * float64(m.K*m.K) * 0x1p-53 / m.Least }

// At returns the mechanism whose reports are so private, given the least share. The probability of resampling is
// rounded as well, which is more of a small epsilon.
func At(k int, epsilon, least float64) Mechanism {
	m := Mechanism{K: k, Least: least}
	m.Resample = 1 / (1 + math.Expm1(epsilon*(1-2*m.rounded())-0x1p-51/least)*least)
	return m
}

// Validate says what is wrong with the parameters. Shares that are above 1/K cannot add up to one.
func (m Mechanism) Validate() error {
	switch {
	case m.K < 2:
		return fmt.Errorf("resample: resampling of %d symbols: give at least 2", m.K)
	case !(m.Least >= leastShare && m.Least*float64(m.K) <= 1+1e-12):
		return fmt.Errorf("resample: a least share of %v: give a number from %v to 1/%d", m.Least, leastShare, m.K)
	case !(m.Resample > 0 && m.Resample <= 1):
		return fmt.Errorf("resample: resampling with probability %v: give a number above 0 and at most 1", m.Resample)
	}
	return nil
}

// Epsilon returns that of a report, given the shares. A share that is smaller by a part of itself makes it larger by at most that
// part.
func (m Mechanism) Epsilon() float64 {
	return math.Log1p((1-m.Resample)/(m.Resample*m.Least)) * (1 + m.rounded())
}

// Shares takes what noise has made of the shares of a cluster into [Least, 1] and makes them add up to one there, in
// place (lines 4 to 19, Theorem 6): what is too much is taken in proportion to how far they are above the least, what
// is missing given in proportion to how far they are below one.
func (m Mechanism) Shares(q []float64) []float64 {
	missing := 1.0
	for y, v := range q {
		q[y] = math.Max(m.Least, math.Min(1, v))
		missing -= q[y]
	}
	room := func(v float64) float64 {
		if missing < 0 {
			return v - m.Least
		}
		return 1 - v
	}
	all := 0.0
	for _, v := range q {
		all += room(v)
	}
	for y, v := range q {
		if all > 0 {
			q[y] = v + room(v)/all*missing
		}
	}
	return q
}

// Report returns what becomes of a symbol in a cluster with shares q (line 24). One that is none, below zero, is always
// exchanged, which is as likely as from a symbol to within the same factor.
func (m Mechanism) Report(r *rand.Rand, y int, q []float64) int {
	if y >= 0 && !rng.Bernoulli(r, rng.Prob(m.Resample)) {
		return y
	}
	return Draw(r, q)
}

// Law returns the probability of each report of a symbol in a cluster with shares q.
func (m Mechanism) Law(y int, q []float64) []float64 {
	law := make([]float64, len(q))
	for o, p := range q {
		switch {
		case y < 0:
			law[o] = p
		case o == y:
			law[o] = m.Resample*p + 1 - m.Resample
		default:
			law[o] = m.Resample * p
		}
	}
	return law
}

// Draw returns an index with its share: one after the other, each by a coin of what is left.
func Draw(r *rand.Rand, shares []float64) int {
	for y, p := range coins(shares) {
		if rng.Bernoulli(r, rng.Prob(p)) {
			return y
		}
	}
	return len(shares) - 1
}

// coins returns how likely each index but the last is, where it is none of the earlier ones.
func coins(shares []float64) func(func(int, float64) bool) {
	return func(yield func(int, float64) bool) {
		left := 1.0
		for y, p := range shares[:len(shares)-1] {
			if !yield(y, math.Min(1, math.Max(0, p/left))) {
				return
			}
			left = math.Max(left-p, math.SmallestNonzeroFloat64)
		}
	}
}
