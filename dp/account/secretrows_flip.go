package account

import (
	"fmt"
	"math"
)

// SecretFlip is e with the least flip probability, to 1e-4 of itself, with which one
// round of it is (epsilon, delta)-DP.
func SecretFlip(e SecretRows, epsilon, delta float64) (SecretRows, error) {
	if err := secretName.amplification(max(1, e.Honest), epsilon, delta); err != nil {
		return SecretRows{}, err
	}
	shift := leastEnough(0, 100, func(x float64) bool { return normal(100-x).hockey(epsilon) <= delta })
	return e.calibrated(100-shift, func(e SecretRows) bool {
		g, err := Epsilon(e, delta)
		return err == nil && g.Epsilon <= epsilon
	}, fmt.Sprintf("epsilon %v, delta %v", epsilon, delta))
}

// SecretFlipWithin is e with the least flip probability with which one round of it is
// dominated by a Gaussian of that shift and tail: of several rounds the squares of
// shifts, and the tails, add up to those of a Box.
func SecretFlipWithin(e SecretRows, shift, tail float64) (SecretRows, error) {
	if !(shift > 0 && shift <= 100) || !(tail > 0 && tail < 1) {
		return SecretRows{}, fmt.Errorf("account: a round of shift %v and tail %v: need a shift above 0, up to 100, and a tail in (0, 1)", shift, tail)
	}
	return e.calibrated(shift, func(e SecretRows) bool {
		d, ok := e.Dominated(1, tail)
		return ok && d.Shift <= shift
	}, fmt.Sprintf("a shift of %v, tail %v", shift, tail))
}

// calibrated starts from the Gaussian of that shift and the counts' deviation.
func (e SecretRows) calibrated(shift float64, enough func(SecretRows) bool, wanted string) (SecretRows, error) {
	e.Flip = 0.25
	if _, err := e.event(); err != nil {
		return SecretRows{}, err
	}
	b := e.thinned() / (float64(e.expected()) * shift * shift) // p(1-p) = b/(1+4b)
	pq := b / (1 + 4*b)
	flip, ok := leastFlip(2*pq/(1+math.Sqrt(1-4*pq)), func(flip float64) bool {
		e.Flip = flip
		return enough(e)
	})
	if !ok {
		return SecretRows{}, secretName.outside(math.NaN(), "more respondents, answers or room for them: %d, each with %d of %d rows in %d envelopes, do not reach %s", e.Honest, e.Answered, e.Rows, e.Envelopes, wanted)
	}
	e.Flip = flip
	return e, nil
}
