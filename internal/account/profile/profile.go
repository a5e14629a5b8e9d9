// Package profile computes privacy profiles: delta as a function of epsilon, its inverse, the profiles in closed
// form, and rounding against us. Used by account, internal/account, protocol and client.
package profile

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Curve is a privacy profile: the two functions are inverse to each other, and
// both err on the side of the guarantee's bound.
type Curve interface {
	Delta(epsilon float64) (float64, error)
	Epsilon(delta float64) (float64, error)
}

// MinTail is the smallest probability that windows resolve.
const MinTail = 1e-250

// LawError bounds the relative error of a hockey stick from rounding: that of
// the law (10^-12), times the cancellation between its two terms, which is at
// most a squared number of deviations.
const LawError = 1e-10

// MaxEpsilon bounds what is computed; 20 is already no protection at all.
const MaxEpsilon = 1e5

// Neglect is the share of delta that may be charged outright, over all rounds:
// it changes the ninth digit of delta, and widens windows by a fifth over 1e-4.
const Neglect = 1e-9

// MaxRounds keeps the loss of a composition within what an FFT resolves: at a
// hundred grid points to the deviation of one round, 16 deviations of the sum
// of 2^24 rounds are 2^23 points.
const MaxRounds = 1 << 24

// Falling is a decreasing profile as a curve.
type Falling func(epsilon float64) float64

func (h Falling) Delta(epsilon float64) (float64, error) { return h(epsilon), nil }

func (h Falling) Epsilon(delta float64) (float64, error) { return Invert(h.Delta, delta) }

// Sample tabulates a profile until only the neglected is left.
func Sample(profile func(epsilon float64) float64, step, neglect float64) []float64 {
	const longest = 1 << 20
	var h []float64
	for i := 0; i < longest; i++ {
		d := profile(float64(i) * step)
		if i > 0 {
			d = math.Min(d, h[i-1])
		}
		h = append(h, d)
		if d <= neglect {
			break
		}
	}
	prob.Count(len(h))
	return h
}
